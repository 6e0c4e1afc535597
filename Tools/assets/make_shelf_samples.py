"""Draws Samples/Photos/shelves: three synthetic shelves that book-spines was not trained on.

    python Tools/assets/make_shelf_samples.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.command import no_arguments
from nocturne_tools.paths import SAMPLES
from nocturne_tools.shelves.picture import draw_shelf

FOLDER = SAMPLES / "Photos" / "shelves"
SHELVES = {"one-row": (9011, 10), "rows": (9002, 22), "few": (9003, 5)}


def main() -> None:
    no_arguments(__doc__)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (seed, books) in SHELVES.items():
        shelf = draw_shelf(seed, books, scale=1.6)
        Image.fromarray(shelf.image).save(FOLDER / f"{name}.jpg", "JPEG", quality=82)
        print(name, shelf.count, shelf.image.shape)


if __name__ == "__main__":
    main()
