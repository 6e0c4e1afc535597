#!/usr/bin/env python3
"""Compares what Nocturne reads from NRRD, MetaImage, HEIC and WebP with SimpleITK, pillow-heif and Pillow, and damages files.

    Tools/proofs/compare_formats.py NOCTURNE [--volumes FILE ...] [--photos FILE ...] [--heif-python PYTHON] [--only nrrd]

Makes files of every kind in the four formats, and writes the real volumes and photos that are given in them; a real file that is
in NRRD or MetaImage is read as it is. What is compared:

- Each voxel of a made volume, as float32: every voxel is a label, whose least and largest intensity `--existing-labels`
  measures. Real volumes have too many voxels for that: voxel n belongs to label n modulo 997, and its least,
  largest and mean intensity and number of voxels are compared.
- The grid of the label map that a run writes for the volume, as SimpleITK reads both, within 0.0001 mm (a millionth of
  coordinates above 100 mm), and its voxels with those above 0.5; for volumes without an orientation only this.
- Each pixel of a picture, upright and on white: the crop of the whole picture, in PNG, that instance segmentation writes where
  a network finds nothing.

pillow-heif brings its own libheif. Releases round colours of halved resolution and depths of 10 and 12 bits in other ways: with
another release than the program loads, values may differ by 3 of 255. PYTHON is another one whose pillow-heif has the program's
release (0.10.1 has that of Debian 12); then none may differ.

Damaged files are run one by one: each must be failed or set aside by the report, with a reason, within 20 s and 1 GiB, and
without a crash. Of some a picture may be read. Ends with 1 where anything is otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pillow_heif
import SimpleITK as sitk
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.format_files import damage, pictures, read_pictures, volumes
from nocturne_tools.format_files.damage import Damaged
from nocturne_tools.format_files.packages import write_nothing, write_threshold
from nocturne_tools.format_files.volumes import VolumeFile

LABELS = 997  # at most 1,000 values are a label map
MOST_SECONDS, MOST_BYTES = 20, 1 << 30
GRID_TOLERANCE = 1e-4  # mm; of coordinates above 100 mm a millionth: NIfTI stores them as float32
OTHER_RELEASE = 3
ENDINGS = {"nrrd": ["nrrd", "nhdr"], "metaimage": ["mha", "mhd"]}


@dataclass
class Batch:
    """The program, a folder for everything, and the packages."""

    nocturne: str
    work: Path
    threshold: Path
    nothing: Path

    def run(self, inputs: Path, out: Path, *options: str) -> None:
        command = [self.nocturne, "run", str(inputs), "--output", str(out), "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"exit {done.returncode}: {done.stderr.strip()}")


def numbered(reference: sitk.Image) -> sitk.Image:
    """A label map on the grid of a volume with a label for each voxel, or for every 997th."""
    count = reference.GetNumberOfPixels()
    labels = (np.arange(count) % min(count, LABELS) + 1).astype(np.uint16)
    made = sitk.GetImageFromArray(labels.reshape(reference.GetSize()[::-1]))
    made.CopyInformation(reference)
    return made


def expected_of(file: VolumeFile) -> sitk.Image:
    """What ITK reads; a unit other than millimetres is applied afterwards."""
    reference = sitk.ReadImage(file.path)
    reference.SetSpacing([file.unit * step for step in reference.GetSpacing()])
    reference.SetOrigin([file.unit * place for place in reference.GetOrigin()])
    return reference


def faults_of_values(reference: sitk.Image, result: Path) -> list[str]:
    """How the measures of labels differ from a volume's voxels."""
    if not result.exists():
        return ["no measures"]
    values = sitk.GetArrayViewFromImage(reference).ravel().astype(np.float32)
    entries = json.loads(result.read_text())["labels"]
    groups = min(len(values), LABELS)
    if len(entries) != groups:
        return [f"{len(entries)} labels instead of {groups}"]
    wrong = 0
    for entry in entries:
        group, found = values[entry["value"] - 1 :: groups], entry["intensity"]
        if found is None:  # the volume lies elsewhere than its label map
            return ["the intensities were not measured"]
        same = entry["voxelCount"] == len(group)
        same &= np.float32(found["minimum"]) == group.min() and np.float32(found["maximum"]) == group.max()
        mean = group.mean(dtype=np.float64)
        same &= abs(found["mean"] - mean) <= 1e-6 * max(1, abs(mean))
        wrong += not same
    return [f"{wrong} of {groups} labels have other values"] if wrong else []


