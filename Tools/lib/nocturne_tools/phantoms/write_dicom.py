"""Writes a phantom as a DICOM CT series: one CT Image Storage object a slice, shuffled file names.

Patient, dates and UIDs are artificial and derived from the seed, so the same input gives the same bytes.

    PYTHONPATH=Tools/lib python -m nocturne_tools.phantoms.write_dicom --seed 7 --spacing 3 3 5 --orientation LPS --syntax rle --output series
"""

from __future__ import annotations

import argparse
import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, ImplicitVRLittleEndian, RLELossless

from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import make_grid, render

_SYNTAXES = {"explicit": ExplicitVRLittleEndian, "implicit": ImplicitVRLittleEndian, "rle": RLELossless}
_NAMESPACE = uuid.UUID("6f2c8c1e-3a57-5d0b-9a64-6e6f63747572")
_RAS_TO_LPS = np.diag([-1.0, -1.0, 1.0])


def derived_uid(*parts: object) -> str:
    """A UID under 2.25 (UUID-derived), the same for the same parts."""
    return f"2.25.{uuid.uuid5(_NAMESPACE, '/'.join(map(str, parts))).int}"


@dataclass(frozen=True)
class SeriesOptions:
    """How a series is written.

    `signed`: stored values are HU as signed 16-bit; otherwise HU + 1024 as unsigned 16-bit with intercept -1024.
    `syntax`: "explicit", "implicit" (both little endian) or "rle". `number` distinguishes series of one patient.
    """

    seed: int
    number: int = 1
    description: str = "PHANTOM"
    patient_position: str = "HFS"
    syntax: str = "explicit"
    signed: bool = True


def _decimal(values: NDArray[np.float64]) -> list[str]:
    """DICOM decimal strings of at most 16 bytes."""
    return [f"{0.0 if abs(v) < 5e-11 else v:.10f}"[:16].rstrip("0").rstrip(".") for v in values]


