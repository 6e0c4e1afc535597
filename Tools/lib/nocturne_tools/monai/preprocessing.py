"""What a bundle does before its network, as settings of a package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .config import Bundle, Code, Component, components

# Without effect on the voxels that the network sees, or done by Nocturne in any case.
HARMLESS = ("EnsureChannelFirst", "EnsureType", "ToDevice", "ToTensor", "Identity", "SelectItems", "DeleteItems")
NONZERO = re.compile(r"lambda\s+(\w+)\s*:\s*\1\s*!=\s*0(\.0*)?")
ABOVE = re.compile(r"lambda\s+(\w+)\s*:\s*\1\s*>\s*(-?\d+(?:\.\d*)?)")
ADVICE = "run this bundle with MONAI, or take the transform out if the network does not need it"


def short(name: str) -> str:
    """The name of a transform without the suffix of its dictionary form."""
    return re.sub(r"(Dict|D|d)$", "", name)


@dataclass
class Preprocessing:
    """Settings of a level, in the order of MONAI's axes (x, y, z)."""

    channels: int
    orientation: str = "stored"
    orients_after: bool = False
    spacing: list[float] | None = None
    order: int = 1
    # The keys of a level about cropping.
    crop: dict[str, Any] = field(default_factory=dict)
    normalizations: list[dict[str, Any]] = field(default_factory=list)
    normalizes_after: bool = False

    @property
    def resamples(self) -> bool:
        return self.spacing is not None

    def scheme(self) -> dict[str, Any] | list[dict[str, Any]]:
        if len(self.normalizations) > 1:
            return self.normalizations
        return self.normalizations[0] if self.normalizations else {"scheme": "none"}


def read(bundle: Bundle, value: Any, key: str, channels: int) -> Preprocessing:
    """Interprets the transforms in order; what a package cannot repeat is refused by name."""
    result = Preprocessing(channels)
    readers = {
        "LoadImage": _load,
        "Orientation": _orientation,
        "CropForeground": _crop,
        "Spacing": _spacing,
        "ScaleIntensityRange": _range,
        "ScaleIntensity": _scale,
        "NormalizeIntensity": _normalize,
    }
    for one in components(bundle, value, key, "preprocessing"):
        name = short(one.name)
        if name in HARMLESS:
            continue
        if name not in readers:
            raise one.refusal(f"is not among the transforms that a package can repeat; {ADVICE}")
        readers[name](one, result)
    return result


def _load(one: Component, _: Preprocessing) -> None:
    reader = one.get("reader")
    if reader is not None and str(reader).split(".")[-1] not in (
        "NibabelReader",
        "ITKReader",
        "nibabelreader",
        "itkreader",
    ):
        raise one.refusal(f"reader {reader!r} is not known; known: NibabelReader, ITKReader")


def _orientation(one: Component, result: Preprocessing) -> None:
    one.only("axcodes", "as_closest_canonical", "labels", "meta_keys", "meta_key_postfix")
    if result.orientation != "stored":
        raise one.refusal("is there twice")
    codes = "RAS" if one.get("as_closest_canonical", False) is True else one.get("axcodes")
    if codes not in ("RAS", "LPS"):
        raise one.refusal(f"axcodes {codes!r} are not known; RAS and LPS are")
    result.orientation = codes
    result.orients_after = result.resamples


def _crop(one: Component, result: Preprocessing) -> None:
    one.only(
        "source_key",
        "select_fn",
        "channel_indices",
        "margin",
        "allow_smaller",
        "k_divisible",
        "mode",
        "start_coord_key",
        "end_coord_key",
    )
    if result.resamples or result.normalizations:
        raise one.refusal("comes after Spacingd or after the normalisation; put it before them, or take it out")
    select = one.arguments.get("select_fn")
    text = select.text.strip() if isinstance(select, Code) else "lambda x: x > 0" if select is None else ""
    above = ABOVE.fullmatch(text)
    if above is None and not NONZERO.fullmatch(text):
        raise one.refusal("select_fn must be $lambda x: x != 0 or $lambda x: x > N, with a number N")
    for name, expected in (("k_divisible", 1), ("channel_indices", None)):
        one.expect(name, (expected,))
    if one.get("source_key", one.key) != one.key:
        raise one.refusal(f"source_key {one.get('source_key')!r} is not {one.key}")
    margin = one.get("margin", 0)
    if not isinstance(margin, int) or margin < 0:
        raise one.refusal(f"margin {margin!r} is not known; expected one whole number")
    if margin > 0 and one.get("allow_smaller", False) is not True:
        raise one.refusal("margin beyond the image is padded; only allow_smaller true is known")
    result.crop = {"cropAbove": float(above[2])} if above else {"cropToNonzero": True}
    if margin > 0:
        result.crop["marginVoxels"] = margin


