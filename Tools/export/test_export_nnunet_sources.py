"""Checks what the nnU-Net exporter is given: folders for TIFFs and of pretraining trainers, and ZIP archives as MOOSE's.

    python Tools/export/test_export_nnunet_sources.py

Like test_export_nnunet.py, it makes one tiny trained folder and needs PyTorch.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch

import export_nnunet
from test_export_nnunet import NAME, Change, both, checkpoint, edit, plan

from nocturne_tools.nnunet.make_folder import FolderSpec, make_folder
from nocturne_tools.nnunet.shapes import Grid

SETTINGS = "volumeSegmentation"
# As MOOSE 3 distributes models: one dataset, one fold of all cases, one of nnU-Net's trainers without mirroring, and files of the
# training beside the checkpoint.
MOOSE = "Dataset123_Organs/nnUNetTrainer_2000epochs_NoMirroring__nnUNetPlans__3d_fullres"
# The members that nnU-Net's architectures name: which weights are the encoder's and the stem's.
PRETRAIN_INFO = {"key_to_encoder": "encoder.stages", "key_to_stem": "encoder.stem"}


def trainer(name: str) -> Change:
    return checkpoint(lambda content: content.update(trainer_name=name))


def export(path: Path, *arguments: str) -> tuple[int, str, dict[str, Any] | None, list[str]]:
    """Exit code, output, `model.json`, and what is left beside the source."""
    out, output = path.parent / "out", io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = export_nnunet.main([str(path), str(out), "--threads", "2", *arguments])
    left = [file.name for file in path.parent.iterdir() if file != path]
    full = json.loads((out / "model.json").read_text()) if (out / "model.json").is_file() else None
    return code, output.getvalue(), full, left


def changed(made: Path, place: Path, change: Change) -> Path:
    place.mkdir()
    shutil.copytree(made, place / made.name)
    change(place / made.name)
    return place / made.name


def zipped(made: Path, path: Path, folders: list[str], fold: str = "fold_0", more: dict[str, bytes] | None = None) -> Path:
    """An archive with the made folder under other names, and its fold under another name."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in folders:
            for file in (file for file in made.rglob("*") if file.is_file()):
                name = file.relative_to(made).as_posix().replace("fold_0", fold)
                archive.write(file, f"{folder}/{name}")
        for name, content in (more or {}).items():
            archive.writestr(name, content)
    return path


def archives(made: Path, place: Path) -> list[str]:
    """What is wrong with the export of archives as nnU-Net makes them, and of others."""
    place.mkdir()
    full, low = f"Dataset999_Shapes/{NAME}", "Dataset999_Shapes/nnUNetTrainer__nnUNetPlans__3d_lowres"
    cases: dict[str, tuple[list[str], list[str], int, str]] = {
        "one": ([full], [], 0, "1 networks"),
        "several": ([full, low], [], 2, "choose one with --configuration"),
        "chosen": ([full, low], ["--configuration", "3d_fullres"], 0, "1 networks"),
        "none": (["elsewhere"], [], 2, "contains no folder"),
        "outside": ([f"../{NAME}"], [], 2, "leads out of its folder"),
        "other": ([full], ["--configuration", "2d"], 2, "of the configuration 2d"),
    }
    wrong = []
    for name, (folders, arguments, expected, fact) in cases.items():
        code, output, _, _ = export(zipped(made, place / name / "model.zip", folders), *arguments)
        if code != expected or fact not in output:
            wrong.append(f"{name}: exit {code}, {output[-500:]}")
    short = place / "short" / "model.zip"
    short.parent.mkdir()
    short.write_bytes((place / "one" / "model.zip").read_bytes()[:5000])
    code, output, _, _ = export(short)
    if code != 2 or "neither a folder nor a ZIP archive" not in output:
        wrong.append(f"short: exit {code}, {output[-500:]}")
    return wrong


