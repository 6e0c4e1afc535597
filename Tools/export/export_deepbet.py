"""Writes the networks of deepbet (brain in T1-weighted MR) as a program package.

    pip download --no-deps deepbet==1.0.2
    python Tools/export/export_deepbet.py deepbet-1.0.2-py3-none-any.whl OUT

Takes from the wheel the two networks and the text of the licence; each file is compared with the wheel's record, and those that matter with
the digests of version 1.0.2, whose arithmetic the package repeats. The wheel's code is not run. The networks, in TorchScript, become
ONNX and are compared with it: this needs PyTorch and 3 GB of memory.

What cannot be exported is refused by name with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", category=FutureWarning)  # PyTorch's about itself, while it is imported

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.deepbet.package import Options, write
from nocturne_tools.offline import forbid_network
from nocturne_tools.wheels import export


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="wheel of deepbet, version 1.0.2")
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument("--id", dest="identifier", default="brain-extraction-t1")
    parser.add_argument("--name", default="Brain extraction (T1)", help="title, for people")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    given = vars(parse(arguments))
    wheel, out = given.pop("wheel"), given.pop("out")
    return export(write, wheel, out, Options(**given))


if __name__ == "__main__":
    sys.exit(main())
