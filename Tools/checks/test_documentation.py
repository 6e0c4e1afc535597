"""Tests of the documentation's tools: its commands, its generated pages and its site.

    python3 -m unittest Tools/checks/test_documentation.py
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from nocturne_tools.documentation import command_line, examples, failure_codes, schemas, site

PAGE = """# Page

```sh
# A comment by itself is no command.
export WORD=text
printf '%s' "$WORD" \\
    > file
cat > here <<'END'
two
lines
END
for name in file here; do
    cat "$name"
done
exit_with() { return "$1"; }
exit_with 3    # exit code 3
```

<!-- not run: needs a network -->
```sh
curl example.org
```

```json
{}
```
"""

SCHEMA = {
    "title": "T",
    "required": ["list"],
    "properties": {
        "list": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
        "names": {"type": "object", "additionalProperties": {"type": "string"}},
        "state": {"enum": ["a", None], "description": "Either | or."},
    },
    "$defs": {"entry": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1}}}},
}

SWIFT_CODES = """
public enum PictureErrorCode: String, FormatErrorCode {
    public static let domain = "picture"
    /// Cut off.
    case truncated
    case tooLarge, noRows
}
extension FaultCode {
    /// The disk has no space: see ``Disk``.
    public static let full = FaultCode("disk", "full")
}
"""
SWIFT_REMEDIES = """
    private static let retry = "Try \\"again\\"."
    private static let domains = [
        "disk": retry,
        "picture":
            "Copy it.",
    ]
    private static let exact = [
        "picture.truncated": retry,
    ]
