"""Checks that the exporter accepts what nnU-Net accepts and refuses the rest by name. Needs PyTorch, so CI leaves it out.

    python Tools/export/test_export_nnunet.py

Makes one tiny trained folder for volumes and one for photos, changes one fact at a time, and expects exit code 2, the fact in the message and no file
left behind; or, for the accepted changes, the expected content of `model.json`. Archives, TIFFs and trainers with pretrained
weights are in test_export_nnunet_sources.py.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import export_nnunet

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.nnunet.make_folder import FolderSpec, make_folder
from nocturne_tools.nnunet.photos import PhotoSize
from nocturne_tools.nnunet.shapes import Grid

NAME = "nnUNetTrainer__nnUNetPlans__3d_fullres"
PHOTO_NAME = "nnUNetTrainer__nnUNetPlans__2d"
Change = Callable[[Path], object]


def edit(file: str, *keys: str, value: Any = ...) -> Change:
    """Sets (or without a value removes) one key of a JSON file."""

    def change(folder: Path) -> None:
        path = folder / file
        content = json.loads(path.read_text())
        place = content
        for key in keys[:-1]:
            place = place[key]
        if value is ...:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
        path.write_text(json.dumps(content))

    return change


def plan(*keys: str, value: Any = ...) -> Change:
    return edit("plans.json", "configurations", "3d_fullres", *keys, value=value)


def photo_plan(*keys: str, value: Any = ...) -> Change:
    return edit("plans.json", "configurations", "2d", *keys, value=value)


def checkpoint(change: Callable[[dict[str, Any]], object]) -> Change:
    def run(folder: Path) -> None:
        path = folder / "fold_0" / "checkpoint_final.pth"
        content = torch.load(path, weights_only=False)
        change(content)
        torch.save(content, path)

    return run


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def write(file: str, content: str | bytes) -> Change:
    def run(folder: Path) -> None:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())

    return run


class Hostile:
    """A pickle that would run code."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("it ran",))


def old_plans(folder: Path) -> None:
    """The keys of older plans, which have no `architecture`."""
    path = folder / "plans.json"
    plans = json.loads(path.read_text())
    configuration = plans["configurations"]["3d_fullres"]
    arguments = configuration.pop("architecture")["arch_kwargs"]
    configuration |= {"UNet_class_name": "PlainConvUNet", "UNet_base_num_features": 4, "unet_max_num_features": 320}
    configuration |= {"conv_kernel_sizes": arguments["kernel_sizes"], "pool_op_kernel_sizes": arguments["strides"]}
    configuration |= {
        "n_conv_per_stage_encoder": [2, 2],
        "n_conv_per_stage_decoder": [2],
        "num_pool_per_axis": [1, 1, 1],
    }
    path.write_text(json.dumps(plans))


def steps(*given: Any) -> str:
    name = "remove_all_but_largest_component_from_segmentation"
    arguments = [{"labels_or_regions": one} for one in given]
    return json.dumps({"postprocessing_fns": [name] * len(given), "postprocessing_kwargs": arguments})