def _common(options: SeriesOptions, plane: str) -> FileDataset:
    """Patient, study, series, frame of reference and equipment modules, the same in every slice."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CTImageStorage
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.ImplementationClassUID = derived_uid("implementation")
    meta.ImplementationVersionName = "NOCTURNE_PHANTOM"
    ds = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    ds.SpecificCharacterSet = "ISO_IR 192"
    ds.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"] if plane == "AXIAL" else ["DERIVED", "SECONDARY", plane]
    ds.SOPClassUID = CTImageStorage
    ds.StudyDate = ds.SeriesDate = ds.AcquisitionDate = ds.ContentDate = "20200101"
    ds.StudyTime = ds.SeriesTime = ds.AcquisitionTime = ds.ContentTime = "120000"
    ds.AccessionNumber = ""
    ds.Modality = "CT"
    ds.Manufacturer = "Nocturne phantom generator"
    ds.ManufacturerModelName = "SYNTHETIC"
    ds.DeviceSerialNumber = "0"
    ds.SoftwareVersions = "1"
    ds.ReferringPhysicianName = ""
    ds.StudyDescription = "Synthetic phantom, no medical use"
    ds.SeriesDescription = options.description
    ds.PatientName = "PHANTOM^SYNTHETIC"
    ds.PatientID = f"PHANTOM-{options.seed}"
    ds.PatientBirthDate = ""
    ds.PatientSex = "O"
    ds.BodyPartExamined = "ABDOMEN"
    ds.KVP = "120"
    ds.PatientPosition = options.patient_position
    ds.StudyInstanceUID = derived_uid("study", options.seed)
    ds.SeriesInstanceUID = derived_uid("series", options.seed, options.number)
    ds.StudyID = "1"
    ds.SeriesNumber = options.number
    ds.AcquisitionNumber = 1
    ds.FrameOfReferenceUID = derived_uid("frame", options.seed)
    ds.PositionReferenceIndicator = ""
    return ds


def write_series(folder: Path, hu: NDArray[np.int16], affine: NDArray[np.float64], options: SeriesOptions) -> None:
    """Writes `hu` (i, j, k) as one file a k-slice into `folder`.

    i runs along a row of the image and j down its columns; `affine` (4, 4) maps voxels to RAS+ mm and is turned into
    DICOM's LPS+. InstanceNumber grows with k. File names follow a shuffled order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lps = _RAS_TO_LPS @ affine[:3]
    spacing = np.linalg.norm(lps[:, :3], axis=0)
    row, column, step = (lps[:, :3] / spacing).T
    normal = np.cross(row, column)
    if abs(abs(normal @ step) - 1) > 1e-6:
        raise ValueError("the slices are not perpendicular to the image plane")
    plane = {0: "SAGITTAL", 1: "CORONAL", 2: "AXIAL"}[int(np.argmax(np.abs(normal)))]
    intercept = 0 if options.signed else -1024
    stored = (hu.astype(np.int32) - intercept).astype(np.int16 if options.signed else np.uint16)
    names = np.random.default_rng([0xD1C0, options.seed, options.number]).permutation(hu.shape[2])
    for k in range(hu.shape[2]):
        ds = _common(options, plane)
        ds.SOPInstanceUID = derived_uid("instance", options.seed, options.number, k)
        ds.file_meta.MediaStorageSOPInstanceUID = ds.SOPInstanceUID
        position = lps[:, :3] @ np.array([0, 0, k]) + lps[:, 3]
        ds.InstanceNumber = k + 1
        ds.ImagePositionPatient = _decimal(position)
        ds.ImageOrientationPatient = _decimal(np.concatenate([row, column]))
        ds.PixelSpacing = _decimal(spacing[[1, 0]])  # between rows first, then between columns
        ds.SliceThickness = _decimal(spacing[2:])[0]
        ds.SpacingBetweenSlices = _decimal(spacing[2:])[0]
        ds.SliceLocation = _decimal(np.array([position @ normal]))[0]
        ds.SamplesPerPixel = 1
        ds.PhotometricInterpretation = "MONOCHROME2"
        ds.Rows, ds.Columns = hu.shape[1], hu.shape[0]
        ds.BitsAllocated = ds.BitsStored = 16
        ds.HighBit = 15
        ds.PixelRepresentation = 1 if options.signed else 0
        ds.WindowCenter, ds.WindowWidth = "60", "500"
        ds.RescaleIntercept, ds.RescaleSlope, ds.RescaleType = str(intercept), "1", "HU"
        ds.PixelData = np.ascontiguousarray(stored[:, :, k].T).tobytes()
        ds["PixelData"].VR = "OW"
        syntax = _SYNTAXES[options.syntax]
        if syntax == RLELossless:
            ds.compress(RLELossless, generate_instance_uid=False)
        else:
            ds.file_meta.TransferSyntaxUID = syntax
        ds.save_as(folder / f"IM{names[k]:04d}.dcm", enforce_file_format=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write one phantom as a DICOM CT series.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--spacing", type=float, nargs=3, default=(3.0, 3.0, 5.0), help="mm along i, j, k")
    parser.add_argument("--orientation", default="LPS", help="directions in which i, j and k grow, such as LPS or LIP")
    parser.add_argument("--tilt", type=float, nargs=3, default=(0.0, 0.0, 0.0), help="degrees about x, y, z")
    parser.add_argument("--syntax", choices=sorted(_SYNTAXES), default="explicit")
    parser.add_argument("--unsigned", action="store_true")
    parser.add_argument("--position", default="HFS", help="PatientPosition")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    shape, affine = make_grid(tuple(options.spacing), options.orientation, tuple(options.tilt))
    hu, _ = render(draw(options.seed), shape, affine)
    series = SeriesOptions(
        options.seed, patient_position=options.position, syntax=options.syntax, signed=not options.unsigned
    )
    write_series(options.output, hu, affine, series)


if __name__ == "__main__":
    main()