def faults_of_grid(reference: sitk.Image, path: Path) -> list[str]:
    """How the label map that a run wrote differs from the grid of its volume, and from the voxels above 0.5."""
    if not path.exists():
        return ["no label map"]
    written = sitk.ReadImage(path)
    if written.GetSize() != reference.GetSize():
        return [f"a label map of {written.GetSize()} voxels instead of {reference.GetSize()}"]
    corners = [[float(bit * (n - 1)) for bit, n in zip(place, reference.GetSize())] for place in np.ndindex(2, 2, 2)]
    points = [[image.TransformContinuousIndexToPhysicalPoint(corner) for corner in corners] for image in (written, reference)]
    away = float(np.abs(np.subtract(*points)).max())
    limit = GRID_TOLERANCE * max(1, float(np.abs(points[1]).max()) / 100)
    faults = [f"the label map lies {away:.2g} mm away"] if away > limit else []
    above = sitk.GetArrayViewFromImage(reference).astype(np.float32) > 0.5
    other = int((above != (sitk.GetArrayViewFromImage(written) > 0)).sum())
    return faults + ([f"{other} voxels have another label"] if other else [])


def compare_volumes(batch: Batch, name: str, real: list[Path]) -> int:
    """Returns the number of files that differ."""
    folder = batch.work / name
    images, labels = folder / "images", folder / "labels"
    images.mkdir(parents=True)
    labels.mkdir()
    files = (volumes.write_nrrd if name == "nrrd" else volumes.write_meta_image)(images)
    made = len(files)
    files += volumes.write_real(real, images, ENDINGS[name])
    references = {file: expected_of(file) for file in files}
    for file, reference in references.items():
        if file.has_orientation:
            sitk.WriteImage(numbered(reference), labels / f"{file.path.stem}.nii.gz")
    quick = ["--meshes", "none", "--preview", "none"]
    batch.run(labels, folder / "values", "--existing-labels", "--label-images", str(images), *quick)
    batch.run(images, folder / "grids", "--model", str(batch.threshold), "--assume-orientation", *quick)
    different = 0
    for file, reference in references.items():
        path, faults = file.path, list[str]()
        if file.has_orientation:
            faults += faults_of_values(reference, folder / "values" / path.stem / "result.json")
        faults += faults_of_grid(reference, folder / "grids" / path.stem / "segmentation.nii.gz")
        different += bool(faults)
        if faults:
            print(f"  {path.name}: {'; '.join(faults)}")
    count = sum(reference.GetNumberOfPixels() for reference in references.values())
    print(f"{name}: {made} made and {len(files) - made} real files, {count:,} voxels; {different} files differ", flush=True)
    return different


def read_by(python: str | None, paths: list[Path], folder: Path) -> tuple[list[np.ndarray], str]:
    """The pictures as a Python's libraries read them, and the release of its libheif."""
    if python is None:
        return [read_pictures.upright(path) for path in paths], pillow_heif.libheif_version()
    folder.mkdir()
    command = [python, read_pictures.__file__, str(folder)]
    done = subprocess.run(command, input="\n".join(map(str, paths)), text=True, stdout=subprocess.PIPE, check=True)
    return [np.load(folder / f"{number}.npy") for number in range(len(paths))], done.stdout.strip()


def compare_pictures(batch: Batch, name: str, real: list[Path], pythons: list[str | None], system: str) -> int:
    """Returns the number of files that differ by more than is stated at the top."""
    folder = batch.work / name
    photos = folder / "photos"
    photos.mkdir(parents=True)
    paths = (pictures.write_heic if name == "heic" else pictures.write_webp)(photos)
    made = len(paths)
    paths += pictures.write_real(real, photos, name)
    batch.run(photos, folder / "out", "--model", str(batch.nothing), "--single-item-fallback", "--crops", "png")
    different = 0
    for number, python in enumerate(pythons):
        references, release = read_by(python, paths, folder / f"read-{number}")
        is_same = name != "heic" or release.split(".")[:2] == system.split(".")[:2]
        largest, wrong, apart = 0, 0, 0
        for path, reference in zip(paths, references, strict=True):
            crop = next((folder / "out" / path.stem).glob("crops/*_book.png"), None)
            found = np.asarray(Image.open(crop).convert("RGB")) if crop else np.zeros(0)
            if found.shape != reference.shape:
                print(f"  {path.name}: {found.shape} instead of {reference.shape}")
                wrong += 1
                continue
            away = int(np.abs(found.astype(int) - reference).max())
            largest, apart = max(largest, away), apart + (away > 0)
            wrong += away > (0 if is_same else OTHER_RELEASE)
        different += wrong
        library = f"libheif {release} ({system} in the program)" if name == "heic" else f"Pillow {Image.__version__}"
        counts = f"{made} made and {len(paths) - made} real files"
        print(f"{name}: {counts}, {library}; {apart} differ, by {largest} at most", flush=True)
    return different