def moose(made: Path, place: Path) -> list[str]:
    """What is wrong with the export of an archive as MOOSE distributes models."""
    changes = both(
        trainer("nnUNetTrainer_2000epochs_NoMirroring"),
        checkpoint(lambda content: content.update(inference_allowed_mirroring_axes=None)),
    )
    folder = changed(made, place, changes)
    beside = {
        f"{MOOSE}/dataset_fingerprint.json": b"{}",
        f"{MOOSE}/fold_all/debug.json": b"{}",
        f"{MOOSE}/fold_all/progress.png": b"\x89PNG",
        f"{MOOSE}/fold_all/training_log_2024_1_1_00_00_00.txt": b"epoch 0",
        f"__MACOSX/{MOOSE}/._plans.json": b"\0\5\26\7",
    }
    path = zipped(folder, place / "zip" / "clin_ct_organs.zip", [MOOSE], "fold_all", beside)
    code, output, full, left = export(path)
    if code != 0 or full is None or left != ["out"]:
        return [f"MOOSE: exit {code}, left {left}, {output[-1000:]}"]
    found = (full[SETTINGS]["networks"], full[SETTINGS]["mirroringAxes"], full["id"])
    expected = (["fold_all.onnx"], [], "dataset999-shapes-3d-fullres")
    wrong = [] if found == expected else [f"MOOSE: {found}, expected {expected}"]
    if "note:" in output:
        wrong.append(f"MOOSE: {output[-1000:]}")
    code, output, _, _ = export(zipped(folder, place / "zip2" / "a.zip", [MOOSE], "fold_all"), "--folds", "0")
    if code != 2 or "fold 0 is missing; found: all" not in output:
        wrong.append(f"MOOSE, another fold: exit {code}, {output[-500:]}")
    return wrong


def pretrained(made: Path, place: Path) -> list[str]:
    """What is wrong with folders of trainers that begin with pretrained weights: exported if the network is that of the plans."""
    place.mkdir()
    info = edit("plans.json", "pretrain_info", value=PRETRAIN_INFO)
    named = edit("plans.json", "plans_name", value="ptPlans_dynamic__OpenMind_MAE__fixed")
    unknown = plan("architecture", "network_class_name", value="ResEncL")
    cases: list[tuple[str, Change, int, str]] = [
        ("plain", both(info, named, trainer("PretrainedTrainer")), 0, "trainer PretrainedTrainer is not nnU-Net's own"),
        ("dynamic", both(info, trainer("DynamicPretrainedTrainer_150ep")), 0, "its weights fit the network of the plans"),
        ("named network", both(info, trainer("PretrainedTrainer"), unknown), 2, "unknown network class ResEncL"),
        ("next step", both(info, trainer("PretrainedTrainer"), unknown), 2, "begins with pretrained weights"),
        ("Primus", both(info, trainer("PretrainedTrainer_Primus")), 2, "trainer PretrainedTrainer_Primus"),
        ("Primus, next step", both(info, trainer("PretrainedTrainer_Primus")), 2, "the fork of nnU-Net that trained it"),
        ("weights", both(info, plan("architecture", "arch_kwargs", "features_per_stage", value=[4, 9])), 2, "has shape"),
        ("weights, next step", both(info, plan("architecture", "arch_kwargs", "n_conv_per_stage", value=[2, 3])), 2, "the fork of nnU-Net that trained it"),
        ("without weights", both(edit("plans.json", "pretrain_info", value=None), trainer("PretrainedTrainer")), 0, "1 networks"),
    ]
    wrong = []
    for number, (title, change, expected, fact) in enumerate(cases):
        code, output, _, left = export(changed(made, place / str(number), change))
        if code != expected or fact not in output or (left != [] if code else left != ["out"]):
            wrong.append(f"{title}: exit {code}, left {left}, {output[-1000:]}")
    return wrong


def tiffs(made: Path, place: Path) -> list[str]:
    """What is wrong with models whose images are TIFFs."""
    reader = edit("plans.json", "image_reader_writer", value="Tiff3DIO")
    code, output, full, _ = export(changed(made, place, both(reader, edit("dataset.json", "file_ending", value=".tif"))))
    if code != 0 or full is None:
        return [f"TIFF: exit {code}, {output[-1000:]}"]
    found = (full["task"], full[SETTINGS].get("inputFormat"), full[SETTINGS]["orientation"], full["modalities"])
    expected = ("volume-segmentation", "tiff", "stored", full["modalities"])
    return [] if found == expected else [f"TIFF: {found}, expected {expected}"]


def main() -> int:
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as scratch:
        made, grid = Path(scratch) / "made" / NAME, Grid((16, 16, 16), (2.0, 2.0, 2.0))
        make_folder(made, FolderSpec("3d_fullres", [2.0] * 3, [16] * 3, grid, features=[4, 8], folds=1, steps=2, size=30))
        checks = {"archives": archives, "moose": moose, "pretrained": pretrained, "tiffs": tiffs}
        wrong = [fact for name, check in checks.items() for fact in check(made, Path(scratch) / name)]
    for fact in wrong:
        print(f"FAILED {fact}")
    print(f"archives, MOOSE's archive, pretraining trainers, TIFFs: {len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
