#!/usr/bin/env python3
"""Many DICOM series: seconds and memory of planning a cohort whose scans have hundreds of files each, and the bytes of its journals.

    Tools/proofs/many_slices.py NOCTURNE [NOCTURNE] --model Tests/Fixtures/Models/threshold --series 100 500 --slices 400

Programs take turns. Memory is the largest resident set of any process of `nocturne plan --shards`, which finds all items and records
them without processing any. The files have 8 × 8 pixels; some 4 KB of disk each.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

# Numbers that occur nowhere else in a file; replaced by those of each series and slice.
SERIES, SLICE = 98765, 7654


def template() -> bytes:
    """One CT slice, whose numbers are replaced in every file."""
    study = f"1.2.826.0.1.3680043.8.498.7.{SERIES}"
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.TransferSyntaxUID = CTImageStorage, ExplicitVRLittleEndian
    meta.MediaStorageSOPInstanceUID = f"{study}.1.{SLICE}"
    image = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    image.SOPClassUID, image.SOPInstanceUID = CTImageStorage, meta.MediaStorageSOPInstanceUID
    image.PatientName, image.PatientID = f"Doe^P{SERIES}", f"P{SERIES}"
    image.StudyInstanceUID, image.SeriesInstanceUID, image.FrameOfReferenceUID = study, study + ".1", study + ".2"
    image.StudyDate, image.StudyTime, image.Modality, image.SeriesNumber = "20010405", "060708", "CT", 3
    image.InstanceNumber, image.ImageType = str(SLICE), ["ORIGINAL", "PRIMARY", "AXIAL"]
    image.ImagePositionPatient, image.ImageOrientationPatient = [-10, 5, f"{SLICE}.5"], [1, 0, 0, 0, 1, 0]
    image.PixelSpacing, image.SliceThickness = [1.5, 1.5], 1
    image.Rows = image.Columns = 8
    image.BitsAllocated = image.BitsStored = 16
    image.HighBit, image.PixelRepresentation, image.SamplesPerPixel = 15, 1, 1
    image.PhotometricInterpretation, image.RescaleSlope, image.RescaleIntercept = "MONOCHROME2", 1, -1024
    image.PixelData = np.full((8, 8), 1024, np.int16).tobytes()
    file = io.BytesIO()
    image.save_as(file, enforce_file_format=True)
    return file.getvalue()


def write_series(folder: Path, number: int, slices: int, whole: bytes) -> None:
    """One series in a folder of its own, as archives export them."""
    place = folder / f"patient-{number:05d}" / "CT"
    place.mkdir(parents=True)
    series = whole.replace(str(SERIES).encode(), b"%05d" % number)
    for index in range(1, slices + 1):
        (place / f"IM-{number:05d}-{index:04d}.dcm").write_bytes(series.replace(str(SLICE).encode(), b"%04d" % index))


def planned(nocturne: str, inputs: Path, out: Path, model: str) -> tuple[float, float, int, int]:
    """Wall and processor seconds, the largest resident set in KiB, and the bytes of the output folder."""
    start = time.monotonic()
    command = [nocturne, "plan", str(inputs), "--output", str(out), "--shards", "auto", "--model", model]
    process = subprocess.Popen([*command, "--meshes", "none", "--preview", "none"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{nocturne}: exit {os.waitstatus_to_exitcode(status)}")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", nargs="+", help="the built program, or two to be compared")
    parser.add_argument("--model", required=True, help="a model package")
    parser.add_argument("--series", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--slices", type=int, default=400)
    parser.add_argument("--work", type=Path, help="where to make the files; default: the folder for temporary files")
    arguments = parser.parse_args()
    if max(arguments.series) > 99_999 or arguments.slices > 9999:
        parser.error("at most 99999 series of 9999 slices")
    folder = Path(tempfile.mkdtemp(prefix="many-slices-", dir=arguments.work))
    whole, made = template(), 0
    print("| series | files | program | s | processor s | MiB at most | MiB written |\n" + "|---" * 7 + "|", flush=True)
    try:
        for count in sorted(arguments.series):
            for number in range(made + 1, count + 1):
                write_series(folder / "in", number, arguments.slices, whole)
            made = count
            for nocturne in arguments.nocturne:
                out = folder / "out"
                wall, processor, resident, size = planned(nocturne, folder / "in", out, arguments.model)
                shutil.rmtree(out)
                row = [f"{count:,}", f"{count * arguments.slices:,}", Path(nocturne).name, f"{wall:.1f}", f"{processor:.1f}"]
                print("| " + " | ".join([*row, f"{resident / 1024:.0f}", f"{size / 2**20:.1f}"]) + " |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
