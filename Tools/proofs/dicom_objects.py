#!/usr/bin/env python3
"""Checks the DICOM segmentations and structure sets of a batch with other implementations.

    Tools/proofs/dicom_objects.py NOCTURNE WORK --model PACKAGE

Makes synthetic CT series (axial, oblique, sagittal, reversed, coronal), runs the batch over them with --dicom-seg and
--rtstruct, twice, and checks for every item that

- highdicom and pydicom (with the bits unpacked here) read the segmentation as the label map of segmentation.nii.gz,
  voxel by voxel, on the source image of the same slice;
- the contours, filled here with matplotlib's paths by the even-odd rule on the image that each refers to, have a Dice of
  at least 0.98 with the label map;
- dciodvfy of dicom3tools finds no error;
- patient and study are those of the source, and no date is today's;
- the second run gives the same bytes.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import subprocess
from pathlib import Path

import highdicom
import nibabel
import numpy as np
import pydicom
from matplotlib.path import Path as Polygon
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

ORIENTATIONS = {
    "axial": ([1, 0, 0], [0, 1, 0]),
    "reversed": ([1, 0, 0], [0, -1, 0]),
    "sagittal": ([0, 1, 0], [0, 0, -1]),
    "coronal": ([1, 0, 0], [0, 0, -1]),
    "oblique": ([0.8, 0.48, 0.36], [-0.6, 0.64, 0.48]),
}


def pattern(shape: tuple[int, int, int], seed: int) -> np.ndarray:
    """Bodies with holes, speckles and a ring, in the order slice, row, column."""
    k, j, i = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    random = np.random.default_rng(seed)
    body = (i**2 + j**2 * 1.3 + k**2 * 0.8) < 0.7
    body &= ~((i - 0.2) ** 2 + (j + 0.1) ** 2 < 0.05)
    body &= ~((i + 0.3) ** 2 + (j - 0.2) ** 2 + k**2 < 0.04)
    body |= (i - 0.2) ** 2 + (j + 0.1) ** 2 < 0.01
    speckles = random.random(shape) < 0.02
    return np.where(body ^ (speckles & (j < -0.6)), 1000, 0).astype(np.int16)


def write_series(folder: Path, name: str, seed: int) -> None:
    """A series whose files are in random order, with everything that dciodvfy requires of a CT image."""
    folder.mkdir(parents=True)
    row, column = (np.array(v, float) for v in ORIENTATIONS[name])
    normal = np.cross(row, column)
    count, rows, columns = 11, 37, 45
    voxels = pattern((count, rows, columns), seed)
    for k in np.random.default_rng(seed).permutation(count):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = CTImageStorage
        meta.MediaStorageSOPInstanceUID = f"1.2.826.0.1.3680043.8.498.{seed}.1.{k + 1}"
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        image.SOPClassUID, image.SOPInstanceUID = CTImageStorage, meta.MediaStorageSOPInstanceUID
        image.PatientName, image.PatientID = "Doe^Proof", f"P{seed}"
        image.PatientBirthDate, image.PatientSex = "19700203", "O"
        image.StudyInstanceUID, image.SeriesInstanceUID = f"1.2.826.0.1.3680043.8.498.{seed}", f"1.2.826.0.1.3680043.8.498.{seed}.1"
        image.FrameOfReferenceUID = f"1.2.826.0.1.3680043.8.498.{seed}.2"
        image.StudyDate, image.StudyTime, image.StudyID = "20010405", "060708", "7"
        image.AccessionNumber, image.ReferringPhysicianName, image.PositionReferenceIndicator = "A1", "", ""
        image.ContentDate, image.ContentTime = "20010405", "060809"
        image.Modality, image.Manufacturer, image.SeriesNumber = "CT", "Proof", 3
        image.PatientPosition, image.BodyPartExamined = "HFS", "ABDOMEN"
        image.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
        image.InstanceNumber, image.AcquisitionNumber, image.KVP = int(k) + 1, 1, 120
        place = np.array([-31.25, 17.5, 42]) + normal * 2.5 * k
        image.ImagePositionPatient = [f"{v:.6f}" for v in place]
        image.ImageOrientationPatient = [f"{v:.6f}" for v in (*row, *column)]
        image.PixelSpacing, image.SliceThickness = [0.9, 0.8], 2.5
        image.Rows, image.Columns, image.SamplesPerPixel = rows, columns, 1
        image.PhotometricInterpretation = "MONOCHROME2"
        image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 16, 15, 1
        image.RescaleIntercept, image.RescaleSlope, image.RescaleType = 0, 1, "HU"
        image.PixelData = voxels[k].tobytes()
        image.save_as(folder / f"{(k * 7) % count:02}.dcm", enforce_file_format=True)


def sources_of(folder: Path) -> list[pydicom.Dataset]:
    """The slices of a series in the order of their positions."""
    images = [pydicom.dcmread(path) for path in folder.iterdir()]
    cosines = np.array(images[0].ImageOrientationPatient, float)
    normal = np.cross(cosines[:3], cosines[3:])
    return sorted(images, key=lambda image: float(np.dot(normal, np.array(image.ImagePositionPatient, float))))


def check_segmentation(path: Path, labels: np.ndarray, sources: list[pydicom.Dataset]) -> tuple[int, int]:
    """Voxels that differ by highdicom, and by unpacking the bits here. `labels` is in the order slice, row, column."""
    segmentation = highdicom.seg.segread(path)
    values = sorted(set(np.unique(labels)) - {0})
    assert segmentation.number_of_segments == len(values), "not one segment per label"
    uids = [source.SOPInstanceUID for source in sources]
    read = segmentation.get_pixels_by_source_instance(uids, assert_missing_frames_are_empty=True)
    by_highdicom = sum(int((read[..., n] != (labels == value)).sum()) for n, value in enumerate(values))

    plain = pydicom.dcmread(path)
    rows, columns = plain.Rows, plain.Columns
    bits = np.unpackbits(np.frombuffer(plain.PixelData, np.uint8), bitorder="little")
    seen = np.zeros((len(values), *labels.shape), bool)
    for number, groups in enumerate(plain.PerFrameFunctionalGroupsSequence):
        reference = groups.DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID
        k = uids.index(reference)
        assert groups.PlanePositionSequence[0].ImagePositionPatient == sources[k].ImagePositionPatient
        segment = groups.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        frame = bits[number * rows * columns : (number + 1) * rows * columns]
        seen[segment - 1, k] = frame.reshape(rows, columns)
    by_bits = sum(int((seen[n] != (labels == value)).sum()) for n, value in enumerate(values))
    listed = [item.ReferencedSOPInstanceUID for item in plain.ReferencedSeriesSequence[0].ReferencedInstanceSequence]
    assert listed == uids, "not every source image is listed"
    return by_highdicom, by_bits


def check_structure_set(path: Path, labels: np.ndarray, sources: list[pydicom.Dataset]) -> list[float]:
    """The Dice of every region, filled by the even-odd rule."""
    structures = pydicom.dcmread(path)
    places = {source.SOPInstanceUID: k for k, source in enumerate(sources)}
    values = sorted(set(np.unique(labels)) - {0})
    centres = np.stack(np.meshgrid(np.arange(labels.shape[2]), np.arange(labels.shape[1])), -1).reshape(-1, 2)
    scores = []
    for value, region in zip(values, structures.ROIContourSequence, strict=True):
        mask = np.zeros(labels.shape, bool)
        for contour in region.ContourSequence:
            assert contour.ContourGeometricType == "CLOSED_PLANAR"
            points = np.array(contour.ContourData, float).reshape(-1, 3)
            assert len(points) == contour.NumberOfContourPoints
            k = places[contour.ContourImageSequence[0].ReferencedSOPInstanceUID]
            image = sources[k]
            cosines = np.array(image.ImageOrientationPatient, float)
            axes = np.array([cosines[:3] / image.PixelSpacing[1], cosines[3:] / image.PixelSpacing[0]])
            away = points - np.array(image.ImagePositionPatient, float)
            assert np.abs(away @ np.cross(cosines[:3], cosines[3:])).max() < 0.01, "a contour outside the plane of its image"
            # By the even-odd rule, which a channel without width does not change.
            inside = Polygon(away @ axes.T, closed=False).contains_points(centres)
            mask[k] ^= inside.reshape(labels.shape[1:])
        scores.append(2 * (mask & (labels == value)).sum() / (mask.sum() + (labels == value).sum()))
    return scores


def errors_of(path: Path) -> list[str]:
    """The lines that dciodvfy reports as errors."""
    result = subprocess.run(["dciodvfy", path], capture_output=True, text=True)
    return [line for line in (result.stdout + result.stderr).splitlines() if line.startswith(("Error", "Abort"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", type=Path, help="the built program")
    parser.add_argument("work", type=Path, help="folder for series and results; replaced")
    parser.add_argument("--model", required=True, help="a model package")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    for seed, name in enumerate(ORIENTATIONS, start=11):
        write_series(options.work / "in" / name, name, seed)
    for out in ("out", "again"):
        subprocess.run(
            [options.nocturne, "run", options.work / "in", "--model", options.model, "--output", options.work / out,
             "--dicom-seg", "--rtstruct", "--meshes", "none", "--quiet"],
            check=True,
        )
    today = datetime.date.today().strftime("%Y%m%d")
    failed = False
    items = sorted(path.parent for path in (options.work / "out").rglob("segmentation.dcm"))
    failed |= len(items) != len(ORIENTATIONS)
    for item in items:
        name = next(name for name in ORIENTATIONS if name in str(item.relative_to(options.work / "out")))
        sources = sources_of(options.work / "in" / name)
        labels = np.asarray(nibabel.load(item / "segmentation.nii.gz").dataobj).transpose(2, 1, 0)
        differing = check_segmentation(item / "segmentation.dcm", labels, sources)
        scores = check_structure_set(item / "rtstruct.dcm", labels, sources)
        errors: list[str] = []
        for file in ("segmentation.dcm", "rtstruct.dcm"):
            errors += errors_of(item / file)
            written = pydicom.dcmread(item / file)
            for field in ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyInstanceUID", "StudyDate",
                          "AccessionNumber", "FrameOfReferenceUID"):
                assert written[field].value == sources[0][field].value, field
            assert today.encode() not in (item / file).read_bytes(), "today's date"
            again = options.work / "again" / item.relative_to(options.work / "out") / file
            assert again.read_bytes() == (item / file).read_bytes(), f"{file} differs the second time"
        worst = min(scores, default=0)
        failed |= differing != (0, 0) or worst < 0.98 or bool(errors)
        print(f"{name}: {len(scores)} labels, {int((labels > 0).sum())} voxels; differing by highdicom {differing[0]}, by "
              f"pydicom {differing[1]}; Dice of contours {worst:.4f}; dciodvfy errors {len(errors)}")
        for error in errors:
            print("   ", error)
    print("failed" if failed else "all checks passed")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
