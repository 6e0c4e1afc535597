#!/usr/bin/env python3
"""Writes the inputs of a small batch of every kind, from the repository's fixtures alone, for the other proofs.

    Tools/proofs/kill_resume.py NOCTURNE --kills 40 --input FOLDER $(Tools/proofs/mixed_batch.py NOCTURNE FOLDER)

Volumes as NIfTI, NRRD, MetaImage (each in one file and with its data in another) and DICOM series; existing labels as label
maps, a DICOM segmentation and a structure set, which the program makes from the first series; photos as JPEG, HEIC and WebP.
`MODELS` and `OPTIONS` make items of every recipe of them. They are printed for a command line.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import FIXTURES, SAMPLES, THRESHOLD_MODEL
from nocturne_tools.small_volumes import tiny_volume, write_series, write_volume

MODELS = [
    *(THRESHOLD_MODEL, FIXTURES / "PhotoModels/primary", FIXTURES / "PhotoModels/brightest"),
    *(FIXTURES / "Models/coloured-maps", FIXTURES / "Models/drawn-letters"),
]
OPTIONS = [
    *("--view", "--existing-labels", "--isosurface", "0.5", "--dicom-seg", "--rtstruct", "--probabilities", "--pictures"),
    *("--radiomics", "auto", "--mesh-detail", "0.3"),
]
NRRD = "NRRD0005\ntype: uint8\ndimension: 3\nspace: left-posterior-superior\nsizes: 16 16 16\nendian: little\n" + (
    "space directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n"
)
META_IMAGE = "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n" + (
    "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 0 0 0\nElementSpacing = 1 1 1\nDimSize = 16 16 16\nElementType = MET_UCHAR\n"
)


def write_volumes(folder: Path) -> None:
    """The volumes of every format, each with a box at another place."""
    folder.mkdir()
    write_volume(folder / "nifti.nii", 24, 1)
    voxels = [tiny_volume(seed)[352:] for seed in range(10)]
    (folder / "raw.nrrd").write_bytes((NRRD + "encoding: raw\n\n").encode() + voxels[1])
    (folder / "gzip.nrrd").write_bytes((NRRD + "encoding: gzip\n\n").encode() + gzip.compress(voxels[2], mtime=0))
    (folder / "other.nhdr").write_text(NRRD + "encoding: raw\ndata file: other.raw\n\n")
    (folder / "other.raw").write_bytes(voxels[3])
    (folder / "raw.mha").write_bytes((META_IMAGE + "CompressedData = False\nElementDataFile = LOCAL\n").encode() + voxels[4])
    (folder / "compressed.mhd").write_text(META_IMAGE + "CompressedData = True\nElementDataFile = compressed.zraw\n")
    (folder / "compressed.zraw").write_bytes(zlib.compress(voxels[5]))
    write_series(folder / "series-1", 6)
    write_series(folder / "series-2", 7)
    (folder / "labelled.nii.gz").write_bytes(gzip.compress(tiny_volume(8), mtime=0))
    (folder / "labelled_seg.nii.gz").write_bytes(gzip.compress(tiny_volume(9), mtime=0))
    (folder / "raw_seg.nrrd").write_bytes((NRRD + "encoding: raw\n\n").encode() + voxels[9])


def write_dicom_labels(nocturne: str, folder: Path) -> None:
    """A segmentation and a structure set of the first series, as the program writes them."""
    out = folder.with_name(folder.name + "-made")
    command = [nocturne, "run", str(folder / "Volumes/series-1"), "--model", str(THRESHOLD_MODEL), "--output", str(out)]
    subprocess.run([*command, "--quiet", "--dicom-seg", "--rtstruct"], check=True)
    for file in ("segmentation.dcm", "rtstruct.dcm"):
        shutil.copy(next(out.glob(f"*/{file}")), folder / "Volumes" / file)
    shutil.rmtree(out)


def write_photos(folder: Path) -> None:
    folder.mkdir()
    fixtures = FIXTURES / "PhonePhotos"
    names = ["heic-10-bits.heic", "heic-turned.heic", "webp-alpha.webp"]
    for file in [*(fixtures / name for name in names), SAMPLES / "Photos/lesions/lesion-01.jpg"]:
        shutil.copy(file, folder)


def write_inputs(nocturne: str, folder: Path) -> None:
    """All inputs of the batch, into a new folder."""
    folder.mkdir(parents=True)
    write_volumes(folder / "Volumes")
    write_photos(folder / "Photos")
    write_dicom_labels(nocturne, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("folder", type=Path, help="a new folder for the inputs")
    arguments = parser.parse_args()
    write_inputs(arguments.nocturne, arguments.folder)
    print("--model", *MODELS, "--options", *OPTIONS)


if __name__ == "__main__":
    main()
