"""Volumes in NRRD and MetaImage, written by SimpleITK, by pynrrd, and by hand where no library writes such a header."""

from __future__ import annotations

import gzip
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

import nrrd
import numpy as np
import SimpleITK as sitk

SHAPE = (7, 9, 11)  # k, j, i: fewer voxels than a label map may have values
SPACING, ORIGIN = (0.8, 1.1, 2.5), (-12.5, 30.25, 7.0)
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
NRRD_TYPES = {"int16": "short", "uint8": "uchar", "float32": "float", "float64": "double"}
META_TYPES = {"int16": "MET_SHORT", "uint8": "MET_UCHAR", "int32": "MET_LONG", "float32": "MET_FLOAT", "float64": "MET_DOUBLE"}


@dataclass(frozen=True)
class VolumeFile:
    """The file to read. ITK ignores units: its coordinates times `unit` are millimetres."""

    path: Path
    unit: float = 1
    has_orientation: bool = True


def turn() -> np.ndarray:
    """The directions of the axes as columns: an orthonormal matrix without zeros."""
    angles = np.radians([20, -35, 50])
    turned = np.eye(3)
    for axis, angle in enumerate(angles):
        part, (a, b) = np.eye(3), [n for n in range(3) if n != axis]
        part[a, a] = part[b, b] = np.cos(angle)
        part[a, b], part[b, a] = -np.sin(angle), np.sin(angle)
        turned = turned @ part
    return turned


def voxels(kind: str, seed: int) -> np.ndarray:
    """Values over the whole range of a type, with its smallest and largest one; (k, j, i)."""
    rng, dtype = np.random.default_rng(seed), np.dtype(kind)
    if dtype.kind == "f":
        values = (rng.normal(0, 1, SHAPE) * 10.0 ** rng.integers(-3, 6, SHAPE)).astype(dtype)
        values.flat[:4] = [0, 1e-30, -3e38, 0.1]
        return values
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = rng.integers(least, most, SHAPE, dtype=dtype, endpoint=True)
    values.flat[:2] = [least, most]
    return values


def image(values: np.ndarray, turned: bool = True) -> sitk.Image:
    """The volume in ITK's space."""
    made = sitk.GetImageFromArray(values)
    made.SetSpacing(SPACING)
    made.SetOrigin(ORIGIN)
    if turned:
        made.SetDirection(turn().ravel().tolist())
    return made


def _text(numbers: np.ndarray | tuple[float, ...]) -> str:
    return "(" + ",".join(repr(float(number)) for number in numbers) + ")"


def nrrd_header(kind: str, encoding: str = "raw", **changes: str | None) -> str:
    """A header in NRRD; fields are replaced by `changes`, with _ for a space, and left out where these are None."""
    steps = turn() * np.array(SPACING)
    fields: dict[str, str | None] = {
        "type": NRRD_TYPES[kind],
        "dimension": "3",
        "space": "left-posterior-superior",
        "sizes": " ".join(map(str, SHAPE[::-1])),
        "space directions": " ".join(_text(steps[:, axis]) for axis in range(3)),
        "kinds": "domain domain domain",
        "endian": "little",
        "encoding": encoding,
        "space origin": _text(ORIGIN),
    }
    fields |= {name.replace("_", " "): value for name, value in changes.items()}
    return "NRRD0004\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)


