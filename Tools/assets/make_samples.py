"""Writes Samples/Volumes: three DICOM series and three NIfTI volumes of synthetic torsos.

    python Tools/assets/make_samples.py

The same script gives the same bytes.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.command import no_arguments
from nocturne_tools.paths import SAMPLES
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import make_grid, render, save_nifti
from nocturne_tools.phantoms.write_dicom import SeriesOptions, write_series

VOLUMES = SAMPLES / "Volumes"


@dataclass(frozen=True)
class Sample:
    """One sample volume; `spacing` (mm) and `orientation` are in array order (i, j, k)."""

    name: str
    seed: int
    spacing: tuple[float, float, float]
    orientation: str
    tilt: tuple[float, float, float]
    about: str
    dicom: SeriesOptions | None = None


VOLUME_SAMPLES = [
    Sample(
        "dicom-axial-head-first",
        9001,
        (3.2, 3.2, 5.0),
        "LPI",
        (0, 0, 0),
        "axial, first slice at the head, Explicit VR Little Endian, signed",
        SeriesOptions(9001, 1, "AXIAL HEAD FIRST", "HFS", "explicit", True),
    ),
    Sample(
        "dicom-axial-feet-first",
        9002,
        (3.0, 3.0, 4.5),
        "LPS",
        (0, 0, 0),
        "axial, first slice at the feet, RLE Lossless, unsigned with intercept -1024, patient position FFS",
        SeriesOptions(9002, 1, "AXIAL FEET FIRST", "FFS", "rle", False),
    ),
    Sample(
        "dicom-coronal",
        9003,
        (3.1, 3.1, 4.0),
        "LIP",
        (0, 0, 0),
        "coronal, Implicit VR Little Endian, signed",
        SeriesOptions(9003, 1, "CORONAL", "HFS", "implicit", True),
    ),
    Sample("nifti-ras.nii.gz", 9004, (3.0, 3.0, 4.5), "RAS", (0, 0, 0), "stored R, A, S"),
    Sample(
        "nifti-oblique-lps.nii.gz",
        9005,
        (3.2, 3.2, 5.0),
        "LPS",
        (4, -3, 5),
        "stored L, P, S and rotated by 4, -3 and 5 degrees about x, y and z",
    ),
    Sample(
        "nifti-las-anisotropic.nii.gz",
        9006,
        (2.6, 3.4, 6.0),
        "LAS",
        (0, 0, 0),
        "stored L, A, S with three different spacings",
    ),
]

README = """# Sample volumes

Synthetic torsos for demonstration, no medical use. No patient was scanned: the anatomy is drawn from a seed by
`Tools/lib/nocturne_tools/phantoms`, in a field of view of 330 x 250 x 330 mm from above the kidneys to below the bladder,
in Hounsfield units with noise. Left kidney, right kidney, both ureters and the bladder are in every volume. Licence:
Apache-2.0.

All files are written by `python Tools/assets/make_samples.py`; the same script gives the same bytes.

| Volume | Description | Seed | Voxels (i, j, k) | Spacing (mm) | Size |
| --- | --- | --- | --- | --- | --- |
{rows}

`Volumes/` has three DICOM series (a folder each, one file per slice, file names in shuffled order, patient
`PHANTOM^SYNTHETIC`) and three NIfTI-1 files. i, j, k are the stored axes: in DICOM i runs along a row and j down a
column; in NIfTI i is fastest on disk. The seeds are not among those the demonstration model was trained on.

`Models/urinary-tract-ct` is the demonstration model with its own `REPORT.md`.

# Sample photos

`Photos/lesions` has eight drawings (600 x 450, JPEG) of the seven classes of `Models/skin-lesions-demo`, and
`metadata.csv` with artificial people. Four are stored rotated, with the EXIF orientation. No photograph of a person is
among them; no medical use. They are written by `python Tools/assets/make_lesion_samples.py`, from seeds the model was not
trained on. Licence: Apache-2.0.

`Photos/shelves` has three drawn bookshelves, written by `python Tools/assets/make_shelf_samples.py`. Licence: Apache-2.0.

`Models/skin-lesions-demo` and `Models/book-spines` are the demonstration models with their own `REPORT.md`.
"""


def main() -> None:
    no_arguments(__doc__)
    shutil.rmtree(VOLUMES, ignore_errors=True)
    rows = []
    for sample in VOLUME_SAMPLES:
        shape, affine = make_grid(sample.spacing, sample.orientation, sample.tilt)
        hu, _ = render(draw(sample.seed), shape, affine)
        path = VOLUMES / sample.name
        if sample.dicom is not None:
            write_series(path, hu, affine, sample.dicom)
            size = sum(file.stat().st_size for file in path.iterdir())
        else:
            save_nifti(path, hu, affine)
            size = path.stat().st_size
        rows.append(
            f"| `{sample.name}` | {sample.about} | {sample.seed} | {' x '.join(map(str, shape))} "
            f"| {' x '.join(map(str, sample.spacing))} | {size / 1e6:.1f} MB |"
        )
    (SAMPLES / "README.md").write_text(README.format(rows="\n".join(rows)))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
