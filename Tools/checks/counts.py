#!/usr/bin/env python3
"""Counts what makes the sources hard to change, for comparison before and after a change.

    Tools/checks/counts.py [--root CHECKOUT] [--list]

Swift, C, C++ and Python are read without a compiler; generated files are left out. --list prints the places too.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.c_uses import module_circles
from nocturne_tools.paths import ROOT
from nocturne_tools.source_text import C_FAMILY, PYTHON, SWIFT, Function, functions, without_comments

# What a reader of a module's interface sees: declarations whose access is written.
DECLARED = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)\n]*\))?[ \t]+)*(?P<access>public|package)[ \t]+(?:\w+(?:\(\w+\))?[ \t]+)*?"
    r"(?P<kind>struct|enum|class|actor|protocol|func|init|var|let|subscript|typealias)\b[ \t]*(?P<name>`?\w*)",
    re.MULTILINE,
)
# The module that owns time: only there may the clock be read.
TIME_OWNER = "NocturneSystem"
CLOCK = r"\bContinuousClock\b(?:\(\))?\.now|\bSuspendingClock\b|\bDate\(\)|\bDate\.now|(?<![\w)\]])\.now\b|\bDispatchTime\.now"
CLOCK += r"|\bclock_gettime\b|\btime\(nil\)|\btimeIntervalSinceNow\b|\bgettimeofday\b"
SLEEP = r"\bTask\.sleep\b|\bThread\.sleep\b|\busleep\(|\bnanosleep\(|(?<![\w.])sleep\(|\bclock\.sleep\b"
A_SECOND = re.compile(r"\(for(?:TimeInterval)?: (?:\.seconds\(1\)|1)\)")
PHOTO_RECIPE = r"[Pp]hotoClassification|[Pp]hotoInstances|photo-classification|photo-instances|[Pp]hotoSegmentation|photo-segmentation"
PHOTO_FOLDER = r"/(PhotoClassification|PhotoInstances|NocturnePhotos|PhotoInputs)/"
TOPICS = {
    "scheduler or admission": r"schedul|admission",
    "committer": r"commit",
    "supervisor": r"supervis",
    "stall detection": r"stall",
    "disk monitor": r"disk",
    "memory monitor": r"memory\s?monitor|memory\s?availab|memory\s?room|memory\s?watch",
    "discovery": r"discover",
}


@dataclass
class Count:
    """One line of the output: a name, a number, and the places it counts."""

    name: str
    places: list[str] = field(default_factory=list)
    number: float | None = None

    @property
    def shown(self) -> float:
        return len(self.places) if self.number is None else self.number


class Sources:
    """The source files of a checkout, by folder and language."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def files(self) -> list[Path]:
        found = []
        for folder in ("Sources", "Tests", "Tools"):
            for path in sorted((self.root / folder).rglob("*")):
                hidden = any(part.startswith(".") or part == "Fixtures" for part in path.relative_to(self.root).parts)
                if not hidden and path.suffix in SWIFT | C_FAMILY | PYTHON:
                    found.append(path)
        return found

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    def of(self, folder: str, kinds: set[str]) -> list[Path]:
        return [path for path in self.files if self.name(path).startswith(folder) and path.suffix in kinds]

    @cached_property
    def functions(self) -> dict[Path, list[Function]]:
        return {path: functions(path) for path in self.files}

    @cached_property
    def code(self) -> dict[Path, str]:
        return {path: without_comments(path.read_text()) for path in self.files if path.suffix in SWIFT}

    def matches(self, folder: str, pattern: str, text: bool = False) -> Iterator[tuple[Path, int, re.Match[str]]]:
        """Every match in the Swift code of a folder (or its whole text), with its line."""
        for path in self.of(folder, SWIFT):
            content = path.read_text() if text else self.code[path]
            for match in re.finditer(pattern, content):
                yield path, content.count("\n", 0, match.start()) + 1, match

    def places(self, folder: str, pattern: str, text: bool = False) -> list[str]:
        return [f"{self.name(path)}:{line}" for path, line, _ in self.matches(folder, pattern, text)]


def stored_variables(code: str, start: int) -> int:
    """How many stored `var`s the type has whose body begins at `start`."""
    depth, line_start, count = 0, start, 0
    for index in range(start, len(code)):
        if code[index] == "{":
            depth += 1
        elif code[index] == "}":
            depth -= 1
            if depth == 0:
                break
        elif code[index] == "\n":
            line = code[line_start:index]
            match = re.match(r"\s*(?:[@\w()]+\s+)*var\s+\w+", line)
            declared_here = depth - line.count("{") + line.count("}") == 1
            computed = re.search(r"\{\s*$|\{[^=]*\}\s*$", line) and "=" not in line.split("{")[0]
            if match and declared_here and (not computed or re.search(r"didSet|willSet", code[index : index + 80])):
                count += 1
            line_start = index + 1
    return count