def _spacing(one: Component, result: Preprocessing) -> None:
    one.only(
        "pixdim",
        "diagonal",
        "mode",
        "padding_mode",
        "align_corners",
        "dtype",
        "scale_extent",
        "recompute_affine",
        "min_pixdim",
        "max_pixdim",
        "ensure_same_shape",
        "meta_keys",
        "meta_key_postfix",
    )
    if result.resamples:
        raise one.refusal("is there twice")
    pixdim = one.get("pixdim")
    pixdim = [float(pixdim)] * 3 if isinstance(pixdim, (int, float)) else pixdim
    if (
        not isinstance(pixdim, (list, tuple))
        or len(pixdim) != 3
        or not all(isinstance(n, (int, float)) for n in pixdim)
    ):
        raise one.refusal(f"pixdim {pixdim!r} is not known; expected three numbers")
    if not all(n > 0 for n in pixdim):
        raise one.refusal(f"pixdim {pixdim!r} keeps a spacing of the image; only three numbers above 0 are known")
    mode = one.expect("mode", ("bilinear", "nearest"))
    one.expect("padding_mode", ("border",))
    for name in ("diagonal", "align_corners", "scale_extent", "recompute_affine"):
        one.expect(name, (False, None))
    for name in ("min_pixdim", "max_pixdim"):
        one.expect(name, (None,))
    one.expect("dtype", ("float64", "np.float64"), "; Nocturne computes in float64")
    result.spacing = [float(n) for n in pixdim]
    result.order = 0 if mode == "nearest" else 1


def _set(one: Component, result: Preprocessing, scheme: dict[str, Any]) -> None:
    if result.normalizations and result.normalizes_after != result.resamples:
        raise one.refusal("and an earlier normalisation have Spacingd between them; put both before or after it")
    result.normalizations.append(scheme)
    result.normalizes_after = result.resamples


def _range(one: Component, result: Preprocessing) -> None:
    one.only("a_min", "a_max", "b_min", "b_max", "clip", "dtype")
    low, high = one.get("a_min"), one.get("a_max")
    bottom, top, clips = one.get("b_min"), one.get("b_max"), one.get("clip", False)
    if bottom is None and top is None:
        bottom, top, clips = 0, 1, False
    numbers = (low, high, bottom, top)
    if not all(isinstance(n, (int, float)) for n in numbers) or low >= high or bottom >= top:
        raise one.refusal(f"a_min, a_max, b_min and b_max are {numbers}; expected two ascending pairs")
    divisor = (high - low) / (top - bottom)
    line = {"mean": low - bottom * divisor, "standardDeviation": divisor}
    bounds = {"scheme": "ct", "lowerBound": low, "upperBound": high} if clips else {"scheme": "linear"}
    _set(one, result, bounds | line)


def _scale(one: Component, result: Preprocessing) -> None:
    one.only("minv", "maxv", "factor", "channel_wise", "dtype")
    _check_channels(one, result)
    one.expect("factor", (None,))
    low, high = one.get("minv", 0.0), one.get("maxv", 1.0)
    if not all(isinstance(n, (int, float)) for n in (low, high)) or low >= high:
        raise one.refusal(f"minv and maxv are {low} and {high}; expected two ascending numbers")
    plain = (low, high) == (0, 1)
    _set(
        one, result, {"scheme": "rescale01"} if plain else {"scheme": "rescale", "lowerBound": low, "upperBound": high}
    )


def _normalize(one: Component, result: Preprocessing) -> None:
    one.only("subtrahend", "divisor", "nonzero", "channel_wise", "dtype")
    subtrahend, divisor = one.get("subtrahend"), one.get("divisor")
    if subtrahend is not None or divisor is not None:
        if not all(isinstance(n, (int, float)) for n in (subtrahend, divisor)) or divisor <= 0 or one.get("nonzero"):
            raise one.refusal("subtrahend and divisor are known as one number each, for all voxels")
        return _set(one, result, {"scheme": "linear", "mean": subtrahend, "standardDeviation": divisor})
    _check_channels(one, result)
    _set(one, result, {"scheme": "zScore"} | ({"nonzero": True} if one.get("nonzero", False) else {}))


def _check_channels(one: Component, result: Preprocessing) -> None:
    if result.channels > 1 and not one.get("channel_wise", False):
        raise one.refusal("takes the statistics of all channels together; only channel_wise true is known")
