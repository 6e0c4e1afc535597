"""Writes the analytic nnU-Net fixtures into Tests/Fixtures/NNUNet.

    python Tools/make_nnunet_fixtures.py

`models/<case>` is a package, `volumes/<case>_0000.nii` its image, and `expected.json` has for each case what nnU-Net's
own predictor gives: the shape and first values after preprocessing, the count of each label, a checksum (the sum of
label times place, the place counted from 1 with x fastest, modulo 1000003), the labels at [0, 0, :] and all labels as
digits. Cases A to J are also checked against figures worked out beforehand. The same script gives the same bytes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from model_package import write_package
from nnunet.analytic import CASES, Case, predict
from nnunet.labels import Labels, channel_names
from nnunet.settings import Configuration

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "NNUNet"
KNOWN = {  # shape after preprocessing, label counts, checksum, labels at [0, 0, :]
    "A": ([10, 9, 8], [65, 327, 328], 354114, "20121212"),
    "B": ([13, 7, 6], [321, 198, 201], 217918, "20101102"),
    "C": ([8, 7, 6], [118, 120, 122], 65692, "20101122"),
    "D": ([12, 8, 6], [321, 199, 200], 212301, "20121102"),
    "E": ([10, 9, 8], [147, 287, 286], 310237, "02012121"),
    "F": ([10, 9, 8], [197, 261, 262], 282716, "00012121"),
    "G": ([10, 9, 8], [163, 275, 282], 296166, "20121212"),
    "H": ([10, 9, 8], [0, 65, 327, 328], 613674, "31232323"),
    "I": ([5, 6, 7], [18, 96, 96], 30407, "2012121"),
    "J": ([10, 9, 8], [68, 326, 326], 353945, "20101212"),
}


def stage(case: Case) -> tuple[dict[str, Any], Configuration]:
    configuration = Configuration(Path(case.name), case.plans(), case.configuration_name())
    return {
        "orientation": configuration.orientation,
        "transpose": configuration.transpose,
        "spacing": configuration.spacing,
        "patchSize": configuration.patch,
        "tileStep": 0.5,
        "mirroringAxes": list(case.mirroring or ()),
        "cropToNonzero": True,
        "resampling": configuration.resampling(),
    }, configuration


def write_networks(case: Case, folder: Path, prefix: str) -> list[str]:
    names = []
    for fold, constant in enumerate(case.constants):
        names.append(f"{prefix}fold_{fold}.onnx")
        (folder / names[-1]).write_bytes(case.onnx(constant).SerializeToString(deterministic=True))
    return names


def write_model(case: Case, folder: Path) -> None:
    """The package, with the exporter's own rules."""
    folder.mkdir(parents=True)
    recipe, configuration = stage(case)
    labels = Labels(Path(case.name), case.dataset())
    names = channel_names(Path(case.name), case.dataset())
    normalizations = configuration.normalizations(case.channels)
    if case.previous is not None:
        before, earlier = stage(case.previous)
        recipe["previousStage"] = {
            **before,
            "networks": write_networks(case.previous, folder, "previous_"),
            "oneHotLabels": labels.foreground,
            "normalizations": earlier.normalizations(case.channels),
        }
    rules: dict[str, Any] = {"keepLargest": [], "fillHoles": [], "minimumVolumeMm3": {}}
    recipe |= {"output": "regions" if labels.regions else "classes", "postprocessing": rules}
    manifest = {
        "id": f"nnunet-{case.name.lower()}",
        "name": f"nnU-Net fixture {case.name}: {case.about}",
        "description": "Synthetic, for tests only, no medical use.",
        "version": "1.0.0",
        "modalities": [],
        "channels": [{"name": name, "normalization": rule} for name, rule in zip(names, normalizations)],
        "labels": labels.entries,
        "volumeSegmentation": recipe,
    }
    write_package(folder, manifest, write_networks(case, folder, ""))


def write_volumes(case: Case, folder: Path) -> None:
    """One file for each channel, voxels (x, y, z), in ITK's frame without rotation."""
    affine = np.diag([-case.spacing[2], -case.spacing[1], case.spacing[0], 1.0])
    folder.mkdir(parents=True, exist_ok=True)
    for channel, image in enumerate(case.image()):
        nifti = nib.Nifti1Image(np.ascontiguousarray(image.transpose(2, 1, 0)), affine)
        nifti.set_qform(affine, 1)
        nifti.set_sform(affine, 1)
        nib.save(nifti, folder / f"{case.name}_{channel:04}.nii")


def expectation(case: Case) -> dict[str, Any]:
    found = predict(case)
    flat = found.labels.ravel().astype(np.int64)
    check = int((flat * np.arange(1, flat.size + 1)).sum() % 1000003)
    entry = {
        "name": case.name,
        "about": case.about,
        "channels": case.channels,
        "shape": list(case.shape),
        "preprocessedShape": list(found.preprocessed.shape[1:]),
        "preprocessedStart": [round(float(value), 7) for value in found.preprocessed[0, 0, 0, :5]],
        "labelCounts": np.bincount(flat, minlength=3).tolist(),
        "check": check,
        "firstRow": "".join(map(str, found.labels[0, 0])),
        "labels": "".join(map(str, flat)),
    }
    if case.name in KNOWN:
        seen = tuple(entry[key] for key in ("preprocessedShape", "labelCounts", "check", "firstRow"))
        assert seen == KNOWN[case.name], f"{case.name}: {seen}, worked out as {KNOWN[case.name]}"
    return entry


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    entries = []
    for case in CASES:
        write_model(case, FOLDER / "models" / case.name)
        write_volumes(case, FOLDER / "volumes")
        entries.append(expectation(case))
        summary = {key: value for key, value in entries[-1].items() if key != "labels"}
        print(json.dumps(summary))
    text = ",\n".join("    " + json.dumps(entry) for entry in entries)
    (FOLDER / "expected.json").write_text('{\n  "cases": [\n' + text + "\n  ]\n}\n")


if __name__ == "__main__":
    main()
