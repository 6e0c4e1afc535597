#!/usr/bin/env python3
"""Checks the Job that `nocturne submit --kubernetes` prints against the schemas of the API of Kubernetes, offline.

    Tools/proofs/kubernetes_job.py NOCTURNE [--versions 1.29 1.33]

Needs the Python package kubernetes-validate, which has the schemas of every version.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.small_volumes import tiny_volume


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--versions", nargs="+", default=["1.29", kubernetes_validate.latest_version()])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kubernetes-") as name:
        inputs, out = Path(name) / "in with: a space", Path(name) / "out"
        inputs.mkdir()
        for item in range(4):
            (inputs / f"v{item}.nii").write_bytes(tiny_volume(item))
        program, batch = arguments.nocturne, [str(inputs), "--model", str(THRESHOLD_MODEL), "--output", str(out)]
        subprocess.run([program, "plan", *batch, "--shards", "3"], check=True, stdout=subprocess.DEVNULL)
        command = [program, "submit", str(out), "--kubernetes", "registry/nocturne:1", "--tasks", "2"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    job = yaml.safe_load(text)
    wrong = dict(job, spec=dict(job["spec"], completions="three"))
    failures = 0
    for version in arguments.versions:
        try:
            kubernetes_validate.validate(job, version, strict=True)
            print(f"{version}: valid")
        except kubernetes_validate.ValidationError as error:
            failures += 1
            print(f"{version}: {error.message} at {list(error.path)}")
        try:
            kubernetes_validate.validate(wrong, version, strict=True)
            failures += 1
            print(f"{version}: a wrong Job is accepted")
        except kubernetes_validate.ValidationError:
            pass
    folders = [mount["mountPath"] for mount in job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]]
    if folders[:2] != [str(out), str(inputs)] or job["spec"]["completions"] != 3:
        failures += 1
        print(f"the Job has other folders or shards: {folders}")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
