"""Compares Nocturne's scan of DICOM headers and its conversion of series with dcm2niix and pydicom, taking turns.

    python Tools/benchmarks/dicom_scan.py [--files 10000] [--size 256] [--rounds 5] [--threads 2] [--bench PATH]

Builds `series-bench` unless --bench names the built program. Writes a CT series of noise over a ramp with
pydicom, copies it with new UIDs until there are enough files, and times whole processes on warm caches:

- scan: Nocturne groups all files into series; `dcm2niix -n -1`, which lists series and converts none; pydicom's
  `dcmread(stop_before_pixels=True)` of each file in one process (no grouping at all).
- convert: one series to an uncompressed NIfTI file each, whose voxels are then compared in world coordinates.

Prints a Markdown table of medians and ratios. Needs dcm2niix, pydicom, nibabel, numpy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import nibabel
import numpy as np
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import built, in_turns
from nocturne_tools.machine import architecture

SLICES = 100


def write_series(folder: Path, number: int, size: int, pixels: list[bytes]) -> None:
    """One CT series with the elements a scanner writes; a step of 1.5 mm."""
    folder.mkdir(parents=True)
    study, series, frame = (generate_uid(entropy_srcs=[str(number), word]) for word in ("study", "series", "frame"))
    for index, values in enumerate(pixels):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = CTImageStorage
        meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[str(number), str(index)])
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        path = folder / f"IM{index:04}"
        data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
        data.SOPClassUID, data.SOPInstanceUID = CTImageStorage, meta.MediaStorageSOPInstanceUID
        data.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
        data.StudyDate = data.SeriesDate = data.ContentDate = "20200101"
        data.StudyTime, data.ContentTime = "101500", f"1015{index % 60:02}"
        data.Modality, data.Manufacturer = "CT", "Benchmark"
        data.SeriesDescription, data.ProtocolName = "bench", "bench"
        data.PatientName, data.PatientID = "Bench^Mark", str(number)
        data.KVP, data.SliceThickness, data.ConvolutionKernel = 120, 1.5, "B30f"
        data.StudyInstanceUID, data.SeriesInstanceUID, data.FrameOfReferenceUID = study, series, frame
        data.SeriesNumber, data.AcquisitionNumber, data.InstanceNumber = number, 1, index + 1
        data.ImagePositionPatient = [-100, -120, round(-50 + 1.5 * index, 3)]
        data.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        data.PixelSpacing = [0.75, 0.75]
        data.Rows = data.Columns = size
        data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
        data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 16, 16, 15, 1
        data.RescaleIntercept, data.RescaleSlope = 0, 1
        data.PixelData = values
        data.save_as(path, enforce_file_format=True)


def pixels_of_series(size: int) -> list[bytes]:
    rng = np.random.default_rng(5)
    ramp = np.add.outer(np.arange(size), np.arange(size)) - size
    return [(ramp + k + rng.integers(-50, 50, (size, size))).astype("<i2").tobytes() for k in range(SLICES)]


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def world_difference(one: Path, other: Path) -> float:
    """The largest difference of voxels at the same position, after both are brought into canonical order."""
    left, right = (nibabel.as_closest_canonical(nibabel.load(path)) for path in (one, other))
    if left.shape != right.shape or not np.allclose(left.affine, right.affine, atol=1e-3):
        return float("inf")
    return float(np.abs(np.asarray(left.dataobj, np.float64) - np.asarray(right.dataobj, np.float64)).max())


def table(title: str, medians: dict[str, float]) -> None:
    own = medians["nocturne"]
    print(f"\n{title}\n\n| program | s | ratio to Nocturne |\n|---|---|---|")
    for name, value in medians.items():
        print(f"| {name} | {value:.3f} | {value / own:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=256, help="rows and columns of the converted series")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--bench", type=Path, help="the built series-bench")
    parser.add_argument("--dcm2niix", default="dcm2niix")
    arguments = parser.parse_args()
    bench = arguments.bench or built("series-bench")
    threads = str(arguments.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Small pictures for the scan: their headers are what is read, and 10,000 large ones would not fit the cache.
        small, large = pixels_of_series(64), pixels_of_series(arguments.size)
        for number in range(max(1, arguments.files // SLICES)):
            write_series(folder / "tree" / f"{number:03}", number + 1, 64, small)
        write_series(folder / "series", 1, arguments.size, large)
        for output in ("listed", "theirs", "ours"):
            (folder / output).mkdir()

        read = "import pydicom,sys,pathlib\nfor p in pathlib.Path(sys.argv[1]).rglob('IM*'): pydicom.dcmread(p, stop_before_pixels=True)"
        tree, series = str(folder / "tree"), str(folder / "series")
        listing = [arguments.dcm2niix, "-n", "-1", "-f", "%s", "-o", str(folder / "listed"), tree]
        theirs = [arguments.dcm2niix, "-b", "n", "-z", "n", "-w", "1", "-f", "out", "-o", str(folder / "theirs"), series]
        print(
            f"{architecture()}, {arguments.threads} threads; pydicom {version('pydicom')}; "
            + subprocess.run([arguments.dcm2niix, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        )
        table(
            f"Headers of {max(1, arguments.files // SLICES) * SLICES} files",
            in_turns(
                {
                    "nocturne": lambda: seconds([str(bench), "scan", tree, threads]),
                    "dcm2niix -n -1": lambda: seconds(listing),
                    "pydicom": lambda: seconds([sys.executable, "-c", read, tree]),
                },
                arguments.rounds,
            ),
        )
        table(
            f"A series of {SLICES} slices of {arguments.size}×{arguments.size} to NIfTI",
            in_turns(
                {
                    "nocturne": lambda: seconds([str(bench), "convert", series, threads, str(folder / "ours" / "out")]),
                    "dcm2niix": lambda: seconds(theirs),
                },
                arguments.rounds,
            ),
        )
        difference = world_difference(folder / "ours" / "out_1.nii", folder / "theirs" / "out.nii")
        print(f"\nLargest difference of voxels in world coordinates: {difference:g}")


if __name__ == "__main__":
    main()
