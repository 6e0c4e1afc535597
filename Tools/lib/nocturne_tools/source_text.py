"""Reads Swift, C, C++ and Python sources without a compiler: text without comments and strings, and their functions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

SWIFT, C_FAMILY, PYTHON = {".swift"}, {".c", ".h", ".cpp", ".hpp", ".cc"}, {".py"}


@dataclass(frozen=True)
class Function:
    """A function or initialiser with a body: its first line, its length in lines, and its code without blank lines."""

    name: str
    line: int
    lines: int
    parameters: int
    body: tuple[str, ...]


# Where a comment or a string can begin, in Swift and in the languages of C.
OPENING = {True: re.compile(r'//|/\*|#*"""|#*"'), False: re.compile(r"//|/\*|\"|'")}


def without_comments(text: str, swift: bool = True) -> str:
    """The text with comments and the contents of strings replaced by spaces; quotes, line breaks and offsets stay."""
    parts, index = [], 0
    while match := OPENING[swift].search(text, index):
        start, opening = match.start(), match.group()
        kept = 0 if opening.startswith("/") else 1
        if opening == "//":
            end = _find(text, "\n", start)
        elif opening == "/*":
            end = _end_of_comment(text, start, nested=swift)
        else:
            end = _end_of_string(text, start, opening, swift)
        first, last = start + kept, max(start + kept, end - kept)
        parts += [text[index:first], re.sub(r"[^\n]", " ", text[first:last]), text[last:end]]
        index = end
    return "".join(parts) + text[index:]


def comments(text: str) -> list[tuple[int, str]]:
    """The line comments of a Swift or C text with their line numbers, without the ones inside strings."""
    code = without_comments(text)
    found = []
    for number, (plain, line) in enumerate(zip(code.split("\n"), text.split("\n")), 1):
        place = line.find("//", len(plain.rstrip()))
        if place >= 0:
            found.append((number, line[place:]))
    return found


def _find(text: str, what: str, start: int) -> int:
    place = text.find(what, start)
    return len(text) if place < 0 else place


def _end_of_comment(text: str, start: int, nested: bool) -> int:
    depth, index = 1, start + 2
    while index < len(text) and depth:
        if text.startswith("*/", index):
            depth, index = depth - 1, index + 2
        elif nested and text.startswith("/*", index):
            depth, index = depth + 1, index + 2
        else:
            index += 1
    return index


def _end_of_string(text: str, start: int, opening: str, swift: bool) -> int:
    hashes = opening.count("#")
    quote = opening.lstrip("#")
    closing, escape = quote + "#" * hashes, "\\" + "#" * hashes
    index = start + len(opening)
    while index < len(text):
        if text.startswith(closing, index):
            return index + len(closing)
        if text.startswith(escape, index):
            index += len(escape)
            index = _end_of_interpolation(text, index) if swift and text[index : index + 1] == "(" else index + 1
        elif text[index] == "\n" and len(quote) == 1:
            return index  # not closed on its line: not a string after all
        else:
            index += 1
    return index


def _end_of_interpolation(text: str, start: int) -> int:
    depth, index = 0, start
    while index < len(text):
        if match := re.compile(r'#*"""|#*"').match(text, index):
            index = _end_of_string(text, index, match.group(0), True)
            continue
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        index += 1
        if depth == 0:
            return index
    return index


def _matching(code: str, start: int) -> int:
    """The place after the bracket that closes the one at `start`."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opening, closing = code[start], pairs[code[start]]
    depth = 0
    for index in range(start, len(code)):
        depth += (code[index] == opening) - (code[index] == closing)
        if depth == 0:
            return index + 1
    return len(code)


def _count(parameters: str) -> int:
    """How many parameters a list between its parentheses has."""
    depth, commas = 0, 0
    text = parameters.replace("->", "  ")
    for char in text:
        depth += (char in "([{<") - (char in ")]}>")
        commas += char == "," and depth == 0
    return commas + 1 if text.strip() not in ("", "void") else 0


DECLARATION = re.compile(
    r"\bfunc\s+(?P<func>[^\s(<]+)|^[ \t]*(?:(?:@\w+|[a-z]+(?:\([a-z]+\))?)[ \t]+)*(?P<init>init)[?!]?(?=[(<])", re.MULTILINE
)
CONTINUATION = re.compile(r"\s*(->|async\b|throws\b|rethrows\b|where\b|\{|[^\n]*?,\s*$)")


def _body_start(code: str, place: int) -> int | None:
    """Where the body of a Swift function begins whose parameters end at `place`; None for a requirement."""
    depth = 0
    while place < len(code):
        char = code[place]
        depth += (char in "([") - (char in ")]")
        if char == "{" and depth == 0:
            return place
        if char in "};" and depth == 0:
            return None
        if char == "\n" and depth == 0:
            before = code[code.rfind("\n", 0, place) + 1 : place].rstrip()
            if not CONTINUATION.match(code, place) and not before.endswith(("->", "where", ",", ":", "&")):
                return None
        place += 1
    return None


def _function(code: str, name: str, start: int, opening: int, body: int) -> tuple[Function, int]:
    """The function whose parameters begin at `opening` and whose body begins at `body`, and where it ends."""
    end = _matching(code, body)
    lines = tuple(line.strip() for line in code[body + 1 : end - 1].split("\n") if line.strip())
    first = code.count("\n", 0, start) + 1
    parameters = _count(code[opening + 1 : _matching(code, opening) - 1])
    return Function(name, first, code.count("\n", start, end) + 1, parameters, lines), end


def swift_functions(text: str) -> list[Function]:
    code = without_comments(text)
    found = []
    for match in DECLARATION.finditer(code):
        name = match.group("func") or "init"
        place = match.end()
        if place < len(code) and code[place] == "<":
            place = code.find("(", place)
        opening = code.find("(", place)
        if opening < 0:
            continue
        body = _body_start(code, _matching(code, opening))
        if body is not None:
            start = match.start() + (len(match.group(0)) - len(match.group(0).lstrip()))
            found.append(_function(code, name, start, opening, body)[0])
    return found


def c_functions(text: str) -> list[Function]:
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.MULTILINE)
    code = without_comments(code, swift=False)
    found, start, index = [], 0, 0
    while index < len(code):
        if code[index] in ";}":
            start = index + 1
        elif code[index] == "{":
            header = code[start:index]
            match = re.search(r"([\w:~]+)\s*\(", header)
            is_type = re.search(r"\b(namespace|extern|class|struct|union|enum)\b", header) and not match
            if is_type:
                start = index + 1
            elif match and "=" not in header[: match.start()] and re.search(r"\)[^()]*$", header):
                leading = start + len(header) - len(header.lstrip())
                function, end = _function(code, match.group(1), leading, start + match.end() - 1, index)
                found.append(function)
                start = index = end
                continue
            else:
                start = index = _matching(code, index)
                continue
        index += 1
    return found


def python_functions(text: str) -> list[Function]:
    found = []
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            count = len([one for one in given if one.arg not in ("self", "cls")])
            body = tuple(line.strip() for line in lines[node.body[0].lineno - 1 : node.end_lineno] if line.strip())
            found.append(Function(node.name, node.lineno, node.end_lineno - node.lineno + 1, count, body))
    return found


def functions(path: Path) -> list[Function]:
    """The functions of a source file, by its suffix."""
    text = path.read_text()
    if path.suffix in SWIFT:
        return swift_functions(text)
    return python_functions(text) if path.suffix in PYTHON else c_functions(text)
