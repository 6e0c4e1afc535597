"""Writes large phantoms for the proofs of memory and speed: NIfTI, int16, 512 x 512 x 300 by default.

python Tools/Proofs/large_volumes.py FOLDER --count 6
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from phantoms.anatomy import draw
from phantoms.phantom import render, save_nifti


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--shape", type=int, nargs=3, default=(512, 512, 300))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    extent = np.array((400.0, 400.0, 390.0))
    shape = tuple(arguments.shape)
    coarse = tuple(max(2, n // 3) for n in shape)
    for index in range(arguments.count):
        # Rendered on a third of the grid and repeated: the values matter less than their number.
        spacing = extent / np.array(coarse)
        affine = np.diag([*spacing, 1.0])
        affine[:3, 3] = -extent / 2 + np.array((0.0, 0.0, 30.0))
        if index % 2:  # every second one is stored against RAS, so that labels have to be turned back
            affine[:3, 0] *= -1
            affine[0, 3] *= -1
        hu, _ = render(draw(900 + index), coarse, affine)
        for axis in range(3):
            places = np.minimum(np.arange(shape[axis]) * coarse[axis] // shape[axis], coarse[axis] - 1)
            hu = np.take(hu, places, axis=axis)
        fine = affine.copy()
        fine[:3, :3] *= np.array(coarse) / np.array(shape)
        save_nifti(arguments.folder / f"large-{index}.nii.gz", hu, fine)
        print(f"large-{index}.nii.gz", hu.shape, flush=True)


if __name__ == "__main__":
    main()
