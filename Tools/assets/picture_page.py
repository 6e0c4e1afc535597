#!/usr/bin/env python3
"""Takes the README's pictures: the review page of the sample batch, as headless Chromium shows it.

    python3 Tools/assets/picture_page.py [--program PROGRAM]

Writes Samples/review-list.jpg and Samples/review-item.jpg. Needs Chromium (Tools/install-packages chromium).
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT, SAMPLE_MODELS, SAMPLES, built_program

sys.path.insert(0, str(ROOT / "Tests" / "ReviewPage"))

import browser

QUALITY = 82
ITEM = "nifti-ras"


def sample_batch(program: Path, folder: Path, out: Path) -> None:
    """The batch of Tools/demo, over a copy of the samples, since the page shows their paths."""
    for name in ("Volumes", "Photos"):
        shutil.copytree(SAMPLES / name, folder / name)
    models = ["urinary-tract-ct", "skin-lesions-demo", "book-spines"]
    command = [program, "run", "Volumes", "Photos/lesions", "Photos/shelves", "--output", out, "--quiet"]
    command += [part for model in models for part in ("--model", model)]
    command += ["--only", "skin-lesions-demo=lesions/*", "--only", "book-spines=shelves/*"]
    command += ["--metadata", "Photos/lesions/metadata.csv"]
    subprocess.run(command, cwd=folder, env={**os.environ, "NOCTURNE_MODELS": str(SAMPLE_MODELS)}, check=True)


def picture(page: browser.Browser, target: Path) -> None:
    time.sleep(1)  # until all thumbnails are drawn
    shown = page.call("Page.captureScreenshot", format="jpeg", quality=QUALITY)
    target.write_bytes(base64.b64decode(shown["data"]))
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1000} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="a built program; default: that of the release build")
    program = (parser.parse_args().program or built_program()).resolve()
    with tempfile.TemporaryDirectory(prefix="samples-") as name:
        out = Path(name) / "results"
        sample_batch(program, Path(name), out)
        page = browser.Browser()
        try:
            page.size(1280, 900)
            page.open(out / "index.html")
            page.evaluate("window.scrollTo(0, document.querySelector('#shown').offsetTop - 72)")
            picture(page, SAMPLES / "review-list.jpg")
            page.open(out / "index.html", f"#item={ITEM}")
            picture(page, SAMPLES / "review-item.jpg")
        finally:
            page.close()


if __name__ == "__main__":
    main()
