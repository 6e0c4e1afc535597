#!/usr/bin/env python3
"""Adopts label maps edited with nibabel, and checks with numpy and SciPy what they changed, and that nothing else changed.

    Tools/proofs/adopted_map.py NOCTURNE [--keep FOLDER]

Runs the sample volumes with DICOM segmentations and structure sets. Edits one NIfTI item (the left kidney is removed, the bladder
dilated by two voxels; stored in the order RAS) and one DICOM item (the right kidney eroded by one voxel; stored without names).
Checks label map, counts, volumes, boxes, centroids, components, intensities, surfaces and the DICOM segmentation against the
edited voxels; which files of the tree differ; `verify`; that `run` and `resume` leave the tree alone; and that `--undo` restores
it. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pydicom
from numpy.typing import NDArray
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.differences import report
from nocturne_tools.paths import SAMPLE_MODELS, SAMPLES
from nocturne_tools.result_tree import differing

Labels = NDArray[np.uint8]
BALL = ndimage.generate_binary_structure(3, 1)
# Files about the whole batch that name an item's values.
REPORTS = {"batch.json", "statistics.csv", "measurements.csv"}


def hashes(out: Path) -> dict[str, str]:
    """SHA-256 of every file but the journal's and the events, with the times in `run.json`."""
    files = (path for path in sorted(out.rglob("*")) if path.is_file() and ".nocturne" not in path.parts)
    digests = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    digests.pop("events.jsonl")
    return digests


def remove_and_dilate(labels: Labels) -> Labels:
    """Without label 1, and with label 5 grown by two voxels into the background."""
    grown = ndimage.binary_dilation(labels == 5, BALL, iterations=2)
    return np.where(grown & (labels == 0), 5, np.where(labels == 1, 0, labels)).astype(np.uint8)


def erode(labels: Labels) -> Labels:
    """Label 2 without its outermost voxels."""
    kept = ndimage.binary_erosion(labels == 2, BALL)
    return np.where((labels == 2) & ~kept, 0, labels).astype(np.uint8)


def store(out: Path, item: str, folder: Path) -> tuple[Path, Labels, NDArray[np.float64]]:
    """The file with the edited map of an item, its voxels in the order of the item, and the affine."""
    source = nibabel.Nifti1Image.from_filename(out / item / "segmentation.nii.gz")
    voxels = np.asarray(source.dataobj).astype(np.uint8)
    path = folder / f"{item}-edited.nii.gz"
    if item.startswith("nifti"):
        edited = remove_and_dilate(voxels)
        image = nibabel.as_closest_canonical(nibabel.Nifti1Image(edited, source.affine))
    else:
        edited = erode(voxels)
        image = nibabel.Nifti1Image(edited, source.affine)
    nibabel.save(image, path)
    return path, edited, source.affine


def corners_of(path: Path) -> NDArray[np.float64]:
    """The corners of the triangles of a binary STL: triangles, corners, x y z."""
    content = path.read_bytes()
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    count = int.from_bytes(content[80:84], "little")
    return np.frombuffer(content, record, count, 84)["corners"].astype(np.float64)


def stl(path: Path) -> tuple[float, NDArray[np.float64]]:
    """Volume in mm³ by the divergence theorem, and the centroid in RAS, of a binary STL in LPS."""
    corners = corners_of(path)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    parts = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    centroid = (parts[:, None] * (a + b + c) / 4).sum(0) / parts.sum()
    return float(parts.sum()), centroid * [-1, -1, 1]


def unedited(out: Path, item: str, edited: Labels) -> dict[str, NDArray[np.float64]]:
    """The surfaces of the labels of an item that the edited map has as before."""
    before = np.asarray(nibabel.Nifti1Image.from_filename(out / item / "segmentation.nii.gz").dataobj)
    labels = json.loads((out / item / "result.json").read_text())["labels"]
    same = [each for each in labels if np.array_equal(before == each["value"], edited == each["value"])]
    return {each["mesh"]["file"]: corners_of(out / item / each["mesh"]["file"]) for each in same}


