#!/usr/bin/env python3
"""Checks that every label map of a batch has the shape and affine of its source, as nibabel reads them.

    Tools/proofs/check_grids.py OUTPUT

A DICOM source has no affine in a file of its own: there the label map is compared with result.json, whose grid the tests
compare with that of another converter.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import nibabel
import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="output folder of a batch")
    out = parser.parse_args().output
    report = json.loads((out / "batch.json").read_text())
    nifti = dicom = different = 0
    for item in report["items"]:
        if item["state"] != "completed":
            continue
        result = json.loads((out / item["item"] / "result.json").read_text())
        if "segmentation.nii.gz" not in [file["path"] for file in result["files"]]:
            continue  # a photo
        labels = nibabel.load(out / item["item"] / "segmentation.nii.gz")
        source = result["source"]
        shape, affine = source["shape"], np.array([*source["affineRas"], [0, 0, 0, 1]])
        if source["format"] == "nifti":
            image = nibabel.load(item["source"])
            shape, affine = list(image.shape[:3]), image.affine
            nifti += 1
        else:
            dicom += 1
        if list(labels.shape) != shape or not np.allclose(labels.affine, affine, atol=1e-3):
            different += 1
            print("differs:", item["source"], labels.shape, shape, np.abs(labels.affine - affine).max())
    print(report["counts"])
    print(f"{nifti} NIfTI and {dicom} DICOM volumes: {different} label maps on another grid than their source")
    for item in report["items"]:
        if item["state"] == "failed":
            print(f"  refused {item['source']}: {item['reason']}")
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
