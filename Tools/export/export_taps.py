"""Writes the prostate network of TAPS (T2-weighted MR) as a model package.

    pip download --no-deps lavlab-taps==1.1.2
    python Tools/export/export_taps.py lavlab_taps-1.1.2-py3-none-any.whl OUT

Takes from the wheel, as they are, the network and the text of the licence; each file is compared with the wheel's
record. The wheel's code is not run: its settings are known for the versions whose code is known.

What cannot be exported is refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.offline import forbid_network
from nocturne_tools.taps.package import Options, write
from nocturne_tools.wheels import export


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="wheel of lavlab-taps, version 1.1.2")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument("--id", dest="identifier", default="prostate-t2")
    parser.add_argument("--name", default="Prostate (T2 MR)", help="title, for people")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    wheel, out = given.pop("wheel"), given.pop("out")
    return export(write, wheel, out, Options(**given))


if __name__ == "__main__":
    sys.exit(main())
