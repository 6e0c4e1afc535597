"""Damaged files in NRRD, MetaImage, HEIC and WebP: cut, changed in their headers, or naming other files for their voxels."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nocturne_tools.format_files.pictures import drawn
from nocturne_tools.format_files.volumes import meta_header, nrrd_header, voxels


@dataclass
class Damaged:
    """A damaged file, and what lies next to it. `may_be_read`: a decoder may return a picture of it."""

    name: str
    content: bytes
    others: dict[str, bytes] = field(default_factory=dict)
    may_be_read: bool = False

    def write(self, folder: Path) -> Path:
        for name, content in {**self.others, self.name: self.content}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder / self.name


def _cuts(content: bytes, ending: str, header: int, may_be_read: bool = False) -> list[Damaged]:
    """A file that ends in its first bytes, in its header, after it, in the middle of its content, and before its last byte."""
    places = [0, 4, header // 2, header, (header + len(content)) // 2, len(content) - 1]
    return [Damaged(f"cut-{place}.{ending}", content[:place], may_be_read=may_be_read) for place in places]


def nrrd_files(_: Path) -> list[Damaged]:
    data = voxels("int16", 5).tobytes()
    packed = bytearray(gzip.compress(data))
    whole = nrrd_header("int16").encode() + b"\n" + data
    files = _cuts(whole, "nrrd", len(whole) - len(data))
    changes: dict[str, dict[str, str | None]] = {
        "sizes-huge": {"sizes": "9999999999 9999999999 9999999999"},
        "sizes-large": {"sizes": "100000 100000 50"},
        "sizes-overflow": {"sizes": "18446744073709551616 2 2"},
        "sizes-negative": {"sizes": "-11 9 7"},
        "sizes-zero": {"sizes": "0 9 7"},
        "directions-nan": {"space_directions": "(nan,0,0) (0,1,0) (0,0,1)"},
        "directions-inf": {"space_directions": "(1e999,0,0) (0,1,0) (0,0,1)"},
        "directions-singular": {"space_directions": "(1,0,0) (1,0,0) (0,0,1)"},
        "origin-nan": {"space_origin": "(nan,0,0)"},
        "type-block": {"type": "block"},
        "encoding-bzip2": {"encoding": "bzip2"},
        "encoding-text": {"encoding": "ascii"},
        "no-endian": {"endian": None},
        "no-orientation": {"space": None},
        "skip-huge": {"byte_skip": "9223372036854775807"},
        "skip-negative": {"byte_skip": "-2"},
        "axes": {"dimension": "4"},
        "vectors": {"kinds": "vector domain domain"},
        "missing": {"data_file": "missing.raw"},
        "parent": {"data_file": "../outside.raw"},
        "absolute": {"data_file": "/etc/hostname"},
        "list": {"data_file": "LIST\na.raw"},
        "itself": {"data_file": "itself.nrrd", "byte_skip": "999999"},
    }
    files += [
        Damaged(f"{name}.nrrd", nrrd_header("int16", **fields).encode() + b"\n" + data, {"../outside.raw": data})
        for name, fields in changes.items()
    ]
    magic = b"NRRD0009" + whole[8:]
    twice = nrrd_header("int16").encode() + b"type: short\n\n" + data
    packed[len(packed) // 2] ^= 0xFF
    header = nrrd_header("int16", "gzip").encode() + b"\n"
    files += [Damaged("magic.nrrd", magic), Damaged("twice.nrrd", twice), Damaged("gzip.nrrd", header + bytes(packed))]
    return [*files, Damaged("gzip-cut.nrrd", header + gzip.compress(data)[:-4])]


def meta_files(_: Path) -> list[Damaged]:
    data = voxels("int16", 6).tobytes()
    packed = bytearray(zlib.compress(data))
    whole = meta_header("int16").encode() + data
    files = _cuts(whole, "mha", len(whole) - len(data))
    changes: dict[str, tuple[str, dict[str, str | None]]] = {
        "sizes-huge": ("LOCAL", {"DimSize": "9999999999 9999999999 9999999999"}),
        "sizes-large": ("LOCAL", {"DimSize": "100000 100000 50"}),
        "sizes-overflow": ("LOCAL", {"DimSize": "18446744073709551616 2 2"}),
        "sizes-negative": ("LOCAL", {"DimSize": "-11 9 7"}),
        "sizes-zero": ("LOCAL", {"DimSize": "0 9 7"}),
        "spacing-nan": ("LOCAL", {"ElementSpacing": "nan 1 1"}),
        "spacing-negative": ("LOCAL", {"ElementSpacing": "-1 1 1"}),
        "spacing-zero": ("LOCAL", {"ElementSpacing": "0 1 1"}),
        "matrix-singular": ("LOCAL", {"TransformMatrix": "0 0 0 0 0 0 0 0 0"}),
        "matrix-short": ("LOCAL", {"TransformMatrix": "1 0 0 0 1 0"}),
        "offset-inf": ("LOCAL", {"Offset": "1e999 0 0"}),
        "type": ("LOCAL", {"ElementType": "MET_STRING"}),
        "channels": ("LOCAL", {"ElementNumberOfChannels": "3"}),
        "slope": ("LOCAL", {"ElementToIntensityFunctionSlope": "2"}),
        "text": ("LOCAL", {"BinaryData": "False"}),
        "no-orientation": ("LOCAL", {"TransformMatrix": None}),
        "not-an-image": ("LOCAL", {"ObjectType": "Mesh"}),
        "missing": ("missing.raw", {}),
        "parent": ("../outside.raw", {}),
        "absolute": ("/etc/hostname", {}),
        "list": ("LIST\na.raw", {}),
        "pattern": ("slice%03d.raw 1 7 1", {}),
        "header-huge": ("there.raw", {"HeaderSize": "9223372036854775807"}),
        "too-short": ("there.raw", {"HeaderSize": "100"}),
    }
    around = {"../outside.raw": data, "there.raw": data}
    files += [
        Damaged(f"{name}.mha", meta_header("int16", target, **fields).encode() + data, around)
        for name, (target, fields) in changes.items()
    ]
    packed[len(packed) // 2] ^= 0xFF
    header = meta_header("int16", CompressedData="True").encode()
    files += [Damaged("zlib.mha", header + bytes(packed)), Damaged("zlib-cut.mha", header + zlib.compress(data)[:-4])]
    return [*files, Damaged("other-text.mha", b"Hello = there\n" + whole)]


def _replaced(content: bytes, name: bytes, offset: int, value: bytes) -> bytes:
    """With bytes replaced, counted from the end of a name of four letters."""
    place = content.index(name) + 4 + offset
    return content[:place] + value + content[place + len(value) :]


def _flipped(content: bytes, start: int, ending: str) -> list[Damaged]:
    """Bits changed at places by chance, of which a decoder need not notice each."""
    files = []
    for seed in range(4):
        rng, changed = np.random.default_rng(seed), bytearray(content)
        for place in rng.integers(start, len(content), 12):
            changed[place] ^= 1 << int(rng.integers(8))
        files.append(Damaged(f"flipped-{seed}.{ending}", bytes(changed), may_be_read=True))
    return files


def heic_files(folder: Path) -> list[Damaged]:
    drawn(121, 99).save(folder / "good.heic", quality=70)
    whole = (folder / "good.heic").read_bytes()
    media, huge, u32 = whole.index(b"mdat") + 4, b"\xff" * 4, struct.Struct(">I").pack
    files = _cuts(whole, "heic", media)
    changes = {
        "brand": whole[:8] + b"xxxx" + whole[12:],
        "box-huge": huge + whole[4:],
        "box-zero": u32(0) + whole[4:],
        "meta-huge": _replaced(whole, b"meta", -8, huge),
        "meta-short": _replaced(whole, b"meta", -8, u32(12)),
        "primary": _replaced(whole, b"pitm", 4, b"\x7f\x7f"),
        "items": _replaced(whole, b"iinf", 4, b"\xff\xff"),
        "place": _replaced(whole, b"iloc", 4, b"\xff\xff\xff\xff"),
        "width-huge": _replaced(whole, b"ispe", 4, huge),
        "sizes-huge": _replaced(whole, b"ispe", 4, huge + huge),
        "width-zero": _replaced(whole, b"ispe", 4, u32(0)),
        "other-size": _replaced(whole, b"ispe", 4, u32(4000) + u32(3000)),
        "no-settings": whole.replace(b"hvcC", b"xxxx"),
        "settings": _replaced(whole, b"hvcC", 20, b"\xff" * 24),
        "zeros": whole[:media] + bytes(len(whole) - media),
        "ones": whole[:media] + b"\xff" * (len(whole) - media),
    }
    # libheif 1.15 takes the size from the picture itself, and the items that there are: it reads the whole picture.
    lenient = ("items", "width-zero", "other-size")
    files += [Damaged(f"{name}.heic", content, may_be_read=name in lenient) for name, content in changes.items()]
    return files + _flipped(whole, media, "heic")


def webp_files(folder: Path) -> list[Damaged]:
    files, u32 = [], struct.Struct("<I").pack
    picture = drawn(121, 99)
    picture.save(folder / "lossy.webp", quality=70)
    picture.save(folder / "lossless.webp", lossless=True)
    drawn(121, 99, "RGBA").save(folder / "alpha.webp", quality=70, exif=b"Exif\0\0II*\0\x08\0\0\0\0\0")
    picture.save(folder / "animated.webp", save_all=True, append_images=[picture.rotate(180)], duration=90)
    lossy, lossless, alpha, moving = ((folder / f"{n}.webp").read_bytes() for n in ("lossy", "lossless", "alpha", "animated"))
    files += _cuts(lossy, "webp", 30)
    changes = {
        "riff-huge": lossy[:4] + b"\xff" * 4 + lossy[8:],
        "riff-zero": lossy[:4] + u32(0) + lossy[8:],
        "chunk-huge": _replaced(lossy, b"VP8 ", 0, u32(0xFFFFFFF0)),
        "chunk-zero": _replaced(lossy, b"VP8 ", 0, u32(0)),
        "code": _replaced(lossy, b"VP8 ", 7, b"xxx"),
        "width-zero": _replaced(lossy, b"VP8 ", 10, b"\0\0"),
        "sizes-huge": _replaced(lossy, b"VP8 ", 10, b"\xff\x3f\xff\x3f"),
        "fourth": lossy.replace(b"VP8 ", b"VP9 "),
        "lossless-code": _replaced(lossless, b"VP8L", 4, b"\0"),
        "lossless-huge": _replaced(lossless, b"VP8L", 5, b"\xff\xff\xff\x0f"),
        "lossless-cut": lossless[: len(lossless) // 2],
        "canvas-huge": _replaced(alpha, b"VP8X", 8, b"\xff" * 6),
        "canvas-other": _replaced(alpha, b"VP8X", 8, b"\x63\0\0\x63\0\0"),
        "alpha-cut": alpha[: alpha.index(b"VP8 ") - 20],
        "frame-outside": _replaced(moving, b"ANMF", 4, b"\xff\xff\xff\xff\xff\xff"),
        "frame-huge": _replaced(moving, b"ANMF", 10, b"\xff" * 6),
        "frame-cut": moving[: moving.index(b"ANMF") + 60],
    }
    files += [Damaged(f"{name}.webp", content) for name, content in changes.items()]
    long = _replaced(alpha, b"EXIF", 0, u32(0xFFFFFFF0))
    files += [Damaged("exif-huge.webp", long, may_be_read=True)]
    return files + _flipped(lossy, 40, "webp")


FILES = {"nrrd": nrrd_files, "metaimage": meta_files, "heic": heic_files, "webp": webp_files}
