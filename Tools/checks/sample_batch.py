#!/usr/bin/env python3
"""Runs the sample batch with the built program, and checks exit codes, counts, files, and `verify`.

    Tools/checks/sample_batch.py [OUTPUT]

The batch is that of Tools/demo, which is what a new user runs first. Without OUTPUT it goes into a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT, SAMPLE_MODELS, SAMPLES, TOOLS

# What every completed item of a model must have.
FILES = {
    "brain-tissue-t1": ["result.json", "run.json", "segmentation.nii.gz", "preview.png", "meshes"],
    "urinary-tract-ct": ["result.json", "run.json", "segmentation.nii.gz", "preview.png", "meshes"],
    "skin-lesions-demo": ["result.json", "run.json", "heatmap.png", "report.pdf"],
    "book-spines": ["result.json", "run.json", "overlay.jpg", "coco.json", "crops"],
}
REPORT = ["batch.json", "statistics.csv", "measurements.csv", "events.jsonl", "retry.txt", "contact-sheet.pdf"]


def expected_items() -> dict[str, int]:
    """How many items each model gets: DICOM series are folders, everything else is a file."""
    return {
        "brain-tissue-t1": len(list((SAMPLES / "Brain").glob("*.nii.gz"))),
        "urinary-tract-ct": len(list((SAMPLES / "Volumes").iterdir())),
        "skin-lesions-demo": len(list((SAMPLES / "Photos/lesions").glob("*.jpg"))),
        "book-spines": len(list((SAMPLES / "Photos/shelves").glob("*.jpg"))),
    }


def problems(out: Path) -> list[str]:
    """What is wrong with the output folder."""
    found = [f"{name} is missing" for name in REPORT if not (out / name).exists()]
    report = json.loads((out / "batch.json").read_text())
    expected = expected_items()
    total = sum(expected.values())
    counts = {**dict.fromkeys(report["counts"], 0), "inputs": total, "completed": total}
    if report["counts"] != counts:
        found.append(f"counts are {report['counts']}, not {counts}")
    completed = dict.fromkeys(expected, 0)
    for path in sorted(out.glob("*/result.json")):
        model = json.loads(path.read_text())["model"]["id"]
        completed[model] = completed.get(model, 0) + 1
        found += [f"{path.parent.name}/{name} is missing" for name in FILES[model] if not (path.parent / name).exists()]
    if completed != expected:
        found.append(f"items by model are {completed}, not {expected}")
    if (out / "retry.txt").exists() and (out / "retry.txt").read_text().strip():
        found.append("retry.txt is not empty")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, nargs="?", help="a folder that does not exist or is a batch's")
    given = parser.parse_args().output
    with tempfile.TemporaryDirectory(prefix="sample-batch-") as folder:
        out = (given or Path(folder) / "out").resolve()
        code = subprocess.run([TOOLS / "demo", out], cwd=ROOT).returncode
        if code != 0:
            raise SystemExit(f"Tools/demo ended with {code}")
        shown = subprocess.run(
            ["swift", "build", "-c", "release", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        program = Path(shown.stdout.strip()) / "nocturne"
        found = problems(out)
        environment = {**os.environ, "NOCTURNE_MODELS": str(SAMPLE_MODELS)}
        verify = subprocess.run([program, "verify", out], capture_output=True, text=True, env=environment)
        if verify.returncode != 0:
            found.append(f"verify ended with {verify.returncode}: {verify.stdout.strip()[-1000:]}")
    print("\n".join(found) if found else f"sample batch: {sum(expected_items().values())} items completed and verified")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
