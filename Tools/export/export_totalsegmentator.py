"""Writes a task of TotalSegmentator as a model package.

    python Tools/export/export_totalsegmentator.py total ~/.totalsegmentator/nnunet/results total
    python Tools/export/export_totalsegmentator.py total WEIGHTS_FOLDER OUT --fast
    python Tools/export/export_totalsegmentator.py liver_segments WEIGHTS_FOLDER OUT --id liver-segments

Reads downloaded weights of version 2 or 3: WEIGHTS_FOLDER has a folder Dataset291_… for each dataset of the task, and
of the region's dataset where the task looks for a region first. Every network becomes a part of the package, as
export_nnunet.py writes it: without mirroring, and with the folds and the step between tiles that TotalSegmentator has.

The tasks, their grids and their labels come from the installed Python package TotalSegmentator (pip install
TotalSegmentator==2.18.0), which is needed for the export alone. Tasks whose labels are changed by code that a package
cannot describe are refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", category=FutureWarning)  # PyTorch's about itself, while it is imported

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network
from nocturne_tools.totalsegmentator import tasks
from nocturne_tools.totalsegmentator.program import Export, Options


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="such as total, body or liver_segments, as TotalSegmentator calls it")
    parser.add_argument("weights", type=Path, metavar="WEIGHTS_FOLDER", help="folder with the folders Dataset…")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--fast", dest="mode", action="store_const", const="fast", default="default", help="3 mm")
    modes.add_argument("--fastest", dest="mode", action="store_const", const="fastest", help="6 mm")
    parser.add_argument("--plans", default="nnUNetPlans", help="of the folders of the weights")
    parser.add_argument("--checkpoint", default="checkpoint_final.pth")
    parser.add_argument("--id", dest="identifier", help="default: totalsegmentator and the task")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", help="default: that of the weights' release")
    parser.add_argument("--licence", help="of the weights; default: Apache-2.0 for the open tasks")
    parser.add_argument(
        "--native-grid",
        action="store_true",
        help="resample the logits of each network to the volume's own grid, as nnU-Net does: borders of labels without"
        " steps, unlike TotalSegmentator's; takes longer where voxels are smaller than the network's",
    )
    parser.add_argument("--trust-checkpoint", dest="trust", action="store_true", help="run code of its pickle")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    torch.set_num_threads(given.pop("threads"))
    name, weights, out = given.pop("task"), given.pop("weights"), given.pop("out")
    mode, plans = given.pop("mode"), given.pop("plans")
    try:
        task = tasks.read(name, mode, plans)
        full = Export(task, weights, Options(**given)).write(out)
    except (Refusal, tasks.TaskError) as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    if task.licensed:
        print(f"note: the weights of {name} may be used only with a licence of their authors")
    size = sum(file["bytes"] for file in full["files"])
    networks = sum(file["path"].endswith(".onnx") for file in full["files"])
    print(f"{out}: {full['id']}, {len(full['labels'])} labels, {networks} networks, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
