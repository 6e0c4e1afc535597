"""Writes a MeshNet of brainchop (TensorFlow.js layers format) as a model package.

    python Tools/export/export_brainchop.py brainchop/public/models/model18cls brain-regions
    python Tools/export/export_brainchop.py MODEL_FOLDER OUT --id my-model --labels map.json --normalization quantiles

Reads model.json, the weights and colour maps beside it; TensorFlow is not needed. Convolutions in a row with dilation,
with ReLU, ELU or GELU, and with the normalisation of each channel after layers whose names end in _gn. The kernels are
turned from brainchop's axes (left, down, forward) to RAS, so results are those of brainchop on the whole volume. The
graph is compared with NumPy on a small volume. Anything unknown is refused by name with exit code 2, and nothing is
written.

Models that brainchop publishes are known by the names of their folders; for others say --normalization, and --labels
where the folder has no colour map of the right length.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.meshnet.known import NORMALIZATIONS
from nocturne_tools.meshnet.package import Options, write
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_folder", type=Path, help="folder with model.json and its weights")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument(
        "--normalization", choices=sorted(NORMALIZATIONS), help="of intensities; default: as brainchop's table"
    )
    parser.add_argument(
        "--labels", type=Path, help="colour map: a JSON file with labels, R, G and B; the first is background"
    )
    parser.add_argument(
        "--patch", type=int, nargs=3, default=[256, 256, 256], metavar=("Z", "Y", "X"), help="voxels of a tile"
    )
    parser.add_argument("--licence-file", type=Path, help="its text; default: LICENSE in the folder or the one above")
    parser.add_argument("--licence", default="MIT", help="of the weights, in short")
    parser.add_argument("--id", dest="identifier", help="default: as known, or the folder's name")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    options = parser.parse_args(arguments)
    if not all(1 <= extent <= 1024 for extent in options.patch):
        parser.error("--patch takes numbers from 1 to 1024")
    options.patch = tuple(options.patch)
    return options


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    model, out = given.pop("model_folder"), given.pop("out")
    try:
        full = write(model, out, Options(**given), print)
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    print(f"{out}: {full['id']}, {len(full['labels'])} labels, {full['files'][0]['bytes'] / 1e3:.1f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