ARCHITECTURE = ("architecture", "arch_kwargs")
REFUSED: list[tuple[Change, list[str], str]] = [
    (lambda folder: (folder / "plans.json").unlink(), [], "plans.json: no such file"),
    (write("dataset.json", "{"), [], "dataset.json: cannot be read as JSON"),
    (plan("architecture", "network_class_name", value="a.b.SwinUNETR"), [], "unknown network class a.b.SwinUNETR"),
    (plan("architecture", "network_class_name", value="evilmod.PlainConvUNet"), [], "class evilmod.PlainConvUNet"),
    (plan(*ARCHITECTURE, "nonlin", value="os.system"), [], "unknown nonlin os.system"),
    (plan(*ARCHITECTURE, "norm_op", value="torch.nn.GroupNorm"), [], "unknown norm_op torch.nn.GroupNorm"),
    (plan(*ARCHITECTURE, "features_per_stage", value=[4, 9]), [], "has shape"),
    (plan(*ARCHITECTURE, "n_conv_per_stage", value=[2, 3]), [], "weights missing: encoder"),
    (plan("architecture"), [], "'UNet_class_name' is missing"),
    (plan("normalization_schemes", value=["MyNorm"]), [], "unknown normalisation 'MyNorm'"),
    (plan("normalization_schemes", value=[]), [], "0 normalization_schemes"),
    (plan("preprocessor_name", value="MyPreprocessor"), [], "unknown preprocessor 'MyPreprocessor'"),
    (plan("resampling_fn_data", value="my_resampler"), [], "unknown resampling_fn_data 'my_resampler'"),
    (plan("resampling_fn_data_kwargs", "order", value=2), [], "order is 2"),
    (plan("resampling_fn_data_kwargs", "odd", value=2), [], "unknown argument odd"),
    (plan("inherits_from", value="3d_fullres"), [], "in a circle: 3d_fullres -> 3d_fullres"),
    (plan("inherits_from", value="nowhere"), [], "there is no configuration 'nowhere'"),
    (plan("previous_stage", value="3d_lowres"), [], "--previous-stage"),
    (plan("spacing", value=[1.0, 0.0, 1.0]), [], "expected numbers above 0"),
    (edit("plans.json", "image_reader_writer", value="MyIO"), [], "image_reader_writer 'MyIO'"),
    (edit("plans.json", "image_reader_writer", value="NaturalImage2DIO"), [], "NaturalImage2DIO needs a 2d configuration"),
    (edit("plans.json", "label_manager", value="MyLabels"), [], "unknown label manager 'MyLabels'"),
    (edit("plans.json", "transpose_forward", value=[0, 0, 1]), [], "transpose_forward"),
    (edit("dataset.json", "labels", "core", value=[1, 3]), [], "regions_class_order must have"),
    (edit("dataset.json", "labels", "background"), [], "labels.background must be 0"),
    (edit("dataset.json", "labels", "ignore", value=2), [], "labels.ignore is 2"),
    (
        both(
            edit("dataset.json", "labels", "core", value=[1, 3]),
            edit("dataset.json", "regions_class_order", value=[1, 2, 70000]),
        ),
        [],
        "the label value 70000",
    ),
    (lambda folder: shutil.rmtree(folder / "fold_0"), [], "no fold_*/checkpoint_final.pth"),
    (lambda folder: None, ["--folds", "0", "3"], "fold 3 is missing; found: 0"),
    (lambda folder: None, ["--checkpoint", "checkpoint_best.pth"], "no fold_*/checkpoint_best.pth"),
    (write("fold_0/checkpoint_final.pth", b"\0" * 100), [], "checkpoint_final.pth: is not a"),
    (write("fold_0/checkpoint_final.pth", b""), [], "checkpoint_final.pth: is not a"),
    (checkpoint(lambda content: content.pop("network_weights")), [], "network_weights is missing"),
    (checkpoint(lambda content: content.update(network_weights={"a": 3})), [], "entries that are not tensors"),
    (checkpoint(lambda content: content["network_weights"].popitem()), [], "weights missing"),
    (checkpoint(lambda content: content.update(init_args={})), [], "init_args.configuration is missing"),
    (checkpoint(lambda content: content.update(more=Hostile())), [], "--trust-checkpoint"),
    (checkpoint(lambda content: content.update(inference_allowed_mirroring_axes=(0, 3))), [], "is [0, 3]"),
    (checkpoint(lambda content: content.update(trainer_name="nnUNet_Primus_XXL_Trainer")), [], "installed nnU-Net for Primus"),
    (checkpoint(lambda content: content.update(trainer_name="nnUNet_Primus_S_Trainer")), [], "weights missing"),
    (
        both(
            checkpoint(lambda content: content.update(trainer_name="nnUNet_Primus_S_Trainer")),
            plan("patch_size", value=[16, 12, 16]),
        ),
        [],
        "multiples of 8",
    ),
    (write("postprocessing.pkl", pickle.dumps(([Hostile()], [{}]))), [], "it names builtins.print"),
    (write("postprocessing.json", '{"postprocessing_fns": ["f"], "postprocessing_kwargs": [{}]}'), [], "function 'f'"),
]
CHANNELS = {"0": "red", "1": "green", "2": "blue", "3": "alpha"}
REFUSED_PHOTOS: list[tuple[Change, list[str], str]] = [
    (photo_plan("spacing", value=[1.0, 2.0]), [], "spacing is [1.0, 2.0]; of NaturalImage2DIO only [1, 1]"),
    (photo_plan("previous_stage", value="lowres"), [], "cascades of photos are not supported"),
    (edit("plans.json", "transpose_forward", value=[2, 0, 1]), [], "its first number must be 0"),
    (photo_plan("normalization_schemes", value=["MyNorm"] * 3), [], "unknown normalisation 'MyNorm'"),
    (
        both(
            edit("dataset.json", "channel_names", value=CHANNELS),
            photo_plan("normalization_schemes", value=["RGBTo01Normalization"] * 4),
            photo_plan("use_mask_for_norm", value=[False] * 4),
        ),
        [],
        "channel_names has 4 channels",
    ),
]
SETTINGS = "volumeSegmentation"
PHOTO_SETTINGS = "photoSegmentation"
ACCEPTED: list[tuple[Change, list[str], str, Callable[[dict[str, Any]], Any], Any]] = [
    (old_plans, [], "plans without architecture", lambda full: len(full["files"]), 2),
    (
        plan("resampling_fn_data_kwargs", value={}),
        [],
        "defaults of the function",
        lambda full: full[SETTINGS]["resampling"]["image"],
        {"separateZ": "never", "anisotropyThreshold": 3, "method": "spline", "order": 3, "orderZ": 0},
    ),
    (
        both(plan("resampling_fn_data", value="resample_torch_fornnunet"), plan("resampling_fn_data_kwargs", value={})),
        [],
        "torch resampler's defaults",
        lambda full: full[SETTINGS]["resampling"]["image"]["separateZ"],
        "auto",
    ),
    (
        checkpoint(lambda content: content.update(inference_allowed_mirroring_axes=None)),
        [],
        "no mirroring",
        lambda full: full[SETTINGS]["mirroringAxes"],
        [],
    ),
    *(
        (
            edit("plans.json", "image_reader_writer", value=reader),
            [],
            f"reader {reader}",
            lambda full: full[SETTINGS]["orientation"],
            orientation,
        )
        for reader, orientation in [("NibabelIOWithReorient", "RAS"), ("SimpleITKIOWithReorient", "RAS-ITK")]
    ),
    (
        write("crossval_results_folds_0/postprocessing.json", steps([1, 2, 3], 2)),
        [],
        "postprocessing of these folds",
        lambda full: full[SETTINGS]["postprocessing"]["keepLargest"],
        [["one", "two", "core"], "two"],
    ),
    (
        write("crossval_results_folds_0_1/postprocessing.json", steps(1)),
        [],
        "postprocessing of other folds",
        lambda full: full[SETTINGS]["postprocessing"]["keepLargest"],
        [],
    ),
    (
        edit("dataset.json", "labels", value={"background": 0, "Lung left": 1, "lung/left": 4, "a" * 200: 7}),
        [],
        "names and values of labels",
        lambda full: [(label["value"], label["name"]) for label in full["labels"]],
        [(1, "Lung_left"), (2, "lung_left_2"), (3, "a" * 90)],
    ),
    (
        edit("dataset.json", "labels", value={"background": 0, "肝脏": 1, "Leber ä中": 4, "two": 7}),
        [],
        "names of labels in other scripts",
        lambda full: [(label["name"], label.get("title")) for label in full["labels"]],
        [("label_1", "肝脏"), ("Leber", "Leber ä中"), ("two", None)],
    ),
    (
        lambda folder: (folder / "fold_0").rename(folder / "fold_all"),
        [],
        "fold_all",
        lambda full: full[SETTINGS]["networks"],
        ["fold_all.onnx"],
    ),
    (
        checkpoint(lambda content: content.update(more=Hostile())),
        ["--trust-checkpoint"],
        "a trusted checkpoint",
        lambda full: [file["path"] for file in full["files"]],
        ["fold_0.onnx", "fold_0.check.json"],
    ),
]


