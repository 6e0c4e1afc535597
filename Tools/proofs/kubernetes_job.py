#!/usr/bin/env python3
"""Checks the Job of Kubernetes in the manual (ManyMachines.md) against the schemas of its API, offline.

    Tools/proofs/kubernetes_job.py [--versions 1.29 1.33]

Needs the Python package kubernetes-validate, which has the schemas of every version.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import kubernetes_validate
import yaml

MANUAL = Path(__file__).resolve().parents[2] / "Sources/nocturne/Nocturne.docc/ManyMachines.md"


def is_valid(job: dict, version: str) -> bool:
    try:
        kubernetes_validate.validate(job, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        print(f"{version}: {error.message} at {list(error.path)}")
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", nargs="+", default=["1.29", kubernetes_validate.latest_version()])
    arguments = parser.parse_args()
    job = yaml.safe_load(MANUAL.read_text().split("```yaml\n")[1].split("```")[0])
    wrong = dict(job, spec=dict(job["spec"], completions="three"))
    failures = [v for v in arguments.versions if not is_valid(job, v) or is_valid(wrong, v)]
    print(f"{len(arguments.versions)} versions, {len(failures)} with faults")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