def actors(sources: Sources) -> list[Count]:
    """Actors, those with mutable state, and the same for the stages alone."""
    found = []
    for path, line, match in sources.matches("Sources", r"\bactor\s+(\w+)[^{;\n]*\{"):
        count = stored_variables(sources.code[path], match.end() - 1)
        stage = "/Stages/" in sources.name(path)
        found.append((f"{match.group(1)}: {count} stored variables ({sources.name(path)}:{line})", count, stage))
    return [
        Count("actors", [text for text, _, _ in found]),
        Count("actors with mutable state", [text for text, count, _ in found if count]),
        Count("stage actors", [text for text, _, stage in found if stage]),
        Count("stage actors with mutable state", [text for text, count, stage in found if stage and count]),
    ]


def sizes(sources: Sources) -> list[Count]:
    """Functions with many parameters, long functions, long files."""
    found = []
    groups = {
        "Swift, Sources": ("Sources", SWIFT),
        "Swift, Tests": ("Tests", SWIFT),
        "C and C++": ("Sources", C_FAMILY),
        "Python": ("Tools", PYTHON),
    }
    for limit in (7, 9):
        for name, (folder, kinds) in groups.items():
            places = [
                f"{sources.name(path)}:{f.line}: {f.name}, {f.parameters}"
                for path in sources.of(folder, kinds)
                for f in sources.functions[path]
                if f.parameters >= limit
            ]
            found.append(Count(f"functions of {limit} or more parameters ({name})", places))
    for name, (folder, kinds) in groups.items():
        every = [(path, f) for path in sources.of(folder, kinds) for f in sources.functions[path]]
        found.append(Count(f"functions ({name})", number=len(every)))
        places = [f"{sources.name(path)}:{f.line}: {f.name}, {f.lines} lines" for path, f in every if f.lines > 60]
        found.append(Count(f"functions above 60 lines ({name})", places))
    for folder in ("Sources", "Tests", "Tools"):
        places = []
        for path in sources.of(folder, SWIFT | C_FAMILY | PYTHON):
            lines = path.read_text().count("\n")
            if lines > 300:
                places.append(f"{sources.name(path)}: {lines} lines")
        found.append(Count(f"files above 300 lines ({folder})", places))
    return found


def is_in_loop(code: str, place: int) -> bool:
    """Whether a loop encloses the place inside its function."""
    depth = 0
    for index in range(place, -1, -1):
        if code[index] == "}":
            depth += 1
        elif code[index] == "{":
            depth -= 1
            if depth < 0:
                depth = 0
                header = code[max(code.rfind("\n", 0, index), code.rfind(";", 0, index)) + 1 : index]
                if re.search(r"\b(while|for|repeat)\b", header):
                    return True
                if re.search(r"\b(func|init|actor|class|struct|enum|extension)\b", header):
                    return False
    return False


def time(sources: Sources) -> list[Count]:
    """Sleeps, polling loops, and direct uses of the clock."""
    sleeps = list(sources.matches("Sources", SLEEP))
    loops = [(p, n, m) for p, n, m in sleeps if is_in_loop(sources.code[p], m.start())]
    seconds = [(p, n, m) for p, n, m in loops if A_SECOND.match(sources.code[p], m.end())]
    clock = [place for place in sources.places("Sources", CLOCK) if place.split("/")[1] != TIME_OWNER]
    in_tests = sources.places("Tests", SLEEP)
    return [
        Count("uses of sleep in Sources", [f"{sources.name(p)}:{n}" for p, n, _ in sleeps]),
        Count("uses of sleep inside a loop in Sources", [f"{sources.name(p)}:{n}" for p, n, _ in loops]),
        Count("polling loops in Sources (a sleep of one second inside a loop)", [f"{sources.name(p)}:{n}" for p, n, _ in seconds]),
        Count("uses of sleep in Tests", in_tests),
        Count("direct uses of the clock outside the module that owns time", clock),
    ]


def suites(sources: Sources) -> list[Count]:
    """Tests, suites, and the suites whose name mentions a topic."""
    found = [Count("@Test", sources.places("Tests", r"@Test\b"))]
    declared = []
    pattern = r"@Suite(?:\((?P<arguments>[^\n]*)\))?[^{]*?\b(?:struct|class|actor|enum)\s+(?P<name>\w+)"
    for path, line, match in sources.matches("Tests", pattern, text=True):
        title = re.search(r'"([^"]*)"', match.group("arguments") or "")
        name = f"{match.group('name')} {title.group(1) if title else ''}"
        declared.append(f"{name.strip()} ({sources.name(path)}:{line})")
    found.append(Count("suites", declared))
    for topic, words in TOPICS.items():
        named = [suite for suite in declared if re.search(words, suite.split(" (")[0], re.IGNORECASE)]
        found.append(Count(f"suites named after: {topic}", named))
    return found


def duplicates(sources: Sources) -> Count:
    """Pairs of Swift functions in Sources with the same body of four or more lines."""
    bodies = collections.defaultdict(list)
    for path in sources.of("Sources", SWIFT):
        for function in sources.functions[path]:
            if len(function.body) >= 4:
                bodies[function.body].append(f"{sources.name(path)}:{function.line} {function.name}")
    pairs = [f"{a} = {b}" for same in bodies.values() for a, b in itertools.combinations(same, 2)]
    return Count("pairs of functions with the same body of 4 or more lines", pairs)


