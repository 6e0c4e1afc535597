"""Manual pages and completions from the program's own argument parser, so that they cannot differ from it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Command = dict[str, Any]
Argument = dict[str, Any]

COMPLETIONS = {
    "bash": "share/bash-completion/completions/nocturne",
    "zsh": "share/zsh/vendor-completions/_nocturne",
    "fish": "share/fish/vendor_completions.d/nocturne.fish",
}

DEMO = {
    "commandName": "nocturne-demo",
    "abstract": "Run Nocturne's sample batch.",
    "discussion": "Synthetic volumes and drawn photos are processed with the sample models. They are in "
    "share/nocturne/samples and share/nocturne/models below the folder of the installation.",
    "arguments": [
        {
            "kind": "positional",
            "valueName": "output",
            "isOptional": True,
            "abstract": "The output folder.",
            "defaultValue": "demo-output",
        }
    ],
}

@dataclass(frozen=True)
class Page:
    """What a page needs beside its command."""

    version: str
    date: str
    exit_codes: str
    others: list[str]


def escaped(text: str) -> str:
    """Text for roff: backslashes, hyphens of options, and lines that would be read as requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def option_name(name: dict[str, str]) -> str:
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def headline(argument: Argument) -> str:
    """An argument's names and its value, as in `-m, --model <model>`."""
    value = f"<{argument.get('valueName', '')}>"
    if argument["kind"] == "positional":
        return value + (" ..." if argument.get("isRepeating") else "")
    names = ", ".join(option_name(name) for name in argument["names"])
    return names if argument["kind"] == "flag" else f"{names} {value}"


def details(argument: Argument) -> str:
    """An argument's description with its values and its default."""
    facts = []
    if argument.get("allValues"):
        facts.append("values: " + ", ".join(argument["allValues"]))
    if argument.get("defaultValue"):
        facts.append("default: " + argument["defaultValue"])
    parts = [argument.get("abstract", ""), f"({'; '.join(facts)})" if facts else "", argument.get("discussion", "")]
    return " ".join(part for part in parts if part)


def shown(command: Command, key: str) -> list[dict[str, Any]]:
    """What help shows: a flag and its opposite as one."""
    entries = [entry for entry in command.get(key, []) if entry.get("shouldDisplay", True)]
    if key != "arguments":
        return entries
    names = {name["name"] for entry in entries for name in entry.get("names", [])}
    kept = []
    for entry in entries:
        long = next((name["name"] for name in entry.get("names", []) if name["kind"] == "long"), "")
        if entry["kind"] == "flag" and long.startswith("no-") and long[3:] in names:
            continue
        if entry["kind"] == "flag" and f"no-{long}" in names:
            entry = entry | {"names": [*entry["names"], {"kind": "long", "name": f"no-{long}"}]}
        kept.append(entry)
    return kept


def synopsis(name: str, command: Command) -> str:
    """One line of usage: options that must be given are spelt out."""
    if shown(command, "subcommands"):
        return f"{name} <subcommand> ..."
    arguments = shown(command, "arguments")
    parts = [name]
    if any(one["kind"] != "positional" and one.get("isOptional") for one in arguments):
        parts.append("[options]")
    for one in arguments:
        if one["kind"] == "positional":
            parts.append(f"[{headline(one)}]" if one.get("isOptional") else headline(one))
        elif not one.get("isOptional"):
            parts.append(f"{option_name(one['preferredName'])} <{one.get('valueName', '')}>")
    return " ".join(parts)


def sections(command: Command) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Titles with their entries: positional arguments, titled options, other options, subcommands."""
    groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    plain: list[tuple[str, str]] = []
    for argument in shown(command, "arguments"):
        title = argument.get("sectionTitle") or ("Arguments" if argument["kind"] == "positional" else "")
        (groups.setdefault(title, []) if title else plain).append((headline(argument), details(argument)))
    below = [(one["commandName"], one.get("abstract", "")) for one in shown(command, "subcommands")]
    yield from groups.items()
    yield "Options", plain
    yield "Subcommands", below


def page(name: str, command: Command, facts: Page) -> str:
    """The manual page of a command in roff."""
    abstract = command.get("abstract", "").rstrip(".")
    title = name.replace(" ", "-")
    lines = [f'.TH "{title.upper()}" "1" "{facts.date}" "Nocturne {facts.version}" "Nocturne"', ".nh", ".ad l"]
    lines += [".SH NAME", f"{escaped(title)} \\- {escaped(abstract)}", ".SH SYNOPSIS", escaped(synopsis(name, command))]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION", escaped(command["discussion"]).replace("\n\n", "\n.PP\n")]
    for heading, entries in sections(command):
        if entries:
            lines.append(f'.SH "{heading.upper()}"')
        for head, text in entries:
            lines += [".TP", f"\\fB{escaped(head)}\\fR", escaped(text)]
    if facts.exit_codes not in command.get("discussion", ""):
        lines += [".SH EXIT STATUS", escaped(facts.exit_codes)]
    others = [f"\\fB{escaped(one)}\\fR(1)" for one in facts.others if one != title]
    return "\n".join([*lines, ".SH SEE ALSO", ", ".join(others)]) + "\n"


def commands(root: Command, above: str = "") -> Iterator[tuple[str, Command]]:
    """The command and all below it, with their full names; `help` has no page."""
    name = f"{above} {root['commandName']}".strip()
    yield name, root
    for below in shown(root, "subcommands"):
        if below["commandName"] != "help":
            yield from commands(below, name)


def pages(root: Command, version: str, date: str) -> dict[str, str]:
    """File names with the text of all pages."""
    found = [*commands(root), ("nocturne-demo", DEMO)]
    titles = [name.replace(" ", "-") for name, _ in found]
    exit_codes = next(one for one in root["discussion"].split("\n\n") if one.startswith("Exit codes:"))
    facts = Page(version, date, exit_codes, titles)
    return {f"{title}.1": page(name, command, facts) for title, (name, command) in zip(titles, found)}


def help_of(program: Path) -> Command:
    shown = subprocess.run([program, "--experimental-dump-help"], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["command"]


def completion(program: Path, shell: str) -> str:
    """The script that the argument parser writes; shells read it, so that it needs no `#!`."""
    command = [program, "--generate-completion-script", shell]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return text.partition("\n")[2] if text.startswith("#!") else text
