"""Makes the two small fonts of the reports from DejaVu Sans: Latin letters and a few signs.

    python Tools/assets/make_report_fonts.py --fonts /usr/share/fonts/truetype/dejavu   # Debian: fonts-dejavu-core

They are part of the program so that a report has the same bytes on every machine, whatever fonts it has. The licence of
the originals requires another name for changed fonts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT

TARGET = ROOT / "Sources" / "CReportFonts"
CHARACTERS = [*range(0x20, 0x7F), *range(0xA0, 0x180), *map(ord, "–—‘’“”•…€≈≠≤≥−×�")]


def make(source: Path, target: Path, style: str) -> None:
    """Writes the subset of `source` without hinting, kerning and ligatures, under the name Nocturne Sans."""
    font = TTFont(source)
    options = Options()
    options.hinting, options.layout_features, options.name_IDs, options.notdef_outline = False, [], [0, 13, 14], True
    options.drop_tables += ["FFTM", "GPOS", "GSUB", "GDEF", "kern", "DSIG"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=CHARACTERS)
    subsetter.subset(font)
    for identifier, text in (
        (1, "Nocturne Sans"),
        (2, style),
        (4, f"Nocturne Sans {style}"),
        (6, f"NocturneSans-{style}"),
    ):
        font["name"].setName(text, identifier, 3, 1, 0x409)
    font["head"].created = font["head"].modified = 3_600_000_000  # the same bytes every time
    font.recalcTimestamp = False
    font.save(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fonts", type=Path, required=True, help="folder with DejaVuSans.ttf and DejaVuSans-Bold.ttf")
    folder = parser.parse_args().fonts
    make(folder / "DejaVuSans.ttf", TARGET / "NocturneSans-Regular.ttf", "Regular")
    make(folder / "DejaVuSans-Bold.ttf", TARGET / "NocturneSans-Bold.ttf", "Bold")


if __name__ == "__main__":
    main()
