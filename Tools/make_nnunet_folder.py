"""Makes a small trained nnU-Net v2 folder without patients' data: its own network trained briefly on ellipsoids.

python Tools/make_nnunet_folder.py nnUNetTrainer__nnUNetPlans__3d_fullres
python Tools/make_nnunet_folder.py OUT --flat --folds 1 --residual
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from nnunet.make_folder import FolderSpec, make_folder
from nnunet.shapes import Grid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--flat", action="store_true", help="configuration 2d instead of 3d_fullres")
    parser.add_argument("--residual", action="store_true", help="residual encoder instead of plain")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    grid = Grid((60, 60, 60), (1.1, 1.1, 1.1))
    if options.flat:
        spec = FolderSpec("2d", [1.25, 1.25], [48, 48], grid, mirroring=(0, 1))
    else:
        spec = FolderSpec("3d_fullres", [1.5, 1.5, 1.5], [32, 32, 32], grid)
    spec.folds, spec.steps, spec.residual = options.folds, options.steps, options.residual
    started = time.monotonic()
    make_folder(options.out, spec, options.seed)
    print(f"{options.out}: {spec.folds} folds in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
