"""Draws Samples/Photos/shelves: three synthetic shelves that book-spines was not trained on.

    python Tools/make_shelf_samples.py
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from shelves.picture import draw_shelf

FOLDER = Path(__file__).resolve().parent.parent / "Samples" / "Photos" / "shelves"
SAMPLES = {"one-row": (9011, 10), "rows": (9002, 22), "few": (9003, 5)}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (seed, books) in SAMPLES.items():
        shelf = draw_shelf(seed, books, scale=1.6)
        Image.fromarray(shelf.image).save(FOLDER / f"{name}.jpg", "JPEG", quality=82)
        print(name, shelf.count, shelf.image.shape)


if __name__ == "__main__":
    main()
