"""What a bundle does with the outputs of its network, as settings of a package."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .config import Bundle, Code, Component, components
from .preprocessing import ADVICE, Preprocessing, short

HARMLESS = ("EnsureType", "ToDevice", "ToTensor", "Identity", "SaveImage", "DeleteItems", "SelectItems")
WHERE = r"torch\.where\(\s*{name}\[\[?(\d+)\]?\]\s*>\s*0(?:\.\d*)?\s*,\s*(\d+)\s*,\s*"


@dataclass
class Postprocessing:
    """How outputs become labels."""

    activation: str | None = None  # softmax or sigmoid
    decision: str | None = None  # argmax or threshold
    threshold: float | None = None
    inverse: str | None = None  # linear or nearest
    before: bool = False  # whether the activation comes before the inverse
    after: bool = False  # whether the decision comes after the inverse
    # Pairs of output and label, a later one of which overwrites the earlier ones; None for the outputs' own order.
    regions: list[tuple[int, int]] | None = None
    largest: list[dict[str, Any]] = field(default_factory=list)

    @property
    def order(self) -> int:
        """Of the interpolation of logits."""
        return 1 if self.inverse == "linear" and self.after else 0

    @property
    def values(self) -> str:
        return "probabilities" if self.order == 1 and self.activation and self.before else "logits"


def read(bundle: Bundle, value: Any, key: str, before: Preprocessing, pre_value: Any) -> Postprocessing:
    """Interprets the transforms in order; what a package cannot repeat is refused by name."""
    result = Postprocessing()
    for one in components(bundle, value, key, "postprocessing"):
        name = short(one.name)
        if name in HARMLESS:
            continue
        if name == "Activations":
            _activation(one, result)
        elif name == "Invert":
            _inverse(one, result, before, pre_value)
        elif name == "AsDiscrete":
            _decision(one, result)
        elif name == "KeepLargestConnectedComponent":
            _largest(one, result, before)
        elif name == "Lambda":
            _lambda(one, result)
        else:
            raise one.refusal(f"is not among the transforms that a package can repeat; {ADVICE}")
    _check(bundle, result, before)
    return result


def _check(bundle: Bundle, result: Postprocessing, before: Preprocessing) -> None:
    if result.decision is None:
        raise bundle.refusal("postprocessing has no AsDiscreted with argmax or threshold; add it")
    if result.inverse is None and (before.resamples or before.orientation != "stored" or before.crop):
        raise bundle.refusal(
            "postprocessing leaves labels on the grid of the network; add Invertd with transform @preprocessing"
        )
    if result.decision == "threshold" and result.activation != "sigmoid":
        raise bundle.refusal("AsDiscreted: threshold without Activationsd sigmoid is not known; add it")
    if result.decision == "argmax" and result.activation == "sigmoid" and result.order == 1:
        raise bundle.refusal(
            "AsDiscreted: argmax of resampled sigmoids is not known; use softmax, or nearest_interp true"
        )
    if result.regions is not None and result.decision != "threshold":
        raise bundle.refusal("Lambdad: merges regions, but AsDiscreted has no threshold")


def _activation(one: Component, result: Postprocessing) -> None:
    one.only("softmax", "sigmoid", "other", "dim")
    chosen = [name for name in ("softmax", "sigmoid") if one.get(name, False)]
    one.expect("other", (None,))
    if len(chosen) != 1 or result.activation or result.decision:
        raise one.refusal("must be one of softmax and sigmoid, once, before AsDiscreted")
    result.activation = chosen[0]
    result.before = result.inverse is None


def _inverse(one: Component, result: Postprocessing, before: Preprocessing, pre_value: Any) -> None:
    if result.inverse:
        raise one.refusal("is there twice")
    transform = one.arguments.get("transform")
    if transform != pre_value:
        raise one.refusal("transform must be @preprocessing")
    if one.arguments.get("post_func") is not None:
        raise one.refusal("post_func is code; take it out")
    nearest = one.get("nearest_interp", True) or before.order == 0
    if not nearest and result.decision and before.resamples:
        raise one.refusal("interpolates labels; set nearest_interp to true, or put it before AsDiscreted")
    result.inverse = "nearest" if nearest else "linear"
    result.after = result.decision is None


def _decision(one: Component, result: Postprocessing) -> None:
    one.only("argmax", "threshold", "to_onehot", "rounding", "dim", "keepdim", "dtype")
    if result.decision:
        raise one.refusal("is there twice")
    one.expect("to_onehot", (None, False))
    one.expect("rounding", (None,))
    argmax, threshold = one.get("argmax", False), one.get("threshold")
    if bool(argmax) == (threshold is not None):
        raise one.refusal("must have one of argmax and threshold")
    if threshold is not None and not (isinstance(threshold, (int, float)) and 0 < threshold < 1):
        raise one.refusal(f"threshold {threshold} is not known; expected a number above 0 and below 1")
    result.decision = "argmax" if argmax else "threshold"
    result.threshold = threshold


def _largest(one: Component, result: Postprocessing, before: Preprocessing) -> None:
    one.only("applied_labels", "is_onehot", "independent", "connectivity", "num_components")
    if result.decision != "argmax":
        raise one.refusal("is known after AsDiscreted with argmax only")
    if result.inverse is None and before.resamples:
        raise one.refusal("works on the grid of the network; put it after Invertd")
    one.expect("is_onehot", (None, False))
    one.expect("num_components", (1,))
    applied = one.get("applied_labels")
    entry = {
        "labels": applied if isinstance(applied, list) or applied is None else [applied],
        "independent": one.get("independent", True),
        "connectivity": {None: 26, 3: 26, 2: 18, 1: 6}.get(one.get("connectivity")),
    }
    if entry["connectivity"] is None or result.largest and result.largest[0]["connectivity"] != entry["connectivity"]:
        raise one.refusal("connectivity must be 1, 2 or 3, and the same everywhere")
    result.largest.append(entry)


def _lambda(one: Component, result: Postprocessing) -> None:
    code = one.arguments.get("func")
    regions = merged_regions(code.text) if isinstance(code, Code) else None
    if regions is None:
        text = f"${code.text}" if isinstance(code, Code) else repr(code)
        raise one.refusal(f"func is code ({text}); only nested torch.where(x[[n]] > 0, label, …) are known; {ADVICE}")
    if result.decision is None or result.regions is not None:
        raise one.refusal("merges regions before AsDiscreted, or twice")
    result.regions = regions


def merged_regions(text: str) -> list[tuple[int, int]] | None:
    """Outputs and labels of `lambda x: torch.where(x[[2]] > 0, 4, torch.where(x[[0]] > 0, 1, … 0))`, the last one first."""
    head = re.match(r"\s*lambda\s+(\w+)\s*:\s*", text)
    if head is None:
        return None
    pattern, rest = re.compile(WHERE.format(name=head[1])), text[head.end() :]
    pairs: list[tuple[int, int]] = []
    while found := pattern.match(rest):
        pairs.append((int(found[1]), int(found[2])))
        rest = rest[found.end() :]
    valid = pairs and re.fullmatch(r"0(\.0*)?\s*" + r"\)\s*" * len(pairs), rest)
    unique = len({output for output, _ in pairs}) == len(pairs) == len({label for _, label in pairs})
    return pairs[::-1] if valid and unique and all(label > 0 for _, label in pairs) else None
