"""The commands of the documentation: fenced blocks of `sh` in README and manual, and a shell that runs them in order.

A block that cannot be run everywhere is marked in the line before it: `<!-- not run: needs a network -->`. A command that ends
with another exit code than 0 says so at its end: `# exit code 3`.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..paths import MANUAL, ROOT

BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```sh\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
EXPECTED = re.compile(r"#.*\bexit code (\d+)\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, its first line there, and why it is not run (None if it is)."""

    page: Path
    line: int
    text: str
    reason: str | None


@dataclass(frozen=True)
class Example:
    """A command with the exit code that it should have."""

    page: Path
    line: int
    text: str
    expected: int

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `code` is None when the shell did not get that far."""

    example: Example
    code: int | None
    seconds: float
    output: str


def pages() -> list[Path]:
    """README and the manual, in the order in which they are run."""
    return [ROOT / "README.md", *sorted(MANUAL.glob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(page, line, match["text"], match["reason"])


def is_complete(command: str) -> bool:
    """Whether a shell would run the command, or wait for more lines."""
    if command.endswith("\\"):
        return False
    lines = command.split("\n")
    for index, line in enumerate(lines):
        if (opened := HEREDOC.search(line)) and opened.group(1) not in lines[index + 1 :]:
            return False
    return subprocess.run(["bash", "-n", "-c", command], stderr=subprocess.DEVNULL).returncode == 0


def examples(block: Block) -> Iterator[Example]:
    """The commands of a block, one after the other."""
    waiting, start = "", 0
    for number, line in enumerate(block.text.rstrip("\n").split("\n"), block.line):
        if not waiting and (not line.strip() or line.lstrip().startswith("#")):
            continue
        start = start if waiting else number
        waiting = f"{waiting}\n{line}".lstrip("\n")
        if is_complete(waiting):
            found = EXPECTED.search(waiting)
            yield Example(block.page, start, waiting, int(found.group(1)) if found else 0)
            waiting = ""
    if waiting:
        raise SystemExit(f"{block.page.name}:{start}: the command has no end: {waiting}")


def script(commands: list[Example], folder: Path) -> str:
    """One shell for all commands, so that variables and folders stay; each leaves its exit code and end in a file."""
    lines = [f"exec 3>{folder}/codes"]
    for index, one in enumerate(commands):
        lines += [f"exec >{folder}/{index} 2>&1", one.text, 'printf "%s %s\\n" $? "$EPOCHREALTIME" >&3']
    return "\n".join(lines) + "\n"


def run(commands: list[Example], work: Path, environment: dict[str, str], limit: float) -> list[Outcome]:
    """Runs the commands in a folder, and gives up after `limit` seconds."""
    with tempfile.TemporaryDirectory(prefix="nocturne-examples-") as name:
        folder = Path(name)
        file = folder / "script"
        file.write_text(script(commands, folder))
        started = subprocess.run(["date", "+%s.%N"], capture_output=True, text=True, check=True).stdout
        shell = subprocess.Popen(["bash", str(file)], cwd=work, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            shell.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, 9)
            shell.wait()
        ended = [line.split() for line in (folder / "codes").read_text().splitlines()]
        before, outcomes = float(started), []
        for index, one in enumerate(commands):
            output = (folder / str(index)).read_text(errors="replace") if (folder / str(index)).exists() else ""
            code, end = (int(ended[index][0]), float(ended[index][1])) if index < len(ended) else (None, before)
            outcomes.append(Outcome(one, code, end - before, output))
            before = end
        return outcomes