"""

HELP = {
    "commandName": "tool",
    "abstract": "Does things.",
    "subcommands": [
        {
            "commandName": "run",
            "abstract": "Runs.",
            "arguments": [
                {"kind": "positional", "valueName": "input", "abstract": "What is read."},
                {
                    "kind": "option",
                    "valueName": "a|b",
                    "names": [{"kind": "long", "name": "form"}],
                    "preferredName": {"kind": "long", "name": "form"},
                    "isOptional": True,
                    "abstract": "How.",
                    "defaultValue": "a",
                },
                {"kind": "flag", "names": [{"kind": "long", "name": "version"}], "isOptional": True, "abstract": "Show."},
            ],
        }
    ],
}


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = Path(self.folder.name) / "page.md"

    def outcomes(self, text: str, limit: float = 20) -> list[examples.Outcome]:
        self.page.write_text(text)
        found = [one for block in examples.blocks(self.page) if block.reason is None for one in examples.examples(block)]
        return examples.run(found, Path(self.folder.name), dict(os.environ), limit)

    def test_commands_are_found_and_run_in_one_shell(self) -> None:
        outcomes = self.outcomes(PAGE)
        self.assertEqual([one.example.line for one in outcomes], [5, 6, 8, 12, 15, 16])
        self.assertEqual([one.code for one in outcomes], [0, 0, 0, 0, 0, 3])
        self.assertEqual([one.example.expected for one in outcomes], [0, 0, 0, 0, 0, 3])
        self.assertEqual(outcomes[3].output, "texttwo\nlines\n")

    def test_marked_blocks_have_their_reason(self) -> None:
        self.page.write_text(PAGE)
        self.assertEqual([block.reason for block in examples.blocks(self.page)], [None, "needs a network"])

    def test_a_command_that_fails_does_not_hide_the_next(self) -> None:
        outcomes = self.outcomes("```sh\nls nothing-here\ntrue\n```\n")
        self.assertNotEqual(outcomes[0].code, outcomes[0].example.expected)
        self.assertIn("nothing-here", outcomes[0].output)
        self.assertEqual(outcomes[1].code, 0)

    def test_a_command_that_does_not_end_is_ended(self) -> None:
        outcomes = self.outcomes("```sh\ntrue\nsleep 60\ntrue\n```\n", limit=1)
        self.assertEqual([one.code for one in outcomes], [0, None, None])

    def test_a_command_without_an_end_is_an_error(self) -> None:
        with self.assertRaises(SystemExit):
            self.outcomes("```sh\ncat <<END\n```\n")


class GeneratedPages(unittest.TestCase):
    def test_members_of_a_schema(self) -> None:
        self.assertEqual(
            list(schemas.members(SCHEMA, SCHEMA)),
            [
                ("list", "array", ""),
                ("list[].size", "integer, at least 1", ""),
                ("names", "object", "Optional."),
                ("names.*", "string", ""),
                ("state", "`a`, null", "Optional. Either | or."),
            ],
        )
        self.assertIn("Either \\| or.", "\n".join(schemas.section("t.schema.json", SCHEMA)))

    def test_options_of_a_command(self) -> None:
        text = command_line.page(HELP)
        self.assertIn("## tool run", text)
        self.assertIn("| `--form <a\\|b>` | How. (default: a) |", text)
        self.assertNotIn("| `--version`", text)


    def test_codes_of_reasons(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            sources = Path(name)
            self.assertIsNone(failure_codes.page(sources))
            (sources / failure_codes.REMEDIES).parent.mkdir(parents=True)
            (sources / failure_codes.REMEDIES).write_text(SWIFT_REMEDIES)
            (sources / "Codes.swift").write_text(SWIFT_CODES)
            text = failure_codes.page(sources) or ""
        self.assertIn("| `disk.full` | The disk has no space: see `Disk`. |  |", text)
        self.assertIn('| `picture.truncated` | Cut off. | Try "again". |', text)
        self.assertIn("| `picture.noRows` | No rows. |  |", text)
        self.assertIn("## picture\n\nCopy it.", text)
        self.assertIsNotNone(failure_codes.page(HERE.parents[1] / "Sources"))
        self.assertEqual(failure_codes.remedies('static let exact = [\n"a.b":\n "One "\n + "two.",')[1], {"a.b": "One two."})


class Readme(unittest.TestCase):
    def test_the_result_shown_is_that_of_the_sample_model(self) -> None:
        top = HERE.parents[1]
        shown = re.search(r'"digest": "([0-9a-f]+)…"', (top / "README.md").read_text())
        digest = hashlib.sha256((top / "Samples/Models/urinary-tract-ct/model.json").read_bytes()).hexdigest()
        self.assertIsNotNone(shown)
        # Of another model, the other figures are out of date too.
        self.assertTrue(digest.startswith(shown[1]), digest)


class Site(unittest.TestCase):
    def test_links_with_declarations_start_at_the_module(self) -> None:
        text = site.for_symbols("``Type`` of ``Other`` and <doc:Other>\n```\n``kept``\n```\n", "Module", {"Module", "Other"})
        self.assertEqual(text, "``Module/Type`` of ``Other`` and ``Other``\n```\n``kept``\n```\n")

    def test_articles_without_declarations(self) -> None:
        text = site.for_articles("# ``Module``\n\n``Type``, ``Module``\n\n## Topics\n\n### A\n- ``Type``\n\n### B\n- <doc:P>\n", {"Module"})
        self.assertEqual(text, "# Module\n\n`Type`, <doc:Module>\n\n## Topics\n\n### B\n- <doc:P>\n")

    def test_broken_links_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            out = Path(name)
            (out / "data/documentation").mkdir(parents=True)
            (out / "documentation/a").mkdir(parents=True)
            (out / "documentation/a/index.html").write_text("")
            links = ["/documentation/a#here", "/documentation/a#there", "/documentation/b", "https://example.org"]
            page = {"content": [{"anchor": "here"}], "references": [{"url": link} for link in links]}
            (out / "data/documentation/a.json").write_text(json.dumps(page))
            found = sorted(site.broken_links(out))
        self.assertEqual(len(found), 2)
        self.assertIn("#there has no such heading", found[0])
        self.assertIn("/documentation/b is not there", found[1])


if __name__ == "__main__":
    unittest.main()