def _nrrd_by_hand(folder: Path) -> list[VolumeFile]:
    """What no writer at hand makes."""
    files: list[VolumeFile] = []

    def write(name: str, header: str, data: bytes, detached: str | None = None, unit: float = 1) -> None:
        path = folder / f"{name}.{'nhdr' if detached else 'nrrd'}"
        path.write_bytes(header.encode() + (b"" if detached else b"\n" + data))
        if detached:
            (folder / detached).write_bytes(data)
        files.append(VolumeFile(path, unit))

    short, real, double = (voxels(kind, 50 + n) for n, kind in enumerate(("int16", "float32", "float64")))
    write("big-short", nrrd_header("int16", endian="big"), short.astype(">i2").tobytes())
    write("big-float-gzip", nrrd_header("float32", "gzip", endian="big"), gzip.compress(real.astype(">f4").tobytes()))
    named = {"data_file": "big-double.raw"}
    write("big-double", nrrd_header("float64", endian="big", **named), double.astype(">f8").tobytes(), "big-double.raw")
    write("skip-to-end", nrrd_header("int16", byte_skip="-1"), b"anything" * 5 + short.tobytes())
    named = {"byte_skip": "37", "data_file": "skip.raw"}
    write("skip-in-file", nrrd_header("int16", **named), b"x" * 37 + short.tobytes(), "skip.raw")
    named = {"byte_skip": "-1", "data_file": "./ended.bin"}
    write("skip-to-end-of-file", nrrd_header("int16", **named), b"x" * 999 + short.tobytes(), "ended.bin")
    write("skip-after-gzip", nrrd_header("int16", "gzip", byte_skip="16"), gzip.compress(b"x" * 16 + short.tobytes()))
    remarks = "# a comment: with a colon\nkey:=value: with a colon\nkey with space:=a:=b\nDICOM_0010_0010:=Nobody\n"
    write("remarks", nrrd_header("int16") + remarks, short.tobytes())
    write("windows-lines", nrrd_header("int16", content="lines end with CR and LF").replace("\n", "\r\n"), b"")
    files[-1].path.write_bytes(files[-1].path.read_bytes()[:-1] + b"\r\n" + short.tobytes())
    write("short-space", nrrd_header("int16", "gz", space="RAS", kinds="space space space"), gzip.compress(short.tobytes()))
    write("capitals", nrrd_header("int16", space="Left-Anterior-Superior", type="Signed Short"), short.tobytes())
    write("no-origin", nrrd_header("int16", space_origin=None, kinds=None), short.tobytes())
    rest = {"thicknesses": "NaN NaN 3", "centerings": "cell cell cell", "labels": '"i" "j" "k"'}
    rest |= {"measurement_frame": "(1,0,0) (0,1,0) (0,0,1)", "space_units": '"mm" "mm" "mm"', "line_skip": "0"}
    write("all-fields", nrrd_header("int16", **rest), short.tobytes())
    plain = {"space": None, "space_directions": None, "space_origin": None, "spacings": "0.8 1.1 2.5"}
    write("spacings-alone", nrrd_header("int16", **plain), short.tobytes())
    files[-1] = VolumeFile(files[-1].path, has_orientation=False)
    write("centimetres", nrrd_header("int16", space_units='"cm" "cm" "cm"'), short.tobytes(), unit=10)
    return files


def write_nrrd(folder: Path) -> list[VolumeFile]:
    """Made files of every kind that is read."""
    files = []
    for number, kind in enumerate(TYPES):
        path = folder / f"itk-{kind}.nrrd"
        sitk.WriteImage(image(voxels(kind, number), number % 3 != 0), path, useCompression=number % 2 == 1)
        files.append(VolumeFile(path))
    for name, compressed in [("itk-apart", False), ("itk-apart-gzip", True)]:
        sitk.WriteImage(image(voxels("int16", 20)), folder / f"{name}.nhdr", useCompression=compressed)
        files.append(VolumeFile(folder / f"{name}.nhdr"))
    spaces = ["left-posterior-superior", "right-anterior-superior", "left-anterior-superior"]
    for number, (space, encoding) in enumerate((space, encoding) for encoding in ("raw", "gzip") for space in spaces):
        directions = (turn() * np.array(SPACING)).T
        header = {"space": space, "space directions": directions, "space origin": np.array(ORIGIN), "encoding": encoding}
        header |= {"kinds": ["domain"] * 3, "a key": "a value"}
        path = folder / f"pynrrd-{number}.{'nhdr' if space == spaces[1] else 'nrrd'}"
        kind = ("int16", "float32", "uint16")[number % 3]
        nrrd.write(str(path), voxels(kind, 30 + number).transpose(2, 1, 0), header)
        files.append(VolumeFile(path))
    return files + _nrrd_by_hand(folder)


def meta_header(kind: str, data: str = "LOCAL", **changes: str | None) -> str:
    """A header in MetaImage; fields are replaced by `changes`, and left out where these are None."""
    fields: dict[str, str | None] = {
        "ObjectType": "Image",
        "NDims": "3",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": "False",
        "TransformMatrix": " ".join(repr(float(number)) for number in turn().T.ravel()),
        "Offset": " ".join(map(str, ORIGIN)),
        "ElementSpacing": " ".join(map(str, SPACING)),
        "DimSize": " ".join(map(str, SHAPE[::-1])),
        "ElementType": META_TYPES[kind],
    }
    fields |= changes
    lines = [f"{name} = {value}\n" for name, value in fields.items() if value is not None]
    return "".join(lines) + f"ElementDataFile = {data}\n"


