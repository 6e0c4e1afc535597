"""Reads pictures with the Pillow and pillow-heif of the Python that runs it.

    PYTHON Tools/lib/nocturne_tools/format_files/read_pictures.py FOLDER < LIST

LIST has a path in each line. Writes FOLDER/NUMBER.npy for each: upright, on white, RGB; and prints the release of libheif.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pillow_heif
from PIL import Image, ImageOps


def upright(path: Path) -> np.ndarray:
    """[height, width, 3] of uint8."""
    pillow_heif.register_heif_opener()
    with Image.open(path) as image:
        picture = ImageOps.exif_transpose(image)
        if picture.mode in ("RGBA", "LA"):
            above = picture.convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above)
        return np.asarray(picture.convert("RGB"))


def main() -> None:
    folder = Path(sys.argv[1])
    for number, line in enumerate(sys.stdin.read().splitlines()):
        np.save(folder / f"{number}.npy", upright(Path(line)))
    print(pillow_heif.libheif_version())


if __name__ == "__main__":
    main()
