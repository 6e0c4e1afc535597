"""Writes a network for instance segmentation of photos (YOLO-seg, Mask R-CNN) as a model package.

    python Tools/export/export_instances.py yolo11n-seg.onnx OUT
    python Tools/export/export_instances.py mask-rcnn.pth OUT --classes cat,dog

A file of YOLO-seg is one that ultralytics exports: yolo export model=YOUR.pt format=onnx. Versions 8, 9, 11 and 12, and
26 without its end-to-end part; the outputs in any order; float32 or float16; a square input, or dynamic=True, with
which only the longer side is fixed. Names of classes, size and stride are read from the file. Files with non-maximum
suppression inside, for other tasks, or of integers are refused with what to do. The graph is compared with the file's.

Mask R-CNN is torchvision's with ResNet-50 and FPN, version 1 or 2: a state dict, or a TorchScript file, of which only
the weights are used. It needs PyTorch and torchvision here, and ONNX Runtime in Nocturne: the builtin engine lacks RoiAlign
and non-maximum suppression.

What cannot be exported is refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.instances.package import Options, write
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="ONNX file of YOLO-seg, or weights of Mask R-CNN (.pt, .pth)")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument(
        "--classes", type=lambda text: text.split(","), help="names in the network's order, separated by commas"
    )
    parser.add_argument(
        "--size",
        type=int,
        help="pixels of the longer side; default: as the file says (YOLO-seg), 1067 (Mask R-CNN)",
    )
    parser.add_argument("--score", type=float, help="lowest score; default: 0.25 (YOLO-seg), 0.5 (Mask R-CNN)")
    parser.add_argument(
        "--overlap",
        type=float,
        help="intersection over union from which two boxes are one; default: 0.7 (YOLO-seg), 0.5 (Mask R-CNN)",
    )
    parser.add_argument(
        "--max-instances", dest="most", type=int, help="on a photo; default: 300 (YOLO-seg), 100 (Mask R-CNN)"
    )
    parser.add_argument("--minimum-side", type=int, default=32, help="pixels that a photo must have")
    parser.add_argument("--id", dest="identifier", help="default: the file's name")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--licence", help="of the weights, in short; default: as the file says")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    options = parser.parse_args(arguments)
    for name in ("score", "overlap"):
        if getattr(options, name) is not None and not 0 < getattr(options, name) < 1:
            parser.error(f"--{name} takes a number above 0 and below 1")
    if options.most is not None and not 1 <= options.most <= 1000:
        parser.error("--max-instances takes 1 to 1000")
    if options.size is not None and not 32 <= options.size <= 4096:
        parser.error("--size takes 32 to 4096")
    return options


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    file, out = given.pop("file"), given.pop("out")
    try:
        full = write(file, out, Options(**given), print)
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    section = full["photoInstances"]
    print(f"{out}: {full['id']}, {len(section['classes'])} classes, {section['input']['longSide']} pixels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
