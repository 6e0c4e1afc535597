#!/usr/bin/env python3
"""Holds every label map of a batch against its source: the same shape and affine, as nibabel reads them.

python Tools/Proofs/check_grids.py OUTPUT

DICOM sources have no affine of their own in a file: there the label map is held against result.json, whose grid the
tests compare with another converter's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nibabel
import numpy as np


def main() -> None:
    out = Path(sys.argv[1])
    account = json.loads((out / "batch.json").read_text())
    nifti = dicom = different = 0
    for item in account["items"]:
        if item["state"] != "completed":
            continue
        labels = nibabel.load(out / item["item"] / "segmentation.nii.gz")
        source = json.loads((out / item["item"] / "result.json").read_text())["source"]
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
    print(account["counts"])
    print(f"{nifti} NIfTI and {dicom} DICOM volumes: {different} label maps on another grid than their source")
    for item in account["items"]:
        if item["state"] == "failed":
            print(f"  refused {item['source']}: {item['reason']}")
    raise SystemExit(1 if different else 0)


if __name__ == "__main__":
    main()
