#!/usr/bin/env python3
"""Imports the models of `nocturne models list --available`, checks and runs each, and prints seconds and memory.

    Tools/proofs/catalogue.py NOCTURNE BRAINCHOP --t1 VOLUME --mr VOLUME --photo PHOTO [--entries ID …] [--keep FOLDER]

BRAINCHOP is brainchop's folder of models (public/models); other models are downloaded by pip. For each model: `models import`
with nocturne-export of this folder and this Python (torch, onnx and onnxruntime; compares what the program computes with the
original library), `models check` without any Python in the search path, and `run` of a volume (T1-weighted for the brain) or
a photo. Each has --limit seconds (default 900) at most; memory is the largest proportional size of all processes. Ends with 1
where a command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "lib"))

from nocturne_tools.processes import CommandFailed, Usage, measure

ROOT = HERE.parents[2]
EXPORTER = ROOT / "Tools" / "export" / "nocturne_export.py"
SPINES = ROOT / "Samples" / "Models" / "book-spines"
BRAINCHOP_PREFIX = "brainchop/public/models/"


class Catalogue:
    """Where its models are imported from and to, and how each command is measured."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.log = folder / "log"
        self.failures: list[str] = []

    def source(self, entry: dict) -> str:
        source = entry["source"]
        return str(self.options.brainchop / source.removeprefix(BRAINCHOP_PREFIX)) if source.startswith(BRAINCHOP_PREFIX) else source

    def input(self, entry: dict) -> Path:
        if entry["task"].startswith("photo"):
            return self.options.photo
        return self.options.mr if entry["id"].startswith("prostate") else self.options.t1

    def cell(self, name: str, arguments: list[str], path: str | None = None) -> str:
        """Seconds and memory of a command, or that it failed."""
        environment = {"PATH": path} if path else {}
        try:
            usage: Usage = measure([self.options.nocturne, *arguments], environment, self.log, self.options.limit)
        except CommandFailed as error:
            self.failures.append(f"{name}: {error}")
            return f"failed: {error.reason}"
        return f"{usage.wall:.1f} s, {usage.peak / 2**20:.0f} MiB"

    def row(self, entry: dict) -> list[str]:
        name, models = entry["id"], self.folder / "models"
        python = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        imported = self.cell(
            f"import of {name}", ["models", "import", self.source(entry), "--into", str(models), "--exporter", str(EXPORTER)], python
        )
        package = models / name
        if not package.exists():
            return [name, imported, "", "", ""]
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        checked = self.cell(f"check of {name}", ["models", "check", str(package), "--repeat", "1"], str(empty))
        out = self.folder / f"{name}.out"
        # Text is read on objects, which another model finds.
        spines = ["--model", str(SPINES)] if entry["task"] == "photo-text" else []
        run = ["run", str(self.input(entry)), *spines, "--model", str(package), "--output", str(out), "--quiet", *self.options.option]
        return [name, imported, checked, self.cell(f"run of {name}", run, str(empty)), self.input(entry).name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("brainchop", type=Path)
    parser.add_argument("--t1", type=Path, required=True)
    parser.add_argument("--mr", type=Path, required=True)
    parser.add_argument("--photo", type=Path, required=True)
    parser.add_argument("--entries", nargs="+", help="ids of models; default: all")
    parser.add_argument("--keep", type=Path, help="keep packages and results in this folder")
    parser.add_argument("--limit", type=float, default=900, help="seconds of a command at most; default: 900")
    parser.add_argument("--option", action="append", default=[], help="an option for `run`, such as --option=--memory=13G")
    options = parser.parse_args()
    known = json.loads((ROOT / "Sources" / "nocturne" / "known-models.json").read_text())
    with tempfile.TemporaryDirectory(prefix="catalogue-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        catalogue = Catalogue(options, folder)
        print("| model | import with comparison | `models check` without Python | `run` | input |\n| --- | --- | --- | --- | --- |", flush=True)
        for entry in known:
            if options.entries is None or entry["id"] in options.entries:
                print(f"| {' | '.join(catalogue.row(entry))} |", flush=True)
    for failure in catalogue.failures:
        print(failure, file=sys.stderr)
    return 1 if catalogue.failures else 0


if __name__ == "__main__":
    sys.exit(main())
