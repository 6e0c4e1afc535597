"""The page of the JSON files, from their schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .command_line import cell

NAME = "Schemas.md"
HEAD = """# JSON files

Every member of the JSON files and of the JSON output of commands.

## Overview

This page is written by `Tools/reference` from the JSON Schemas in `Samples/Schemas`, and a check compares the two. The schemas are part
of the program, and `nocturne verify` applies them. Members that are not marked as optional are always present; null means not measured
or not known. `[]` stands for each element of a list, `*` for any name.
"""

Schema = dict[str, Any]


def resolved(schema: Schema, root: Schema) -> Schema:
    """A schema with the definition that it refers to."""
    if "$ref" in schema:
        definition = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return {**definition, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def kind(schema: Schema) -> str:
    """The type and the values, as in `integer, at least 1`."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return ", ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
    types = schema.get("type", "any")
    text = " or ".join(types) if isinstance(types, list) else types
    if "minimum" in schema and "maximum" in schema:
        return f"{text}, {schema['minimum']} to {schema['maximum']}"
    if schema.get("minimum"):
        return f"{text}, at least {schema['minimum']}"
    if schema.get("maximum") is not None:
        return f"{text}, at most {schema['maximum']}"
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least and least == most:
        return f"{text} of {least}"
    return text


def members(schema: Schema, root: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, type and meaning of everything below a schema."""
    required = set(schema.get("required", []))
    for name, below in schema.get("properties", {}).items():
        entry = resolved(below, root)
        place = f"{path}.{name}".lstrip(".")
        meaning = entry.get("description", "")
        if name not in required:
            meaning = f"Optional. {meaning}".strip()
        yield place, kind(entry), meaning
        yield from inside(entry, root, place)


def inside(schema: Schema, root: Schema, place: str) -> Iterator[tuple[str, str, str]]:
    """The members of an object, of the elements of a list, and of an object with any names."""
    yield from members(schema, root, place)
    if isinstance(items := schema.get("items"), dict):
        element = resolved(items, root)
        if "properties" not in element and (element.get("type") != "array" or "enum" in element):
            yield f"{place}[]", kind(element), element.get("description", "")
        yield from inside(element, root, f"{place}[]")
    if isinstance(others := schema.get("additionalProperties"), dict):
        value = resolved(others, root)
        yield f"{place}.*", kind(value), value.get("description", "")
        yield from inside(value, root, f"{place}.*")


def section(name: str, schema: Schema) -> Iterator[str]:
    yield from (f"## {schema['title']}", "", f"`{name}`: {schema.get('description', '')}".rstrip(": "), "")
    yield from ("| member | type | meaning |", "| --- | --- | --- |")
    for place, types, meaning in members(schema, schema):
        yield f"| `{place}` | {cell(types)} | {cell(meaning).replace('<', '&lt;')} |"
    yield ""


def page(folder: Path) -> str:
    """The text of the page about all schemas of a folder."""
    parts = [HEAD]
    for path in sorted(folder.glob("*.schema.json")):
        parts.append("\n".join(section(path.name, json.loads(path.read_text()))))
    return "\n".join(parts).rstrip() + "\n"
