"""Draws the sample photos of `Samples/Photos/lesions` and their metadata.

    python Tools/assets/make_lesion_samples.py

Synthetic, like the model they belong to. Some are stored rotated, with the EXIF orientation that undoes it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import SAMPLES
from nocturne_tools.skin.photographs import person, photograph

FOLDER = SAMPLES / "Photos" / "lesions"
# Name, class, seed, orientation tag.
PHOTOS = [
    ("lesion-01", "nv", 11, 1),
    ("lesion-02", "mel", 12, 6),
    ("lesion-03", "bcc", 13, 1),
    ("lesion-04", "akiec", 14, 3),
    ("lesion-05", "bkl", 15, 1),
    ("lesion-06", "df", 16, 8),
    ("lesion-07", "vasc", 17, 1),
    ("lesion-08", "nv", 18, 5),
]
# The transformation from an upright picture to the one that a file with that tag stores.
STORED = {
    3: Image.Transpose.ROTATE_180,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = ["image,age_approx,sex,anatom_site_general"]
    for name, kind, seed, orientation in PHOTOS:
        picture = Image.fromarray(photograph(kind, seed, 450, 600))
        exif = Image.Exif()
        if orientation != 1:
            picture = picture.transpose(STORED[orientation])
            exif[0x0112] = orientation
        picture.save(FOLDER / f"{name}.jpg", quality=82, exif=exif)
        patient = person(kind, np.random.default_rng(seed))
        facts = [patient.age, patient.sex, patient.site]
        rows.append(",".join([name] + ["" if fact is None else str(fact) for fact in facts]))
    (FOLDER / "metadata.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
