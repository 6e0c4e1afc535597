"""Writes a trained nnU-Net v2 folder as a model package.

    python Tools/export/export_nnunet.py RESULTS/Dataset123_Liver/nnUNetTrainer__nnUNetPlans__3d_fullres liver
    python Tools/export/export_nnunet.py MODEL_FOLDER OUT --folds 0 1 2 3 4 --id liver-ct --name "Liver (CT)" --licence MIT
    python Tools/export/export_nnunet.py CASCADE_FOLDER OUT                  # with the previous stage's folder beside it
    python Tools/export/export_nnunet.py TOTALSEGMENTATOR_FOLDER OUT --tile-step 0.8
    python Tools/export/export_nnunet.py Dataset123_Organs.zip OUT           # as nnU-Net and MOOSE distribute models

Reads plans.json, dataset.json, fold_*/checkpoint_final.pth and postprocessing.json (or .pkl). 2d, 3d_fullres,
3d_lowres, cascades and configurations that inherit from them; plain and residual-encoder U-Nets and Primus; several folds,
regions, channels, mirroring axes, normalisation and resampling as trained. Every exported fold is compared with PyTorch
on a random patch. Anything unknown is refused by name with exit code 2, and nothing is written.

Mirroring is part of the package, as nnU-Net mirrors by default. Postprocessing is, where cross-validation chose some
for exactly these folds; nnU-Net itself applies it in a separate step, and --no-postprocessing leaves it out.
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

from nocturne_tools.nnunet.archive import unpacked
from nocturne_tools.nnunet.package import Options, write
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_folder", type=Path, help="<Trainer>__<Plans>__<Configuration>, or a ZIP archive with it")
    parser.add_argument("--configuration", help="of a ZIP archive with several, such as 3d_fullres")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument("--folds", nargs="+", default=[], help="numbers, or all for fold_all; default: numbers found")
    parser.add_argument("--checkpoint", default="checkpoint_final.pth")
    parser.add_argument("--previous-stage", type=Path, help="trained folder of the stage before, for a cascade")
    parser.add_argument("--previous-folds", nargs="+", default=[], help="default: as --folds")
    parser.add_argument("--id", dest="identifier", help="default: data set and configuration")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--licence", help="of the weights; default: that of dataset.json")
    parser.add_argument("--tile-step", type=float, default=0.5, help="of the patch, above 0 and at most 1")
    parser.add_argument("--no-postprocessing", dest="postprocessing", action="store_false")
    parser.add_argument("--trust-checkpoint", dest="trust", action="store_true", help="run code that its pickle may contain")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if not 0 < options.tile_step <= 1:
        parser.error("--tile-step must be above 0 and at most 1")
    if not all(fold == "all" or fold.isdecimal() for fold in options.folds + options.previous_folds):
        parser.error("--folds takes numbers or all")
    return options


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    torch.set_num_threads(given.pop("threads"))
    model, out, configuration = given.pop("model_folder"), given.pop("out"), given.pop("configuration")
    try:
        with unpacked(model, configuration) as folder:
            full = write(folder, out, Options(**given), print)
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    size = sum(file["bytes"] for file in full["files"])
    networks = sum(file["path"].endswith(".onnx") for file in full["files"])
    print(f"{out}: {full['id']}, {len(full['labels'])} labels, {networks} networks, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
