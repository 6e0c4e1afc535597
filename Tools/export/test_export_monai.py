"""Checks that the exporter of MONAI bundles repeats settings exactly and refuses what it does not know by name.

    python Tools/export/test_export_monai.py

Makes one tiny bundle, changes one fact at a time, and expects exit code 2, the fact in the message and no file left
behind; or, for the accepted ones, the settings in model.json. Needs monai==1.6.1.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import export_monai

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.monai import made_bundles
from nocturne_tools.monai.postprocessing import merged_regions

Document = dict[str, Any]
Change = Callable[[Document], object]
INVERT = {"_target_": "Invertd", "keys": "pred", "transform": "@preprocessing", "orig_keys": "image"}


def before(index: int, **arguments: Any) -> Change:
    return lambda config: config["preprocessing"]["transforms"][index].update(arguments)


def after(index: int, **arguments: Any) -> Change:
    return lambda config: config["postprocessing"]["transforms"][index].update(arguments)


def inferer(**arguments: Any) -> Change:
    return lambda config: config["inferer"].update(arguments)


def network(**arguments: Any) -> Change:
    return lambda config: config["network_def"].update(arguments)


def inserted(part: str, index: int, **transform: Any) -> Change:
    return lambda config: config[part]["transforms"].insert(index, transform)


def removed(part: str, index: int) -> Change:
    return lambda config: config[part]["transforms"].pop(index)


def resampled(order: int, values: str) -> Document:
    """The key `resampling` of a package whose logits or probabilities return with an order."""
    logits = {"method": "monai", "order": order, "values": values}
    return {"image": {"method": "monai", "order": 1}, "logits": logits}


# Of the bundle "unet": load, channel first, orientation, spacing, range, type; softmax, inverse, argmax.
REFUSED: list[tuple[str, Change, str]] = [
    ("a class of the bundle's scripts", network(_target_="scripts.net.Own"), "scripts.net.Own, which is code"),
    ("an unknown network", network(_target_="Unknown"), "Unknown: is no network that is known"),
    (
        "a network that reads files",
        network(_target_="Transchex", pretrained_url="http://127.0.0.1:9/a"),
        "is no network that is known",
    ),
    ("weights from elsewhere", network(pretrained_url="http://127.0.0.1:9/a"), "pretrained_url would fetch"),
    ("code in the network", network(channels="$[8 * n for n in range(3)]"), "channels is code ($[8 * n"),
    ("weights of another network", network(channels=[4, 8, 16]), "does not fit the network"),
    ("two dimensions", network(spatial_dims=2), "spatial_dims 2 is not known"),
    ("a reference to nothing", inferer(roi_size="@nowhere"), "the reference @nowhere leads to nothing"),
    ("a reference to another file", inferer(roi_size="%other.json::a"), "%other.json::a is not known"),
    ("a circle", lambda config: config.update(a="@b", b="@a", spacing="@a"), "in a circle"),
    ("preprocessing as code", lambda config: config.update(preprocessing="$f()"), "preprocessing is code ($f())"),
    ("a reader of its own", before(0, reader="$Own()"), "reader is code"),
    ("another orientation", before(2, axcodes="PIL"), "Orientationd: axcodes 'PIL' are not known"),
    ("two orientations", inserted("preprocessing", 4, _target_="Orientationd", axcodes="RAS"), "is there twice"),
    ("cubic resampling", before(3, mode=3), "Spacingd: mode 3 is not known"),
    ("corners aligned", before(3, align_corners=True), "align_corners True is not known"),
    ("a spacing of the image", before(3, pixdim=[1.0, 1.0, -1.0]), "keeps a spacing"),
    ("single precision", before(3, dtype="$torch.float32"), "dtype 'float32' is not known"),
    ("normalisations around", inserted("preprocessing", 3, _target_="NormalizeIntensityd"), "Spacingd between them"),
    ("a range that falls", before(4, b_min=1.0, b_max=0.0), "two ascending pairs"),
    ("a size", inserted("preprocessing", 3, _target_="Resized", spatial_size=[8, 8, 8]), "Resized: is not among"),
    ("a padded margin", inserted("preprocessing", 3, _target_="CropForegroundd", margin=2), "allow_smaller"),
    (
        "cropping by code",
        inserted("preprocessing", 3, _target_="CropForegroundd", select_fn="$lambda x: x % 2 > 0"),
        "CropForegroundd: select_fn",
    ),
    ("cropping after spacing", inserted("preprocessing", 4, _target_="CropForegroundd"), "put it before them"),
    ("another inferer", inferer(_target_="SimpleInferer"), "SimpleInferer: is not known; only SlidingWindowInferer"),
    ("a whole axis", inferer(roi_size=[8, 8, -1]), "roi_size [8, 8, -1] is not known"),
    ("different overlaps", inferer(overlap=[0.5, 0.5, 0.25]), "overlap must be one number"),
    ("another width", inferer(sigma_scale=0.25), "sigma_scale 0.25 is not known"),
    ("reflection", inferer(padding_mode="reflect"), "padding_mode 'reflect' is not known"),
    ("no decision", removed("postprocessing", 2), "no AsDiscreted"),
    ("no inverse", removed("postprocessing", 1), "add Invertd"),
    ("another inverse", after(1, transform={"_target_": "Compose"}), "transform must be @preprocessing"),
    ("interpolated labels", inserted("postprocessing", 3, **INVERT, nearest_interp=False), "is there twice"),
    ("a threshold of softmax", after(2, argmax=False, threshold=0.5), "threshold without Activationsd sigmoid"),
    ("no threshold", after(2, argmax=False, threshold=1.5), "threshold 1.5 is not known"),
    ("code after the network", inserted("postprocessing", 3, _target_="Lambdad", func="$lambda x: x + 1"), "is code"),
    ("filled holes", inserted("postprocessing", 3, _target_="FillHolesd"), "FillHolesd: is not among"),
    ("a class of scripts", inserted("postprocessing", 3, _target_="scripts.Own"), "scripts.Own, which is code"),
]
# The change, and key and value in the section of model.json.
ACCEPTED: list[tuple[str, Change, str, Any]] = [
    ("as it is", lambda _: None, "resampling", resampled(1, "probabilities")),
    ("the inverse of logits", removed("postprocessing", 0), "resampling", resampled(1, "logits")),
    ("the inverse of labels", after(1, nearest_interp=True), "resampling", resampled(0, "logits")),
    (
        "no spacing",
        removed("preprocessing", 3),
        "resampling",
        {"image": {"method": "none"}, "logits": {"method": "none"}},
    ),
    (
        "a disabled transform",
        inserted("preprocessing", 3, _target_="Resized", _disabled_=True),
        "spacing",
        [1.7, 1.6, 2.1],
    ),
    (
        "a transform of another key",
        inserted("preprocessing", 3, _target_="Resized", keys="label"),
        "spacing",
        [1.7, 1.6, 2.1],
    ),
    ("a reference in an expression", before(3, pixdim="$@spacing"), "spacing", [1.7, 1.6, 2.1]),
    ("a reference into a list", before(3, pixdim="@spacing::1"), "spacing", [1.6, 1.6, 1.6]),
    (
        "lists for several keys",
        before(3, keys=["image", "label"], mode=["bilinear", "nearest"]),
        "spacing",
        [1.7, 1.6, 2.1],
    ),
    (
        "tiles",
        inferer(overlap=0.7, padding_mode="replicate", mode="constant"),
        "tiling",
        {"positions": "interval", "weights": "constant", "padding": "edge"},
    ),
    ("the interval", inferer(overlap=0.7), "tileStep", 1 - 0.7),
    ("normalisation after spacing", lambda _: None, "normalizeAfterResampling", True),
    (
        "normalisations in a row",
        inserted("preprocessing", 5, _target_="NormalizeIntensityd"),
        "normalizeAfterResampling",
        True,
    ),
    ("another orientation", before(2, axcodes="LPS"), "orientation", "LPS"),
    (
        "orientation after spacing",
        lambda config: config["preprocessing"]["transforms"].insert(3, config["preprocessing"]["transforms"].pop(2)),
        "orientAfterSpacing",
        True,
    ),
    ("cropping to positive", inserted("preprocessing", 3, _target_="CropForegroundd"), "cropAbove", 0.0),
    (
        "a margin",
        inserted(
            "preprocessing",
            3,
            _target_="CropForegroundd",
            select_fn="$lambda x: x != 0",
            margin=3,
            allow_smaller=True,
        ),
        "marginVoxels",
        3,
    ),
    (
        "the largest components",
        inserted(
            "postprocessing",
            3,
            _target_="KeepLargestConnectedComponentd",
            keys="pred",
            applied_labels=[1, 2],
            independent=False,
            connectivity=1,
        ),
        "postprocessing",
        {"keepLargest": [["organ", "vessel"]], "connectivity": 6},
    ),
]


def run(bundle: Path, out: Path) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = export_monai.main([str(bundle), str(out), "--threads", "1"])
    return code, said.getvalue()


class Check:
    def __init__(self, work: Path) -> None:
        self.work, self.faults = work, 0
        self.bundle = work / "bundle"
        torch.manual_seed(3)
        made_bundles.write(made_bundles.CASES["unet"], self.bundle, 0)
        self.file = self.bundle / "configs" / "inference.json"
        self.config = json.loads(self.file.read_text())

    def _export(self, change: Change) -> tuple[int, str]:
        config = copy.deepcopy(self.config)
        change(config)
        self.file.write_text(json.dumps(config))
        return run(self.bundle, self.work / "package")

    def _fault(self, name: str, text: str) -> None:
        self.faults += 1
        print(f"FAULT {name}: {text}")

    def refused(self, name: str, change: Change, expected: str) -> None:
        code, said = self._export(change)
        left = [path.name for path in self.work.iterdir() if path.name != "bundle"]
        if code != 2 or expected not in said or left:
            self._fault(name, f"exit {code}, left {left}, said: {said.strip()}")

    def accepted(self, name: str, change: Change, key: str, expected: Any) -> None:
        code, said = self._export(change)
        out = self.work / "package"
        if code != 0:
            return self._fault(name, f"exit {code}: {said.strip()}")
        document = json.loads((out / "model.json").read_text())
        found = document["volumeSegmentation"].get(key)
        if found != expected:
            self._fault(name, f"{key} is {found}, expected {expected}")
        for file in out.iterdir():
            file.unlink()
        out.rmdir()


def check_regions() -> int:
    """The lambda of the model zoo's BraTS bundle is known; another one is not."""
    code = made_bundles.BRATS.removeprefix("$")
    expected = [(1, 2), (0, 1), (2, 4)]
    wrong = [code.replace("4", "f(4)"), code.replace("x[[1]]", "x[[0]]"), code + " + 1", "x", code.replace("x:", "y:")]
    faults = [text for text in wrong if merged_regions(text) is not None]
    if merged_regions(code) != expected or faults:
        print(f"FAULT merged regions: {merged_regions(code)}, {faults}")
        return 1
    return 0


def main() -> int:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        check = Check(Path(work))
        for refused in REFUSED:
            check.refused(*refused)
        for accepted in ACCEPTED:
            check.accepted(*accepted)
        faults = check.faults + check_regions()
    print(f"{len(REFUSED)} refused, {len(ACCEPTED)} accepted, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
