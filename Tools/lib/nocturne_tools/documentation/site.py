"""The static site: all catalogues as one, converted by the toolchain's docc, and its links checked.

Every catalogue of Sources becomes part of one catalogue, so that pages can name pages of other modules. The page of the manual is
its root. With symbol graphs, the pages of modules are extended by their declarations; without, names of declarations are shown as
code.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..paths import MANUAL, ROOT

ROOT_PAGE = "Nocturne.md"
BUNDLE = "nocturne"
SYMBOL = re.compile(r"(?<!`)``(?!`)([^`\n]+)``(?!`)")
FENCE = re.compile(r"^```", re.MULTILINE)


def catalogues() -> list[Path]:
    return sorted(path for path in (ROOT / "Sources").glob("*/*.docc") if path.is_dir())


def outside_code(text: str, change: Any) -> str:
    """The text, changed where it is not in a fenced block."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def with_root(text: str) -> str:
    """The manual's page as the root of the site."""
    _, _, rest = text.partition("\n")
    return "# Nocturne\n\n@Metadata {\n    @TechnologyRoot\n}\n" + rest


def for_symbols(text: str, module: str, modules: set[str]) -> str:
    """A page whose links to declarations start at their module, as is needed where there are several."""

    def absolute(match: re.Match[str]) -> str:
        first = match.group(1).split("/")[0]
        return match.group(0) if first in modules else f"``{module}/{match.group(1)}``"

    text = re.sub(r"<doc:(\w+)>", lambda m: f"``{m.group(1)}``" if m.group(1) in modules else m.group(0), text)
    return outside_code(text, lambda part: SYMBOL.sub(absolute, part))


def for_articles(text: str, modules: set[str]) -> str:
    """A page without declarations: modules become pages, other names become code, and lists of topics lose them."""

    def article(part: str) -> str:
        part = re.sub(r"^# ``(\w+)``$", r"# \1", part, flags=re.MULTILINE)
        part = SYMBOL.sub(lambda m: f"<doc:{m.group(1)}>" if m.group(1) in modules else f"`{m.group(1)}`", part)
        body, heading, topics = part.partition("\n## Topics\n")
        kept = [line for line in topics.split("\n") if not re.match(r"- `", line)]
        # Headings that have lost all of their entries are left out.
        groups = re.split(r"(?m)^(?=### )", "\n".join(kept))
        topics = "".join(group for group in groups if "<doc:" in group)
        return body + heading + "\n" + topics if topics.strip() else body.rstrip() + "\n"

    return outside_code(text, article)


def gather(folder: Path, symbols: bool) -> Path:
    """Writes the one catalogue; returns its folder."""
    catalogue = folder / "Nocturne.docc"
    catalogue.mkdir()
    modules = {path.stem for path in catalogues() if path != MANUAL}
    for source in catalogues():
        for path in sorted(source.rglob("*")):
            if not path.is_file():
                continue
            target = catalogue / path.name
            if target.exists():
                raise SystemExit(f"two pages are called {path.name}")
            if path.suffix != ".md":
                shutil.copy(path, target)
                continue
            text = path.read_text()
            is_root = path == MANUAL / ROOT_PAGE
            text = with_root(text) if is_root else text
            target.write_text(for_symbols(text, source.stem, modules) if symbols else for_articles(text, modules))
    return catalogue


def module_maps(build: Path) -> list[Path]:
    """The module maps of C targets, of this package and of its dependencies."""
    found = [*build.glob("C*.build/module.modulemap"), *(ROOT / "Sources").glob("C*/module.modulemap")]
    found += (ROOT / "Sources").glob("C*/include/module.modulemap")
    return sorted({*found, *build.parents[1].glob("checkouts/*/Sources/*/module.modulemap")})


def symbol_graphs(build: Path, folder: Path) -> Path:
    """Writes the declarations of the built modules; nothing is compiled."""
    graphs = folder / "symbols"
    graphs.mkdir()
    flags = [f"-fmodule-map-file={path}" for path in module_maps(build)]
    flags += [f"-I{path}" for path in sorted((ROOT / "Sources").glob("C*/include"))]
    cairo = subprocess.run(["pkg-config", "--cflags-only-I", "cairo"], capture_output=True, text=True)
    clang = [part for flag in flags + cairo.stdout.split() for part in ("-Xcc", flag)]
    target = json.loads(subprocess.run(["swift", "-print-target-info"], capture_output=True, text=True, check=True).stdout)
    for module in sorted(path.stem for path in catalogues() if path != MANUAL):
        if not (build / "Modules" / f"{module}.swiftmodule").exists():
            raise SystemExit(f"{build} has no module {module}: build the program first, with Tools/build nocturne")
        command = ["swift-symbolgraph-extract", "-module-name", module, "-I", str(build / "Modules"), *clang]
        command += ["-target", target["target"]["unversionedTriple"], "-output-dir", str(graphs)]
        subprocess.run([*command, "-minimum-access-level", "package"], check=True)
    return graphs


def convert(catalogue: Path, graphs: Path | None, base_path: str | None, out: Path) -> list[dict[str, Any]]:
    """Makes the site; returns what docc says about the pages (not about comments in sources)."""
    command = ["docc", "convert", str(catalogue), "--fallback-display-name", "Nocturne"]
    command += ["--fallback-bundle-identifier", BUNDLE, "--output-path", str(out), "--transform-for-static-hosting"]
    diagnostics = catalogue.parent / "diagnostics.json"
    command += ["--diagnostics-file", str(diagnostics)]
    command += ["--additional-symbol-graph-dir", str(graphs)] if graphs else []
    command += ["--hosting-base-path", base_path] if base_path else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = json.loads(diagnostics.read_text())["diagnostics"] if diagnostics.exists() else []
    return [one for one in found if ".docc/" in one.get("source", "")]


def references(value: Any) -> Iterator[str]:
    """Every address of a page or picture that the data of a page name."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key in ("url", "destination") and isinstance(below, str):
                yield below
            else:
                yield from references(below)
    elif isinstance(value, list):
        for below in value:
            yield from references(below)


def broken_links(site: Path) -> list[str]:
    """Addresses in the data of the pages that have no page, file or anchor in the site."""
    found = []
    anchors: dict[str, set[str]] = {}
    pages = {path: json.loads(path.read_text()) for path in sorted((site / "data").rglob("*.json"))}
    for path, page in pages.items():
        place = "/" + str(path.relative_to(site / "data").with_suffix(""))
        anchors[place] = set(headings(page))
        if not (site / place.lstrip("/") / "index.html").is_file():
            found.append(f"{place} has no index.html")
    for path, page in pages.items():
        for address in set(references(page)):
            if re.match(r"[a-z]+:", address):
                continue
            place, _, anchor = address.partition("#")
            if place not in anchors and not (site / place.lstrip("/")).is_file():
                found.append(f"{path.relative_to(site)}: {address} is not there")
            elif anchor and anchor not in anchors[place]:
                found.append(f"{path.relative_to(site)}: {address} has no such heading")
    return found


def headings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("anchor"), str):
            yield value["anchor"]
        for below in value.values():
            yield from headings(below)
    elif isinstance(value, list):
        for below in value:
            yield from headings(below)
