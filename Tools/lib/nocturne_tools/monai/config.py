"""Reads the configuration of a MONAI bundle: references are followed, code is kept as text and never run."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nocturne_tools.nnunet.refusal import Refusal, listed

CONFIGS = ("inference.json", "inference.yaml", "inference.yml")
DEEPEST = 50
SEPARATOR = re.compile(r"::|#")


@dataclass(frozen=True)
class Code:
    """An expression that is not run."""

    text: str


class Bundle:
    """The folder of a bundle: `configs/metadata.json` and the configuration of its inference."""

    def __init__(self, folder: Path, config: str | None = None) -> None:
        self.folder = folder
        configs = folder / "configs"
        if not configs.is_dir():
            raise Refusal(
                folder, "has no folder configs; a MONAI bundle has configs/metadata.json and configs/inference.json"
            )
        found = [configs / name for name in ([config] if config else CONFIGS) if (configs / name).is_file()]
        if not found:
            fact = f"none of {listed([config] if config else CONFIGS)}; name the file with --config"
            raise Refusal(configs, fact)
        self.file = found[0]
        self.metadata_file = configs / "metadata.json"
        self.metadata = _read(self.metadata_file) if self.metadata_file.is_file() else {}
        self.config = _read(self.file)

    def refusal(self, fact: str) -> Refusal:
        return Refusal(self.file, fact)

    def value(self, *keys: str) -> Any:
        """The first of the keys that is there, resolved; None without any. `a::b` is key b of a."""
        for key in keys:
            try:
                node = self._find(key)
            except KeyError:
                continue
            return self.resolve(node)
        return None

    def _find(self, key: str) -> Any:
        node: Any = self.config
        for depth, part in enumerate(SEPARATOR.split(key)):
            if isinstance(node, str) and depth:
                node = self.resolve(node)
            if isinstance(node, list) and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            elif isinstance(node, dict) and part in node:
                node = node[part]
            else:
                raise KeyError(key)
        return node

    def resolve(self, value: Any, depth: int = 0) -> Any:
        """The value with all references followed; expressions that are no plain values become `Code`."""
        if depth > DEEPEST:
            raise self.refusal("references lead in a circle")
        if isinstance(value, dict):
            return {key: self.resolve(one, depth + 1) for key, one in value.items()}
        if isinstance(value, list):
            return [self.resolve(one, depth + 1) for one in value]
        if not isinstance(value, str):
            return value
        if value.startswith("$"):
            return self._expression(value[1:].strip(), depth)
        if value[:1] in "@%" and value:
            return self._reference(value, depth)
        return value

    def _reference(self, text: str, depth: int) -> Any:
        key = text[1:]
        if re.search(r"\.(json|ya?ml)", key) or not re.fullmatch(r"[\w:#]+", key) or key[:1] in ":#":
            raise self.refusal(
                f"the reference {text} is not known; only keys of this file are, such as @inferer::roi_size"
            )
        try:
            node = self._find(key)
        except KeyError:
            raise self.refusal(f"the reference {text} leads to nothing") from None
        return self.resolve(node, depth + 1)

    def _expression(self, text: str, depth: int) -> Any:
        if re.fullmatch(r"@[\w:#]+", text):
            return self._reference(text, depth)
        known = {
            "np.float64": "float64",
            "np.float32": "float32",
            "torch.float64": "float64",
            "torch.float32": "float32",
        }
        if text in known:
            return known[text]
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return Code(text)


def _read(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    try:
        if file.suffix == ".json":
            content = json.loads(text)
        else:
            import yaml

            content = yaml.safe_load(text)
    except ImportError:
        raise Refusal(file, "needs the Python package PyYAML: pip install PyYAML") from None
    except ValueError as error:
        raise Refusal(file, f"cannot be read ({error})") from None
    except Exception as error:  # PyYAML's own
        raise Refusal(file, f"cannot be read ({type(error).__name__}: {error})") from None
    if not isinstance(content, dict):
        raise Refusal(file, "is no table of keys")
    return content


@dataclass
class Component:
    """A transform or another object of the configuration: its class, and its arguments for one of its keys."""

    bundle: Bundle
    name: str
    arguments: dict[str, Any]
    key: str

    def refusal(self, fact: str) -> Refusal:
        return self.bundle.refusal(f"{self.name}: {fact}")

    def get(self, name: str, default: Any = None) -> Any:
        """An argument; of a list with one entry for each of `keys`, the own one. Code is refused."""
        value = self.arguments.get(name, default)
        keys = self.arguments.get("keys")
        if isinstance(keys, list) and self.key in keys and isinstance(value, list) and len(value) == len(keys):
            if len(keys) > 1 or name not in ("pixdim", "roi_size"):
                value = value[keys.index(self.key)]
        if _has_code(value):
            raise self.refusal(f"{name} is code ({_code(value)}); write its value into the configuration")
        return value

    def expect(self, name: str, expected: tuple[Any, ...], advice: str = "") -> Any:
        """An argument that must be one of `expected`, of which the first is the default."""
        value = self.get(name, expected[0])
        plain = value[0] if isinstance(value, list) and len(set(map(str, value))) == 1 else value
        if plain not in expected:
            raise self.refusal(f"{name} {value!r} is not known; known: {listed(expected)}{advice}")
        return plain

    def only(self, *known: str) -> None:
        """Refuses arguments of other names."""
        ignored = {"keys", "allow_missing_keys", "lazy", "device", "_requires_", "_disabled_", "_desc_"}
        unknown = [name for name in self.arguments if name not in ignored and name not in known]
        if unknown:
            raise self.refusal(f"the arguments {listed(unknown)} are not known")


def component(bundle: Bundle, value: Any, key: str, where: str) -> Component:
    """The component that a resolved value describes. Classes of other packages are refused by name."""
    if isinstance(value, Code):
        raise bundle.refusal(f"{where} is code (${value.text}); write it as a component with _target_")
    if not isinstance(value, dict) or not isinstance(value.get("_target_"), str):
        raise bundle.refusal(f"{where} is no component with _target_")
    target = value["_target_"]
    if "." in target and not target.startswith("monai."):
        advice = "only MONAI's own classes can become a package; replace it by them, or run this bundle with MONAI"
        raise bundle.refusal(f"{where} uses {target}, which is code; {advice}")
    if value.get("_mode_", "default") not in ("default", "callable"):
        raise bundle.refusal(f"{where} has _mode_ {value['_mode_']}, which is not known")
    arguments = {name: one for name, one in value.items() if name not in ("_target_", "_mode_")}
    return Component(bundle, target.split(".")[-1], arguments, key)


def components(bundle: Bundle, value: Any, key: str, where: str) -> list[Component]:
    """The transforms of a Compose, or of a list, that act on `key`; disabled ones are left out."""
    if isinstance(value, dict) and str(value.get("_target_", "")).split(".")[-1] == "Compose":
        value = value.get("transforms")
    if isinstance(value, Code):
        raise bundle.refusal(f"{where} is code (${value.text}); write it as a list of transforms")
    if not isinstance(value, list):
        raise bundle.refusal(f"{where} is no Compose of transforms")
    found = [component(bundle, one, key, f"{where}::{index}") for index, one in enumerate(value)]
    return [one for one in found if one.arguments.get("_disabled_") is not True and _acts_on(one, key)]


def _acts_on(one: Component, key: str) -> bool:
    keys = one.arguments.get("keys", key)
    return key in (keys if isinstance(keys, list) else [keys])


def _has_code(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_code, value.values()))
    return isinstance(value, Code) or isinstance(value, list) and any(map(_has_code, value))


def _code(value: Any) -> str:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for part in parts:
        if isinstance(part, Code):
            return "$" + part.text
        if isinstance(part, (list, dict)) and _has_code(part):
            return _code(part)
    return ""
