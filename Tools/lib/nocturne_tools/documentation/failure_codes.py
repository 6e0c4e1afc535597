"""The page of the codes of reasons, from the declarations in the sources and the remedies that the program gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .command_line import cell

NAME = "FailureCodes.md"
REMEDIES = Path("NocturneOutput/Folder/FaultCode+Remedies.swift")
HEAD = """# Codes of reasons

Every code of an item that did not complete, what it means, and what can be done.

## Overview

This page is written by `Tools/reference` from the sources of the program, and a check compares the two. <doc:StatesAndExitCodes>
explains states, reasons and codes. An item has its own remedy in `batch.json`, which is the text of its code or else that of its kind.
"""
STRING = r'"((?:[^"\\]|\\.)*)"'
NAMED = re.compile(rf"((?:[ \t]*///[^\n]*\n)*)[^\n]*FaultCode\({STRING}, {STRING}\)")
DOMAIN = re.compile(rf"static let domain = {STRING}|FaultCode\({STRING}, code\.rawValue\)")
CONSTANT = re.compile(rf"((?:[ \t]*///[^\n]*\n)*)[^\n]*= \w*Code\(rawValue: {STRING}\)")
OUTSIDE = re.compile(rf"((?:[ \t]*///[^\n]*\n)*)[^\n]*= (\w+)\.Code\(rawValue: {STRING}\)")
CASES = re.compile(r"((?:[ \t]*///[^\n]*\n)*)[ \t]*case ([a-z]\w*(?:\s*,\s*\w+)*)[ \t]*(?=\n)")
CODES = re.compile(r"enum (?:Code|\w+ErrorCode): String[^{]*\{(.*?)\n[ ]{0,4}\}", re.DOTALL)


def meaning(comment: str) -> str:
    """The text of a documentation comment; links to declarations become code."""
    text = " ".join(line.strip().removeprefix("///").strip() for line in comment.strip().split("\n"))
    return text.replace("``", "`")


def spelled_out(code: str) -> str:
    """A name in words, for a code whose declaration says no more."""
    return re.sub(r"([A-Z])", lambda match: " " + match[1].lower(), code.partition(".")[2]).capitalize() + "."


def declared(text: str) -> Iterator[tuple[str, str]]:
    """Codes that a source file declares, with their meanings."""
    for comment, domain, name in NAMED.findall(text):
        yield f"{domain}.{name}", meaning(comment)
    domains = [first or second for first, second in DOMAIN.findall(text)]
    if not domains:
        return
    for comment, name in CONSTANT.findall(text):
        yield f"{domains[0]}.{name}", meaning(comment)
    for body in CODES.findall(text):
        for comment, names in CASES.findall(body + "\n"):
            for name in names.split(","):
                yield f"{domains[0]}.{name.strip()}", meaning(comment)


def declared_outside(text: str, domains: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Codes of errors that another file declares, by the domains of those errors' types."""
    for comment, kind, name in OUTSIDE.findall(text):
        yield f"{domains[kind]}.{name}", meaning(comment)


def remedies(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The remedies of kinds and of single codes; a remedy may be a constant that several share."""
    # A string may continue on the next line.
    text = re.sub(r'"\s*\n\s*\+ "', "", text)
    constants = dict(re.findall(rf"static let (\w+) =\s*{STRING}", text))
    found = []
    for name in ("domains", "exact"):
        body = text.partition(f"static let {name} = [")[2].partition("\n    ]")[0]
        entries = re.findall(rf"{STRING}:\s*(?:{STRING}|(\w+))", body)
        texts = {code: spelled or constants[constant] for code, spelled, constant in entries}
        found.append({code: text.replace('\\"', '"') for code, text in texts.items()})
    return found[0], found[1]


def page(sources: Path) -> str | None:
    """The text of the page; None where the sources have no codes."""
    if not (sources / REMEDIES).is_file():
        return None
    kinds, exact = remedies((sources / REMEDIES).read_text())
    codes: dict[str, str] = {code: "" for code in exact}
    texts = [(path.stem, path.read_text()) for path in sorted(sources.rglob("*.swift"))]
    # A file has the name of its type.
    domains = {stem: one[1] for stem, text in texts if (one := re.search(rf"FaultCode\({STRING}, code\.rawValue\)", text))}
    for _, text in texts:
        for code, words in [*declared(text), *declared_outside(text, domains)]:
            codes[code] = codes.get(code) or words
    parts = [HEAD]
    for kind in sorted({code.split(".")[0] for code in codes} | set(kinds)):
        parts += [f"## {kind}", "", cell(kinds.get(kind, "")).replace("<", "&lt;"), ""]
        parts += ["| code | meaning | remedy, where it is another |", "| --- | --- | --- |"]
        for code in sorted(one for one in codes if one.startswith(kind + ".")):
            parts.append(f"| `{code}` | {cell(codes[code] or spelled_out(code))} | {cell(exact.get(code, '')).replace('<', '&lt;')} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"