def limited(command: list[str], log: Path) -> tuple[int | None, int]:
    """The exit code of a command, None where it takes too long, and the most memory of one of its processes in bytes.

    The kernel counts this script's own memory until the command has begun: an upper bound.
    """
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True)
    end, done, usage = time.monotonic() + MOST_SECONDS, 0, None
    while not done and time.monotonic() < end:
        time.sleep(0.02)
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
    if not done:
        os.killpg(process.pid, signal.SIGKILL)
        _, _, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status) if done else None
    return process.returncode, usage.ru_maxrss * 1024


def faults_of_damage(batch: Batch, file: Damaged, folder: Path, *options: str) -> tuple[list[str], int]:
    """Runs a batch over one damaged file; also returns the most memory of a process."""
    path = file.write(folder / "in")
    command = [batch.nocturne, "run", str(folder / "in"), "--output", str(folder / "out"), "--quiet", *options]
    code, peak = limited(command, folder / "log")
    if code is None:
        return [f"more than {MOST_SECONDS} s"], peak
    faults = [f"{peak / 2**20:.0f} MiB"] if peak > MOST_BYTES else []
    if code == 0:
        return faults + ([] if file.may_be_read else ["was read"]), peak
    report = folder / "out" / "batch.json"
    items = json.loads(report.read_text())["items"] if report.exists() else []
    refused = [item for item in items if item["source"] == str(path) and item["state"] in ("failed", "skipped")]
    if code not in (3, 4) or len(refused) != 1 or not refused[0]["reason"]:
        faults.append(f"exit {code}: {(folder / 'log').read_text(errors='replace').strip()[-300:]}")
    return faults, peak


def compare_damage(batch: Batch, name: str) -> int:
    """Returns the number of damaged files that were not refused as they must be."""
    folder = batch.work / f"{name}-damaged"
    folder.mkdir()
    options = ["--model", str(batch.threshold if name in ENDINGS else batch.nothing)]
    files, wrong, read, largest = damage.FILES[name](folder), 0, 0, 0
    for number, file in enumerate(files):
        place = folder / str(number)
        place.mkdir()
        faults, peak = faults_of_damage(batch, file, place, *options)
        wrong, largest = wrong + bool(faults), max(largest, peak)
        read += any((place / "out").glob("*/result.json"))
        if faults:
            print(f"  {file.name}: {'; '.join(faults)}")
    print(f"{name}: {len(files)} damaged files, {read} read, {wrong} wrong; {largest / 2**20:.0f} MiB at most", flush=True)
    return wrong


def system_libheif(nocturne: str) -> str:
    """The release of libheif that the program loads."""
    text = subprocess.run([nocturne, "doctor"], capture_output=True, text=True).stdout
    return text.split("libheif ")[1].split(",")[0] if "libheif " in text else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--volumes", type=Path, nargs="*", default=[], help="real volumes")
    parser.add_argument("--photos", type=Path, nargs="*", default=[], help="real photos")
    parser.add_argument("--heif-python", help="a Python with another release of pillow-heif")
    parser.add_argument("--only", nargs="+", default=[*ENDINGS, "heic", "webp"], choices=[*ENDINGS, "heic", "webp"])
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="compare-formats-") as name:
        work = Path(name)
        batch = Batch(options.nocturne, work, write_threshold(work / "threshold"), write_nothing(work / "nothing"))
        for kind in options.only:
            if kind in ENDINGS:
                wrong += compare_volumes(batch, kind, options.volumes)
            else:
                pythons = [None, options.heif_python] if kind == "heic" and options.heif_python else [None]
                wrong += compare_pictures(batch, kind, options.photos, pythons, system_libheif(options.nocturne))
            wrong += compare_damage(batch, kind)
            shutil.rmtree(work / kind)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