ACCEPTED_PHOTOS: list[tuple[Change, list[str], str, Callable[[dict[str, Any]], Any], Any]] = [
    (lambda folder: None, [], "task of a model for photos", lambda full: full["task"], "photo-segmentation"),
    (
        lambda folder: None,
        [],
        "settings without what is about volumes",
        lambda full: sorted(full[PHOTO_SETTINGS]),
        ["cropToNonzero", "mirroringAxes", "networks", "output", "patchSize", "postprocessing", "tileStep", "transpose"],
    ),
    (
        lambda folder: None,
        [],
        "channels of a photo",
        lambda full: [(channel["name"], channel["normalization"]["scheme"]) for channel in full["channels"]],
        [("RED", "rgb01"), ("GREEN", "rgb01"), ("BLUE", "rgb01")],
    ),
    (
        write("crossval_results_folds_0/postprocessing.json", steps(2)),
        [],
        "postprocessing of photos",
        lambda full: full[PHOTO_SETTINGS]["postprocessing"],
        {"keepLargest": ["two"], "fillHoles": []},
    ),
]


def main() -> int:
    torch.set_num_threads(2)
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made" / NAME
        grid = Grid((16, 16, 16), (2.0, 2.0, 2.0))
        make_folder(
            made, FolderSpec("3d_fullres", [2.0] * 3, [16] * 3, grid, features=[4, 8], folds=1, steps=2, size=30)
        )

        photos = Path(scratch) / "made" / PHOTO_NAME
        colors, schemes = ["red", "green", "blue"], ["RGBTo01Normalization"] * 3
        spec = FolderSpec("2d", [1.0] * 2, [16] * 2, PhotoSize(40, 32), features=[4, 8], folds=1, steps=2)
        spec.contrasts, spec.schemes, spec.masks, spec.mirroring = colors, schemes, [False] * 3, (0, 1)
        spec.reader = "NaturalImage2DIO"
        make_folder(photos, spec)

        def export(folder: Path, change: Change, arguments: list[str]) -> tuple[int, str, Path, list[str]]:
            place = Path(tempfile.mkdtemp(dir=scratch))
            shutil.copytree(folder, place / folder.name)
            change(place / folder.name)
            out = place / "out"
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                code = export_nnunet.main([str(place / folder.name), str(out), "--threads", "2", *arguments])
            return code, output.getvalue(), out, [path.name for path in place.iterdir() if path.name != folder.name]

        refused = [(made, *one) for one in REFUSED] + [(photos, *one) for one in REFUSED_PHOTOS]
        accepted = [(made, *one) for one in ACCEPTED] + [(photos, *one) for one in ACCEPTED_PHOTOS]
        for folder, change, arguments, fact in refused:
            code, output, _, left = export(folder, change, arguments)
            if code != 2 or fact not in output or left or "it ran\n" in output:
                failures += 1
                print(f"FAILED to refuse with {fact!r}: exit {code}, left {left}\n{output[-2000:]}")
        for folder, change, arguments, title, found, expected in accepted:
            code, output, out, left = export(folder, change, arguments)
            full = json.loads((out / "model.json").read_text()) if code == 0 else None
            if full is None or found(full) != expected or left != ["out"]:
                failures += 1
                print(f"FAILED {title}: {full and found(full)}, expected {expected}\n{output[-2000:]}")
    print(f"{len(refused)} refusals and {len(accepted)} accepted changes, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