def _meta_by_hand(folder: Path) -> list[VolumeFile]:
    files: list[VolumeFile] = []

    def write(name: str, header: str, data: bytes, detached: str | None = None, unit: float = 1) -> None:
        path = folder / f"{name}.{'mhd' if detached else 'mha'}"
        path.write_bytes(header.encode() + (b"" if detached else data))
        if detached:
            (folder / detached).write_bytes(data)
        files.append(VolumeFile(path, unit))

    short, real, long = (voxels(kind, 80 + n) for n, kind in enumerate(("int16", "float32", "int32")))
    big, packed = {"BinaryDataByteOrderMSB": "True"}, {"CompressedData": "True"}
    write("big-short", meta_header("int16", **big), short.astype(">i2").tobytes())
    write("big-float", meta_header("float32", "big.raw", **big), real.astype(">f4").tobytes(), "big.raw")
    other = {"BinaryDataByteOrderMSB": None, "ElementByteOrderMSB": "True"}
    write("big-by-other-word", meta_header("int16", **other), short.astype(">i2").tobytes())
    stream = zlib.compress(short.astype(">i2").tobytes())
    # ITK does not read compressed voxels after their header without this size.
    size = {"CompressedDataSize": str(len(stream))}
    write("big-compressed", meta_header("int16", **big, **packed, **size), stream)
    write("ends-with-file", meta_header("int16", "end.raw", HeaderSize="-1"), b"x" * 77 + short.tobytes(), "end.raw")
    write("after-48-bytes", meta_header("int16", "after.bin", HeaderSize="48"), b"x" * 48 + short.tobytes(), "after.bin")
    place, matrix = " ".join(map(str, ORIGIN)), meta_header("int16").split("TransformMatrix = ")[1].split("\n")[0]
    for word in ("Position", "Origin"):
        write(word.lower(), meta_header("int16", Offset=None, **{word: place}), short.tobytes())
    for word in ("Rotation", "Orientation"):
        write(word.lower(), meta_header("int16", TransformMatrix=None, **{word: matrix}), short.tobytes())
    write("anatomical", meta_header("int16", AnatomicalOrientation="RAI", CenterOfRotation="0 0 0"), short.tobytes())
    write("centre-of-rotation", meta_header("int16", CenterOfRotation="5 6 7", ElementSize="1 1 1"), short.tobytes())
    rest = {"Modality": "MET_MOD_CT", "Mine": "a = b"}
    write("unknown-fields", "Comment = made by hand\n" + meta_header("int16", **rest), short.tobytes())
    write("long", meta_header("int32"), long.tobytes())
    write("windows-lines", meta_header("int16").replace("\n", "\r\n"), short.tobytes())
    stream = zlib.compress(short.tobytes())
    write("no-size", meta_header("int16", "./apart.zraw", **packed), stream, "apart.zraw")
    write("no-matrix", meta_header("int16", TransformMatrix=None, Offset=None), short.tobytes())
    files[-1] = VolumeFile(files[-1].path, has_orientation=False)
    rest = {"BinaryData": "T", "CompressedData": "F", "BinaryDataByteOrderMSB": "F"}
    write("letters", meta_header("int16", "Local", **rest), short.tobytes())
    write("centimetres", meta_header("int16", DistanceUnits="cm"), short.tobytes(), unit=10)
    return files


def write_meta_image(folder: Path) -> list[VolumeFile]:
    """Made files of every kind that is read."""
    files = []
    for number, kind in enumerate(TYPES):
        path = folder / f"itk-{kind}.mha"
        sitk.WriteImage(image(voxels(kind, 60 + number), number % 3 != 0), path, useCompression=number % 2 == 1)
        files.append(VolumeFile(path))
    for name, compressed in [("itk-apart", False), ("itk-apart-compressed", True)]:
        sitk.WriteImage(image(voxels("int16", 75)), folder / f"{name}.mhd", useCompression=compressed)
        files.append(VolumeFile(folder / f"{name}.mhd"))
    return files + _meta_by_hand(folder)


def write_real(sources: list[Path], folder: Path, endings: list[str]) -> list[VolumeFile]:
    """Real volumes: copies of those in this format, the others written by SimpleITK, every second one compressed."""
    files = []
    for number, source in enumerate(sources):
        if source.suffix[1:] in endings:
            path = folder / f"real-{number}{source.suffix}"
            shutil.copy(source, path)
            files.append(VolumeFile(path))
        if source.suffix in (".nrrd", ".mha"):
            continue
        read = sitk.ReadImage(source)
        for key in read.GetMetaDataKeys():
            read.EraseMetaData(key)
        path = folder / f"real-{number}.{endings[number % len(endings)]}"
        sitk.WriteImage(read, path, useCompression=number % 2 == 1)
        files.append(VolumeFile(path))
    return files
