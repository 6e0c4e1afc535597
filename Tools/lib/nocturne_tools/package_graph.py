"""The targets of Package.swift and what they depend on, from `swift package dump-package`."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nocturne_tools.paths import ROOT


@dataclass(frozen=True)
class Target:
    """One target: `targets` are its dependencies in this package, `products` pairs of product and package."""

    name: str
    kind: str
    targets: tuple[str, ...]
    products: tuple[tuple[str, str], ...]
    dump: dict[str, Any]

    @property
    def is_test(self) -> bool:
        """Whether it is a test target or under Tests."""
        return self.kind == "test" or self.path.startswith("Tests/")

    @property
    def path(self) -> str:
        default = ("Tests/" if self.kind == "test" else "Sources/") + self.name
        return self.dump.get("path") or default


class PackageGraph:
    """All targets by name."""

    def __init__(self, dump: dict[str, Any]) -> None:
        self.dump = dump

    @classmethod
    def load(cls, package: Path = ROOT) -> PackageGraph:
        # With a scratch path of its own, so that it waits for no build.
        with tempfile.TemporaryDirectory() as scratch:
            command = ["swift", "package", "--scratch-path", scratch, "--package-path", str(package), "dump-package"]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"Package.swift cannot be read: {done.stderr.strip()[-2000:]}")
        return cls(json.loads(done.stdout))

    @cached_property
    def targets(self) -> dict[str, Target]:
        return {entry["name"]: _target(entry) for entry in self.dump["targets"]}

    def closure(self, name: str) -> list[Target]:
        """A target and everything in this package that it depends on, in the order of Package.swift."""
        found, waiting = {name}, [name]
        while waiting:
            below = set(self.targets[waiting.pop()].targets) - found
            found |= below
            waiting += below
        return [target for target in self.targets.values() if target.name in found]


def _target(entry: dict[str, Any]) -> Target:
    own, products = [], []
    for dependency in entry["dependencies"]:
        kind, value = next(iter(dependency.items()))
        if kind == "product":
            products.append((value[0], value[1]))
        else:
            own.append(value[0])
    return Target(entry["name"], entry["type"], tuple(own), tuple(products), entry)
