"""Writes the networks of RapidOCR (PP-OCR of PaddleOCR) as a model package that reads text.

    pip download --no-deps rapidocr==3.10.0
    python Tools/export/export_rapidocr.py rapidocr-3.10.0-py3-none-any.whl OUT

Takes from the wheel, as they are, the network that finds lines and the one that reads them, their characters, their
settings, and the texts of the licences; each file is compared with the wheel's record. The classifier of directions is
not used: Nocturne reads each object turned each way.

What cannot be exported is refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.offline import forbid_network
from nocturne_tools.rapidocr.package import Options, write
from nocturne_tools.wheels import export


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="wheel of rapidocr, version 3")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument("--long-side", type=int, default=960, help="pixels of the longer side in which lines are found")
    parser.add_argument("--id", dest="identifier", default="text-rapidocr")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    options = parser.parse_args(arguments)
    if not (32 <= options.long_side <= 4096 and options.long_side % 32 == 0):
        parser.error("--long-side takes multiples of 32 from 32 to 4096")
    return options


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    wheel, out = given.pop("wheel"), given.pop("out")
    return export(write, wheel, out, Options(**given))


if __name__ == "__main__":
    sys.exit(main())
