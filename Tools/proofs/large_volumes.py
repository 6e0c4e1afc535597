#!/usr/bin/env python3
"""Writes large phantoms for the proofs of memory and speed: NIfTI, int16, 512 x 512 x 300 by default.

    Tools/proofs/large_volumes.py FOLDER --count 6
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.memory_inputs import repeated_phantom
from nocturne_tools.phantoms.phantom import save_nifti


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--shape", type=int, nargs=3, default=(512, 512, 300))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    shape = tuple(arguments.shape)
    coarse = tuple(max(2, n // 3) for n in shape)
    for index in range(arguments.count):
        # Every second one is stored against RAS, so that labels have to be turned back.
        hu, affine = repeated_phantom(900 + index, shape, coarse, flipped=index % 2 == 1)
        save_nifti(arguments.folder / f"large-{index}.nii.gz", hu, affine)
        print(f"large-{index}.nii.gz", hu.shape, flush=True)


if __name__ == "__main__":
    main()
