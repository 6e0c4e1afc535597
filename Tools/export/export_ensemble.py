"""Combines model packages into an ensemble: one package whose label maps follow the mean of their probabilities.

    python Tools/export/export_ensemble.py organs-ensemble organs-2d organs-3d organs-cascade

The packages are those that `export_nnunet.py` writes, of one dataset: they have the same labels, channels and axes. They
are copied into the new package. Needs Python only.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.model_package import write_program
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network
from nocturne_tools.whole_folder import whole_folder

TASK = "volume-segmentation"


def manifest_of(folder: Path) -> dict[str, Any]:
    """`model.json` of a package for volumes."""
    file = folder / "model.json"
    if not file.is_file():
        raise Refusal(file, "is missing; name folders of model packages")
    manifest = json.loads(file.read_text(encoding="utf-8"))
    if manifest.get("task") != TASK:
        raise Refusal(file, f"has the task {manifest.get('task')}; an ensemble takes packages for {TASK}")
    return manifest


def check(folder: Path, own: dict[str, Any], first: dict[str, Any]) -> None:
    for key in ("labels", "channels", "modalities"):
        names = [[entry.get("value"), entry["name"]] if isinstance(entry, dict) else entry for entry in own[key]]
        expected = [[entry.get("value"), entry["name"]] if isinstance(entry, dict) else entry for entry in first[key]]
        if names != expected:
            raise Refusal(folder / "model.json", f"has the {key} {names}, the first package {expected}")


def copy(folder: Path, manifest: dict[str, Any], place: Path) -> None:
    place.mkdir(parents=True)
    shutil.copy(folder / "model.json", place)
    for entry in manifest["files"]:
        (place / entry["path"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / entry["path"], place / entry["path"])


def write(out: Path, folders: list[Path], options: argparse.Namespace) -> dict[str, Any]:
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    if len(folders) < 2:
        raise Refusal(out, "an ensemble has at least two packages")
    manifests = [manifest_of(folder) for folder in folders]
    first = manifests[0]
    for folder, manifest in zip(folders, manifests):
        check(folder, manifest, first)
    with whole_folder(out) as partial:
        members = []
        for number, (folder, manifest) in enumerate(zip(folders, manifests), start=1):
            members.append(f"parts/{number}-{manifest['id']}")
            copy(folder, manifest, partial / members[-1])
        program = {"parts": [{"packages": members}]}
        return write_program(
            partial,
            {
                "id": options.identifier or f"{first['id']}-ensemble",
                "name": options.name or f"{first['name']}, ensemble of {len(folders)}",
                "description": "Mean of the probabilities of " + ", ".join(m["id"] for m in manifests) + ".",
                "version": options.version or first["version"],
                "licence": first["licence"],
                "modalities": first["modalities"],
                "channels": [{"name": c["name"], "normalization": {"scheme": "none"}} for c in first["channels"]],
                "labels": first["labels"],
                "volumeProgram": program,
            },
        )


def main(arguments: list[str] | None = None) -> int:
    forbid_network()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the package, written completely or not at all")
    parser.add_argument("packages", type=Path, nargs="+", help="folders of the members")
    parser.add_argument("--id", dest="identifier", help="default: that of the first package, and -ensemble")
    parser.add_argument("--name", help="title, for people")
    parser.add_argument("--version", help="default: that of the first package")
    parser.add_argument("--replace", action="store_true", help="overwrite OUT")
    options = parser.parse_args(arguments)
    try:
        full = write(options.out, options.packages, options)
    except Refusal as refusal:
        print(f"not exported: {refusal}", file=sys.stderr)
        return 2
    print(f"{options.out}: {full['id']}, {len(options.packages)} members, {len(full['labels'])} labels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
