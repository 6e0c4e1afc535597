"""Writes the networks in a wheel of RapidOCR, TAPS or deepbet as a model package.

    pip download --no-deps lavlab-taps==1.1.2
    python Tools/export/export_wheel.py lavlab_taps-1.1.2-py3-none-any.whl OUT

Each file is compared with the wheel's record. The package has the texts of the licences. The wheel's code is not run.
The name of the project in the wheel decides what is taken from it:

rapidocr 3 (PP-OCR of PaddleOCR, reads text): the network that finds lines and the one that reads them, as they are,
their characters and their settings. The classifier of directions is not used: Nocturne reads each object turned each
way.

lavlab-taps 1.1.2 (prostate in T2-weighted MR): the network as it is. Its settings are known for the versions whose code
is known.

deepbet 1.0.2 (brain in T1-weighted MR): the two networks, in TorchScript, which become ONNX and are compared with it:
this needs PyTorch and 3 GB of memory. The files that matter are compared with the digests of this version, whose
arithmetic the package repeats.

What cannot be exported is refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.importing.recognition import recognize_wheel
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network


def parse(arguments: list[str] | None) -> argparse.Namespace:
    # What is not given is left to the `Options` of the project.
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, argument_default=argparse.SUPPRESS
    )
    parser.add_argument("wheel", type=Path, help="wheel of rapidocr 3, lavlab-taps 1.1.2 or deepbet 1.0.2")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument(
        "--long-side",
        type=int,
        help="of rapidocr only: pixels of the longer side in which lines are found; default: 960",
    )
    parser.add_argument("--id", dest="identifier", help="default: text-rapidocr, prostate-t2 or brain-extraction-t1")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    options = parser.parse_args(arguments)
    if "long_side" in options and not (32 <= options.long_side <= 4096 and options.long_side % 32 == 0):
        parser.error("--long-side takes multiples of 32 from 32 to 4096")
    return options


def exporter(name: str) -> ModuleType:
    """What writes packages of a project's wheels. Each is imported alone, since they need different Python packages."""
    if name == "rapidocr":
        from nocturne_tools.rapidocr import package
    elif name == "lavlab-taps":
        from nocturne_tools.taps import package
    else:
        from nocturne_tools.deepbet import package
    return package


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    wheel, out = given.pop("wheel"), given.pop("out")
    try:
        name = recognize_wheel(wheel).facts["name"]
        if "long_side" in given and name != "rapidocr":
            raise Refusal(wheel, f"is a wheel of {name}, which has no --long-side")
        package = exporter(name)
        full = package.write(wheel, out, package.Options(**given))
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    print(f"{out}: {full['id']} {full['version']}, {sum(file['bytes'] for file in full['files']) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