TYPE = r"^(?:@\w+(?:\([^)]*\))?[ ]+)*(?:(?:public|package|internal|final|indirect)[ ]+)*"
TYPE += r"(?:struct|class|enum|actor|protocol|typealias)[ ]+(\w+)"


def folder_uses(files: dict[tuple[str, str, str], str]) -> dict[tuple[str, str, str], set[str]]:
    """What a folder of a module uses of another one: types that are declared at the top level of its files.

    Keys of `files` are module, folder and name of a file, values its code; keys of the result are module, user and used folder.
    """
    homes: dict[tuple[str, str], str] = {}
    for (module, folder, _), code in files.items():
        for match in re.finditer(TYPE, code, re.MULTILINE):
            homes.setdefault((module, match.group(1)), folder)
    uses = collections.defaultdict(set)
    for (module, folder, name), code in files.items():
        for word in set(re.findall(r"\b[A-Z]\w+", code)):
            home = homes.get((module, word), folder)
            if home != folder:
                uses[module, folder, home].add(f"{word} in {name}")
    return uses


def mutual_folders(sources: Sources) -> Count:
    """Pairs of folders of a module that use each other's types."""
    files = {}
    for path in sources.of("Sources", SWIFT):
        _, module, *folders, name = sources.name(path).split("/")
        files[module, folders[0] if folders else "", name] = re.sub(r'"(\\.|[^"\\\n])*"', '""', sources.code[path])
    uses = folder_uses(files)
    pairs = [
        f"{module}: {a or 'top'} uses {len(words)} of {b or 'top'}, {len(uses[module, b, a])} back ({min(uses[module, b, a])})"
        for (module, a, b), words in sorted(uses.items())
        if a < b and (module, b, a) in uses
    ]
    return Count("pairs of folders of a module that use each other", pairs)


def c_circles(sources: Sources) -> Count:
    """Circles among the files or the folders of a C module; layers.py fails if there is one."""
    modules = sorted({sources.root / Path(*Path(sources.name(path)).parts[:2]) for path in sources.of("Sources", C_FAMILY)})
    return Count("circles of C files or folders", [circle for module in modules for circle in module_circles(module)])


def is_documented(lines: list[str], index: int) -> bool:
    """Whether the declaration on a line has a doc comment directly above it or above its attributes."""
    index -= 1
    while index >= 0 and lines[index].lstrip().startswith("@"):
        index -= 1
    return index >= 0 and lines[index].lstrip().startswith("///")


def documentation(sources: Sources) -> list[Count]:
    """Undocumented declarations of the modules' interfaces, and the shares of documented ones and of lines of comments."""
    declared: collections.Counter[str] = collections.Counter()
    missing = collections.defaultdict(list)
    comments = lines = 0
    for path in sources.of("Sources", SWIFT):
        text = path.read_text().split("\n")
        lines += len(text) - 1
        comments += sum(line.lstrip().startswith("//") for line in text)
        module = sources.name(path).split("/")[1]
        for match in DECLARED.finditer(sources.code[path]):
            index = sources.code[path].count("\n", 0, match.start("access"))
            declared[module] += 1
            if not is_documented(text, index):
                missing[module].append(f"{sources.name(path)}:{index + 1}: {match.group('kind')} {match.group('name')}".rstrip())
    places = [place for module in sorted(missing) for place in missing[module]]
    shares = [f"{module}: {percent(count - len(missing[module]), count)} of {count}" for module, count in sorted(declared.items())]
    total = declared.total()
    return [
        Count("public and package declarations", number=total),
        Count("public and package declarations without a doc comment", places),
        Count("percent of public and package declarations with a doc comment", shares, percent(total - len(places), total)),
        Count("percent of Swift lines in Sources that are comments", number=percent(comments, lines)),
    ]


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0


def all_counts(sources: Sources) -> list[Count]:
    recipes = {sources.name(path) for path, _, _ in sources.matches("Sources", PHOTO_RECIPE, text=True)}
    outside = sorted(name for name in recipes if not re.search(PHOTO_FOLDER, name))
    return [
        *actors(sources),
        Count("@unchecked Sendable in Sources", sources.places("Sources", r"@unchecked\s+Sendable")),
        Count("@unchecked Sendable in Tests", sources.places("Tests", r"@unchecked\s+Sendable")),
        Count("nonisolated(unsafe) in Sources", sources.places("Sources", r"nonisolated\(unsafe\)")),
        *sizes(sources),
        *time(sources),
        Count("files outside its folder that name a photo recipe", outside),
        duplicates(sources),
        mutual_folders(sources),
        c_circles(sources),
        *documentation(sources),
        *suites(sources),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="a checkout; default: this one")
    parser.add_argument("--list", action="store_true", help="print the places of every count")
    options = parser.parse_args()
    for count in all_counts(Sources(options.root.resolve())):
        print(f"{count.shown:6}  {count.name}")
        if options.list:
            print("".join(f"          {place}\n" for place in count.places), end="")


if __name__ == "__main__":
    main()
