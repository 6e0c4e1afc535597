"""Writes a MONAI bundle as a model package.

    python Tools/export/export_monai.py spleen_ct_segmentation spleen
    python Tools/export/export_monai.py BUNDLE_FOLDER PACKAGE --id spleen --config inference.yaml --checkpoint model.pt

Reads configs/metadata.json, configs/inference.json (or .yaml) and the weights in models/. The network is built by
MONAI's own class from network_def (pip install monai==1.6.1), and its ONNX file is compared with PyTorch on a random
patch.

Known are these transforms: LoadImaged, EnsureChannelFirstd, EnsureTyped, Orientationd (RAS), CropForegroundd (x != 0,
before Spacingd), Spacingd, ScaleIntensityRanged, ScaleIntensityd, NormalizeIntensityd; SlidingWindowInferer; Activationsd,
Invertd, AsDiscreted, KeepLargestConnectedComponentd, and a Lambdad that merges regions by torch.where. References (@key)
are followed. Code of the bundle never runs: expressions ($), classes of scripts, and everything else that a package cannot
repeat are refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.monai.package import Export, Options
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE_FOLDER", help="folder with configs and models")
    parser.add_argument(
        "out", type=Path, metavar="PACKAGE", help="folder of the package, written completely or not at all"
    )
    parser.add_argument("--config", metavar="FILE", help="in configs; default: inference.json or inference.yaml")
    parser.add_argument(
        "--checkpoint", default="model.pt", metavar="FILE", help="weights, in models; default: model.pt"
    )
    parser.add_argument("--id", dest="identifier", help="default: the bundle's name")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", help="default: that of the bundle")
    parser.add_argument("--licence", help="of the weights, in short; default: as the bundle's file LICENSE")
    parser.add_argument("--trust-checkpoint", dest="trust", action="store_true", help="run code of its pickle")
    parser.add_argument("--replace", action="store_true", help="overwrite PACKAGE")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    torch.set_num_threads(given.pop("threads"))
    bundle, out = given.pop("bundle"), given.pop("out")
    try:
        full = Export(bundle, Options(**given), print).write(out)
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    print(f"{out}: {full['id']}, {len(full['labels'])} labels, {full['files'][0]['bytes'] / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
