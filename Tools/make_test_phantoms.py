"""Writes Tests/Fixtures/Phantoms: two phantoms of the evaluation with their exact labels, and a README.

python Tools/make_test_phantoms.py
"""

from __future__ import annotations

from pathlib import Path

from evaluate_urinary_tract import CASES
from phantoms.anatomy import LABELS, draw
from phantoms.phantom import make_grid, render, save_nifti

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "Phantoms"
SEEDS = (501, 502)

README = """# Phantom fixtures

Synthetic torsos with exact labels, no medical use; licence Apache-2.0. Made by `python Tools/make_test_phantoms.py`;
the same script gives the same bytes. The seeds were not used to train the demonstration model and are two of those in
`Samples/Models/urinary-tract-ct/REPORT.md`.

`seed-<n>.nii.gz` is the volume (int16, HU), `seed-<n>-labels.nii.gz` its labels (uint8): {labels}.

| Seed | Voxels (i, j, k) | Spacing (mm) | Orientation | Tilt about x, y, z (degrees) |
| --- | --- | --- | --- | --- |
{rows}
"""


def main() -> None:
    rows = []
    for case in (case for case in CASES if case.seed in SEEDS):
        shape, affine = make_grid(case.spacing, case.orientation, case.tilt)
        hu, labels = render(draw(case.seed), shape, affine)
        save_nifti(FOLDER / f"seed-{case.seed}.nii.gz", hu, affine)
        save_nifti(FOLDER / f"seed-{case.seed}-labels.nii.gz", labels, affine)
        rows.append(
            f"| {case.seed} | {' x '.join(map(str, shape))} | {' x '.join(map(str, case.spacing))} "
            f"| {case.orientation} | {', '.join(f'{t:g}' for t in case.tilt)} |"
        )
    names = ", ".join(f"{value} {name}" for name, value in LABELS.items())
    (FOLDER / "README.md").write_text(README.format(labels=names, rows="\n".join(rows)))


if __name__ == "__main__":
    main()
