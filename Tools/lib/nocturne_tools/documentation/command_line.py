"""The page of the command line, from what the argument parser says about itself."""

from __future__ import annotations

from collections.abc import Iterator

from ..packaging.manual import Command, commands, sections, synopsis

NAME = "CommandLine.md"
HEAD = """# Command-line reference

Every command with its arguments and options.

## Overview

This page is written by `Tools/reference` from the program's own help, and a check compares the two. `nocturne help COMMAND` shows
the same text, and packages have it as manual pages. The commands and options are explained by purpose in <doc:RunningBatches>.

Every command also has `--version` and `--help`. The help of `run` and of similar commands shows the options that most people need,
`--help-all` shows all.
"""
HIDDEN = {"--version", "-h, --help", "--help-all", "help"}


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(entries: list[tuple[str, str]], title: str) -> Iterator[str]:
    yield f"| {title} | |"
    yield "| --- | --- |"
    for head, text in entries:
        yield f"| `{cell(head)}` | {cell(text).replace('<', '&lt;')} |"
    yield ""


def section(name: str, command: Command) -> Iterator[str]:
    """The part of the page about one command."""
    yield from (f"## {name}", "", command.get("abstract", ""), "")
    if command.get("discussion"):
        yield from (command["discussion"], "")
    yield from ("```", synopsis(name, command), "```", "")
    for title, entries in sections(command):
        kept = [entry for entry in entries if entry[0] not in HIDDEN]
        if kept:
            yield from table(kept, title)


def page(root: Command) -> str:
    """The text of the page."""
    parts = [HEAD]
    for name, command in commands(root):
        parts.append("\n".join(section(name, command)))
    return "\n".join(parts).rstrip() + "\n"
