"""The manual as HTML files that a browser opens from a folder, without a server and without scripts, as the packages contain it."""

from __future__ import annotations

import html
import re
import subprocess
import tempfile
from pathlib import Path

from . import site

HEAD = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 52rem; margin: auto; padding: 1rem; font: 16px/1.5 sans-serif; }}
pre {{ overflow-x: auto; padding: .6rem; background: #8882; }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; }}
td, th {{ padding: .2rem .6rem; border: 1px solid #8886; text-align: left; vertical-align: top; }}
:root {{ color-scheme: light dark; }}
</style>
<nav><a href="index.html">Nocturne: contents</a></nav>
"""


def file_name(page: str) -> str:
    return "index.html" if page + ".md" == site.ROOT_PAGE else page + ".html"


def linked(text: str, titles: dict[str, str]) -> str:
    """HTML in which links to pages lead to their files; a link without a text has the title of its page."""

    def link(match: re.Match[str]) -> str:
        page, shown = match.groups()
        return f'<a href="{file_name(page)}">{titles[page] if shown == f"doc:{page}" else shown}</a>'

    return re.sub(r'<a href="doc:(\w+)">(.*?)</a>', link, text, flags=re.DOTALL)


def write(out: Path) -> None:
    """Writes one file for each page of all modules. Needs cmark-gfm."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        sources = sorted(site.gather(Path(work), symbols=False).glob("*.md"))
        texts = {path.stem: re.sub(r"@Metadata \{.*?\n\}\n", "", path.read_text(), flags=re.DOTALL) for path in sources}
    titles = {page: html.escape(text.partition("\n")[0].lstrip("# ").strip("`")) for page, text in texts.items()}
    for page, text in texts.items():
        command = ["cmark-gfm", "--extension", "table", "--to", "html"]
        body = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        (out / file_name(page)).write_text(HEAD.format(title=titles[page]) + linked(body, titles))
