"""The rules of a configuration of `plans.json`, in the terms of `model.json`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from .refusal import Refusal, listed

ORIENTATIONS = {
    "SimpleITKIO": "stored",
    "NibabelIO": "stored",
    "NibabelIOWithReorient": "RAS",
    "SimpleITKIOWithReorient": "RAS-ITK",
    "Tiff3DIO": "stored",
}
PHOTOS = "NaturalImage2DIO"
TIFF = "Tiff3DIO"
SCHEMES = {
    "CTNormalization": "ct",
    "ZScoreNormalization": "zScore",
    "RescaleTo01Normalization": "rescale01",
    "RGBTo01Normalization": "rgb01",
    "NoNormalization": "none",
}
SEPARATE = {None: "auto", True: "always", False: "never"}
# Defaults of the functions, for arguments that are missing in the plans.
SPLINE_DEFAULTS = {"is_seg": False, "order": 3, "order_z": 0, "force_separate_z": False}
TORCH_DEFAULTS = {"is_seg": False, "force_separate_z": None, "mode": "linear", "aniso_axis_mode": "nearest-exact"}
TORCH_IGNORED = {"num_threads", "device", "memefficient_seg_resampling"}  # these change the speed, or have a rule of their own for labels


class Configuration:
    """One configuration with its inherited values, checked key by key."""

    def __init__(self, file: Path, plans: dict[str, Any], name: str) -> None:
        self.file, self.plans, self.name = file, plans, name
        self.values = resolve(file, plans, name)
        preprocessor = self.need("preprocessor_name")
        if preprocessor != "DefaultPreprocessor":
            raise self.refusal(f"unknown preprocessor {preprocessor!r}; known: DefaultPreprocessor")
        manager = plans.get("label_manager", "LabelManager")
        if manager != "LabelManager":
            raise Refusal(file, f"unknown label manager {manager!r}; known: LabelManager")
        reader = plans.get("image_reader_writer")
        self.takes_photos = reader == PHOTOS
        if reader not in ORIENTATIONS and not self.takes_photos:
            raise Refusal(file, f"unknown image_reader_writer {reader!r}; known: {listed([*ORIENTATIONS, PHOTOS])}")
        self.orientation = ORIENTATIONS.get(reader)
        self.takes_tiff = reader == TIFF
        self.patch = self._numbers("patch_size", int)
        self.spacing = self._numbers("spacing", float)
        if len(self.patch) != len(self.spacing):
            raise self.refusal(f"patch_size {self.patch} and spacing {self.spacing} differ in dimension")
        self.transpose = plans.get("transpose_forward")
        if not isinstance(self.transpose, list) or sorted(self.transpose) != [0, 1, 2]:
            raise Refusal(file, f"transpose_forward is {self.transpose!r}; expected 0, 1 and 2 in some order")
        self.previous = self.values.get("previous_stage")
        if self.takes_photos:
            self._check_photos()

    def _check_photos(self) -> None:
        """Photos are one plane each, whose pixels are 1 × 1 for nnU-Net, so that nothing is resampled."""
        if len(self.patch) != 2:
            raise self.refusal(f"{PHOTOS} needs a 2d configuration, this one has patch_size {self.patch}")
        if self.spacing != [1.0, 1.0]:
            raise self.refusal(f"spacing is {self.spacing}; of {PHOTOS} only [1, 1] is known, which resamples nothing")
        if self.transpose[0] != 0:
            raise Refusal(self.file, f"transpose_forward is {self.transpose}; with {PHOTOS} its first number must be 0")
        if self.previous is not None:
            raise self.refusal(f"is a cascade after {self.previous}; cascades of photos are not supported")

    def refusal(self, fact: str) -> Refusal:
        return Refusal(self.file, f"configuration {self.name}: {fact}")

    def need(self, key: str) -> Any:
        if key not in self.values:
            raise self.refusal(f"{key} is missing")
        return self.values[key]

    def _numbers(self, key: str, kind: type) -> list[Any]:
        found = self.need(key)
        if not isinstance(found, list) or len(found) not in (2, 3):
            raise self.refusal(f"{key} is {found!r}; expected two or three numbers")
        if not all(isinstance(one, (int, float)) and math.isfinite(one) and one > 0 for one in found):
            raise self.refusal(f"{key} is {found!r}; expected numbers above 0")
        return [kind(one) for one in found]

    def normalizations(self, channels: int) -> list[dict[str, Any]]:
        """One entry for each image channel."""
        schemes, masks = self.need("normalization_schemes"), self.need("use_mask_for_norm")
        if len(schemes) != channels or len(masks) != channels:
            raise self.refusal(
                f"{len(schemes)} normalization_schemes and {len(masks)} use_mask_for_norm for {channels} channels"
            )
        return [self._normalization(index, scheme, mask) for index, (scheme, mask) in enumerate(zip(schemes, masks))]

    def _normalization(self, index: int, scheme: str, mask: bool) -> dict[str, Any]:
        if scheme not in SCHEMES:
            raise self.refusal(f"unknown normalisation {scheme!r} of channel {index}; known: {listed(SCHEMES)}")
        known = SCHEMES[scheme]
        if known == "zScore":
            return {"scheme": known, "useMask": bool(mask)}
        if known != "ct":
            return {"scheme": known}
        key = "foreground_intensity_properties_per_channel"
        properties = self.plans.get(key) or self.plans.get("foreground_intensity_properties_by_modality") or {}
        statistics = properties.get(str(index), {})
        wanted = ("percentile_00_5", "percentile_99_5", "mean", "std")
        values = [statistics.get(name) for name in wanted]
        if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in values):
            raise Refusal(self.file, f"{key}.{index}: CTNormalization needs {listed(wanted)}")
        lower, upper, mean, deviation = values
        if lower >= upper:
            raise Refusal(self.file, f"{key}.{index}: percentile_00_5 {lower} is not below percentile_99_5 {upper}")
        deviation = max(deviation, 1e-8)
        return {"scheme": "ct", "lowerBound": lower, "upperBound": upper, "mean": mean, "standardDeviation": deviation}

    def resampling(self) -> dict[str, Any]:
        """The rules for images, logits and labels; the last only where there is a previous stage."""
        parts = {"image": "resampling_fn_data", "logits": "resampling_fn_probabilities"}
        if self.previous is not None:
            parts["labels"] = "resampling_fn_seg"
        return {part: self._rule(key, part == "labels") for part, key in parts.items()}

    def _rule(self, key: str, labels: bool) -> dict[str, Any]:
        function, given = self.need(key), self.values.get(f"{key}_kwargs") or {}
        threshold = given.get("separate_z_anisotropy_threshold", 3)
        defaults = {"resample_data_or_seg_to_shape": SPLINE_DEFAULTS, "resample_torch_fornnunet": TORCH_DEFAULTS}
        if function == "no_resampling_hack":
            if given:
                raise self.refusal(f"{key}_kwargs: {function} takes no arguments, found {listed(given)}")
            return {"method": "none"}
        if function not in defaults:
            known = listed([*defaults, "no_resampling_hack"])
            raise self.refusal(f"unknown {key} {function!r}; known: {known}")
        torch = function == "resample_torch_fornnunet"
        unknown = set(given) - set(defaults[function]) - {"separate_z_anisotropy_threshold"}
        unknown -= TORCH_IGNORED if torch else set()
        if unknown:
            raise self.refusal(f"{key}_kwargs: unknown argument {listed(sorted(unknown))}")
        values = {**defaults[function], **given}
        if bool(values["is_seg"]) != labels:
            raise self.refusal(f"{key}_kwargs: is_seg is {values['is_seg']}")
        if values["force_separate_z"] not in SEPARATE:
            raise self.refusal(f"{key}_kwargs: force_separate_z is {values['force_separate_z']!r}")
        if not isinstance(threshold, (int, float)) or threshold < 1:
            raise self.refusal(f"{key}_kwargs: separate_z_anisotropy_threshold is {threshold!r}")
        rule = {"separateZ": SEPARATE[values["force_separate_z"]], "anisotropyThreshold": threshold}
        if torch:
            if values["mode"] != "linear" or values["aniso_axis_mode"] != "nearest-exact":
                raise self.refusal(f"{key}_kwargs: known are mode linear and aniso_axis_mode nearest-exact")
            if labels and values.get("memefficient_seg_resampling"):
                raise self.refusal(f"{key}_kwargs: memefficient_seg_resampling is not supported for a cascade's labels")
            return {"method": "torch", "order": 1, "orderZ": 0, **rule}
        for name in ("order", "order_z"):
            if values[name] not in (0, 1, 3):
                raise self.refusal(f"{key}_kwargs: {name} is {values[name]!r}; known: 0, 1, 3")
        return {"method": "spline", "order": values["order"], "orderZ": values["order_z"], **rule}


def resolve(file: Path, plans: dict[str, Any], name: str) -> dict[str, Any]:
    """The configuration `name`; its keys override those that it inherits."""
    configurations = plans.get("configurations")
    if not isinstance(configurations, dict):
        raise Refusal(file, "configurations is missing")
    chain: list[str] = []
    following: str | None = name
    while following is not None:
        if following in chain:
            raise Refusal(file, f"configurations inherit in a circle: {' -> '.join([*chain, following])}")
        if not isinstance(configurations.get(following), dict):
            raise Refusal(file, f"there is no configuration {following!r}; found: {listed(configurations)}")
        chain.append(following)
        following = configurations[following].get("inherits_from")
    values: dict[str, Any] = {}
    for part in reversed(chain):
        values.update(configurations[part])
    return values