class Check:
    """Collects what is wrong, and the largest deviations."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.largest: dict[str, float] = {}

    def equal(self, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            self.faults.append(f"{what}: {found} instead of {expected}")

    def near(self, kind: str, what: str, found: float, expected: float, limit: float) -> None:
        difference = abs(found - expected)
        self.largest[kind] = max(self.largest.get(kind, 0), difference)
        if not difference <= limit:
            self.faults.append(f"{what}, {kind}: {found} instead of {expected}")


def check_label(
    check: Check, what: str, label: dict[str, Any], mask: NDArray[np.bool_], affine: NDArray[np.float64]
) -> None:
    """The figures of one label in `result.json` against its voxels."""
    voxel = abs(np.linalg.det(affine[:3, :3]))
    check.equal(f"{what}, voxels", label["voxelCount"], int(mask.sum()))
    expected = float(mask.sum() * voxel)
    # The file's affine is in single precision.
    check.near("volume in mm³", what, label["volumeMm3"] or 0, expected, 1e-3 + 1e-7 * expected)
    if not mask.any():
        check.equal(f"{what}, surface", label["mesh"], None)
        return
    places = np.argwhere(mask)
    check.equal(f"{what}, box", label["boundingBox"]["lower"], places.min(0).tolist())
    check.equal(f"{what}, end of the box", label["boundingBox"]["upper"], places.max(0).tolist())
    centroid = nibabel.affines.apply_affine(affine, places.mean(0))
    check.near("centroid in mm", what, float(np.abs(np.array(label["centroidRasMm"]) - centroid).max()), 0, 1e-4)
    _, components = ndimage.label(mask, np.ones((3, 3, 3)))
    check.equal(f"{what}, components", label["components"], components)


def check_surface(check: Check, what: str, path: Path, mask: NDArray[np.bool_], affine: NDArray[np.float64]) -> None:
    """The surface of one label against its voxels."""
    check.equal(f"{what}, file of the surface", path.exists(), bool(mask.any()))
    if not mask.any() or not path.exists():
        return
    volume, centroid = stl(path)
    voxels = mask.sum() * abs(np.linalg.det(affine[:3, :3]))
    check.near("volume of the surface, relative", what, volume / voxels, 1, 0.01)
    expected = nibabel.affines.apply_affine(affine, np.argwhere(mask).mean(0))
    # Smoothing moves what is one or two voxels thin.
    limit = nibabel.affines.voxel_sizes(affine).max()
    check.near("centroid of the surface in mm", what, float(np.abs(centroid - expected).max()), 0, limit)


def check_segmentation(check: Check, what: str, path: Path, counts: dict[str, int]) -> None:
    """The pixels of every segment of a DICOM segmentation."""
    image = pydicom.dcmread(path)
    names = {int(each.SegmentNumber): str(each.SegmentLabel) for each in image.SegmentSequence}
    found = dict.fromkeys(counts, 0)
    frames = image.pixel_array.reshape(-1, image.Rows, image.Columns)
    for frame, group in zip(frames, image.PerFrameFunctionalGroupsSequence, strict=True):
        number = int(group.SegmentIdentificationSequence[0].ReferencedSegmentNumber)
        found[names[number]] += int(frame.astype(bool).sum())
    check.equal(f"{what}, pixels in the DICOM segmentation", found, counts)


def check_item(check: Check, out: Path, item: str, edited: Labels, affine: NDArray[np.float64]) -> None:
    """Everything in the folder of an item, and its rows of `statistics.csv`, against the edited voxels."""
    stored = nibabel.Nifti1Image.from_filename(out / item / "segmentation.nii.gz")
    check.equal(f"{item}, differing voxels", int((np.asarray(stored.dataobj) != edited).sum()), 0)
    check.near("affine", item, float(np.abs(stored.affine - affine).max()), 0, 1e-5)
    result = json.loads((out / item / "result.json").read_text())
    with (out / "statistics.csv").open() as file:
        rows = {(row["label"], row["measure"]): row["value"] for row in csv.DictReader(file) if row["item"] == item}
    counts = {}
    for label in result["labels"]:
        mask = edited == label["value"]
        what = f"{item} {label['name']}"
        counts[label["name"]] = int(mask.sum())
        check_label(check, what, label, mask, affine)
        check_surface(check, what, out / item / f"meshes/{label['name']}.stl", mask, affine)
        check.equal(f"{what}, row of the table", float(rows[label["name"], "voxelCount"]), float(mask.sum()))
        if item.startswith("nifti") and mask.any():
            image = nibabel.Nifti1Image.from_filename(SAMPLES / "Volumes" / f"{item}.nii.gz").get_fdata()
            check.near("mean intensity", what, label["intensity"]["mean"], image[mask].mean(), 1e-4)
    if (out / item / "segmentation.dcm").exists():
        check_segmentation(check, item, out / item / "segmentation.dcm", counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--keep", type=Path, help="a folder for maps and results, which is kept")
    arguments = parser.parse_args()
    check = Check()

    def call(*command: object) -> None:
        text = [arguments.nocturne, *map(str, command)]
        ended = subprocess.run(text, check=False, capture_output=True, text=True)
        check.equal(
            " ".join(text[1:2]) + f" {ended.stderr.strip()[-300:] if ended.returncode else ''}", ended.returncode, 0
        )

    with tempfile.TemporaryDirectory(prefix="adopted-map-") as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "out"
        run: list[object] = ["run", SAMPLES / "Volumes", "--model", SAMPLE_MODELS / "urinary-tract-ct", "--output", out]
        run += ["--quiet", "--dicom-seg", "--rtstruct"]
        call(*run)
        untouched = hashes(out)
        for item in ("nifti-oblique-lps", "dicom-axial-head-first"):
            before = hashes(out)
            path, edited, affine = store(out, item, folder)
            kept = unedited(out, item, edited)
            call("review", "adopt", out, item, path, "--quiet")
            after = hashes(out)
            check_item(check, out, item, edited, affine)
            for name, corners in kept.items():
                now = corners_of(out / item / name)
                difference = float(np.abs(now - corners).max()) if now.shape == corners.shape else np.inf
                check.near("place of a label that was not edited, in mm", f"{item}/{name}", difference, 0, 1e-4)
            check.equal(
                f"{item}, the model's map",
                after.get(f"{item}/segmentation-model.nii.gz"),
                before[f"{item}/segmentation.nii.gz"],
            )
            changed = differing(after, before)
            others = [
                name for name in changed if not name.startswith((item + "/", "review/data/")) and name not in REPORTS
            ]
            check.equal(f"{item}, files of others that differ", others, [])
            same = [name for name in before if name.startswith(item + "/") and name not in changed]
            print(
                f"{item}: {len(changed)} of {len(after)} files differ: {', '.join(changed)}\n  the same: {', '.join(same)}"
            )
        adopted = hashes(out)
        call("verify", out)
        for command in (run, ["resume", out, "--quiet"]):
            call(*command)
            check.equal(f"files that differ after {command[0]}", differing(hashes(out), adopted), [])
        for item in ("nifti-oblique-lps", "dicom-axial-head-first"):
            call("review", "adopt", out, item, "--undo", "--quiet")
        undone = [name for name in differing(hashes(out), untouched) if not name.endswith("/run.json")]
        check.equal("files that differ after --undo", undone, [])
        call("verify", out)
    return report(check.largest, check.faults)


if __name__ == "__main__":
    sys.exit(main())
