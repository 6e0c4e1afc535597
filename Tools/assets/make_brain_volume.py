#!/usr/bin/env python3
"""Writes the sample volume of a head, Samples/Brain/t1.nii.gz, from brainchop's t1_crop.nii.gz without the face.

    Tools/assets/make_brain_volume.py BRAINCHOP

BRAINCHOP has t1_crop.nii.gz, the folder mindgrab and LICENSE of neuroneural/brainchop. The file is a conformed volume
of a real head, in which eyes and nose are visible. Where the face is, in front and below, voxels are set to 0 unless
they are within some millimetres of the brain, which MindGrab finds. Needs NumPy, SciPy, nibabel, PyTorch and 8 GB.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.meshnet import layers, reference
from nocturne_tools.meshnet.known import KNOWN
from nocturne_tools.paths import SAMPLES

MODEL = "mindgrab"
MARGIN = 8  # mm around the brain that stay
# As a share of the brain's extent downwards and forwards: where the face begins.
BELOW, IN_FRONT = 0.4, 0.6


def without_face(volume: NDArray[np.uint8], brain: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The volume (left, down, forward) without what is below and in front, outside of the brain and its margin."""
    near = ndimage.distance_transform_edt(~brain) <= MARGIN
    first, last = np.argwhere(brain).min(axis=0), np.argwhere(brain).max(axis=0)
    start = first + (last - first) * np.array([0, BELOW, IN_FRONT])
    face = np.zeros(volume.shape, dtype=bool)
    face[:, int(start[1]) :, int(start[2]) :] = True
    return np.where(face & ~near, 0, volume).astype(np.uint8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with brainchop's files")
    folder = parser.parse_args().folder
    image = nib.load(folder / "t1_crop.nii.gz")
    if nib.aff2axcodes(image.affine) != ("L", "I", "A") or image.get_data_dtype() != np.uint8:
        raise SystemExit(f"{folder / 't1_crop.nii.gz'}: expected a conformed volume, uint8 with the axes L, I, A")
    volume = np.asarray(image.dataobj)
    normalised = reference.normalise(volume, KNOWN[MODEL].normalization)
    brain = reference.keep_largest(reference.predict(layers.read(folder / MODEL), normalised)) > 0
    made = nib.Nifti1Image(without_face(volume, brain), image.affine)
    made.header.set_xyzt_units("mm")
    out = SAMPLES / "Brain"
    out.mkdir(exist_ok=True)
    # Without a time in it, so that the same volume gives the same bytes.
    (out / "t1.nii.gz").write_bytes(gzip.compress(made.to_bytes(), 9, mtime=0))
    (out / "LICENSE.txt").write_text((folder / "LICENSE").read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{out / 't1.nii.gz'}: {int((volume != made.get_fdata()).sum())} voxels of the face set to 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
