"""The wheel: an archive of the installed files, with the description that pip reads."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from nocturne_tools.paths import TOOLS

from .version import homepage, maintainer

# `nocturne` on PyPI is another project.
NAME = "nocturne-batch"
SUMMARY = "Offline batch engine: runs segmentation and classification models over folders of medical volumes and photos."
NOTE = """Nocturne runs segmentation and classification models over folders of CT, MR and PET volumes (DICOM, NIfTI) and
photos, offline. Research software: not a medical device, not for diagnosis or treatment.

    nocturne-demo                                              # runs the included samples
    nocturne plan scans/ --model brain-tissue-t1               # shows items, memory and time
    nocturne run scans/ --model brain-tissue-t1 --output results/
    nocturne-export nnunet TRAINED_FOLDER organs/              # your own nnU-Net becomes the model organs/

The wheel contains the program for Linux on x86-64 with its shared libraries, sample models and inputs, NiiVue (the viewer of the
review page), and the manual (`share/doc/nocturne/manual/index.html` in the environment). The exporters of trained networks,
`nocturne-export`, need Python 3.11 and the packages of the extra `export`; PyTorch that is already installed is kept. The extra
`onnxruntime` adds ONNX Runtime for networks that Nocturne's own kernels do not run, and `cuda` adds it for NVIDIA GPUs.
"""


KEYWORDS = ("medical imaging", "segmentation", "DICOM", "NIfTI", "nnU-Net", "TotalSegmentator", "batch", "CPU")
CLASSIFIERS = (
    "Environment :: Console",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Topic :: Scientific/Engineering :: Medical Science Apps.",
)


@dataclass(frozen=True)
class Description:
    """What a wheel's name and metadata say."""

    version: str
    glibc: tuple[int, ...]
    requirements: dict[str, list[str]]
    """Of each extra."""
    licences: list[str]

    @property
    def stem(self) -> str:
        return f"{NAME.replace('-', '_')}-{self.version}"

    @property
    def tag(self) -> str:
        return f"py3-none-manylinux_{self.glibc[0]}_{self.glibc[1]}_x86_64"

    @property
    def file_name(self) -> str:
        return f"{self.stem}-{self.tag}.whl"

    def metadata(self) -> str:
        lines = ["Metadata-Version: 2.4", f"Name: {NAME}", f"Version: {self.version}", f"Summary: {SUMMARY}"]
        lines += [f"Author-email: {maintainer()}", f"Keywords: {','.join(KEYWORDS)}"]
        page = homepage()
        lines += [f"Project-URL: Homepage, {page}", f"Project-URL: Releases, {page}/releases"] if page else []
        lines += [f"Classifier: {one}" for one in CLASSIFIERS]
        lines += ["License-Expression: Apache-2.0 AND LicenseRef-Bundled-Libraries", "Requires-Python: >=3.8"]
        lines += [f"License-File: {name}" for name in self.licences]
        for extra, names in self.requirements.items():
            lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {name}; extra == "{extra}"' for name in names)]
        return "\n".join([*lines, "Description-Content-Type: text/markdown", "", NOTE])

    def wheel(self) -> str:
        return f"Wheel-Version: 1.0\nGenerator: nocturne-tools\nRoot-Is-Purelib: false\nTag: {self.tag}\n"


def engine_requirements() -> dict[str, list[str]]:
    """The wheels that Tools/install-onnxruntime pins, by the extra that adds them."""
    text = (TOOLS / "install-onnxruntime").read_text()
    blocks = [re.findall(r"^(\S+==\S+) --hash", block, re.MULTILINE) for block in text.split("TEXT")]
    found = {"cuda" if "onnxruntime-gpu" in block[0] else "onnxruntime": block for block in blocks if block}
    return {extra: found[extra] for extra in ("onnxruntime", "cuda")}


def place(path: Path, stem: str) -> str:
    """Where an installed file stands in the archive: pip puts scripts into bin, and data into the folder above it."""
    if path.parts[0] == "bin":
        return f"{stem}.data/scripts/{path.name}"
    return f"{stem}.data/data/{path.as_posix()}"


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def write(target: Path, files: dict[str, Path | str], description: Description, date: int) -> None:
    """Writes the archive from paths or texts by their names in it."""
    information = f"{description.stem}.dist-info"
    entries = "[console_scripts]\nnocturne-export = nocturne_export:main\n"
    texts = {"METADATA": description.metadata(), "WHEEL": description.wheel(), "entry_points.txt": entries}
    everything = {**files, **{f"{information}/{name}": text for name, text in texts.items()}}
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, source in sorted(everything.items()):
            content = source.encode() if isinstance(source, str) else source.read_bytes()
            runs = isinstance(source, Path) and os.access(source, os.X_OK)
            archive.writestr(entry(name, 0o755 if runs else 0o644, date), content, zipfile.ZIP_DEFLATED, 9)
            record.append(record_line(name, content))
        name = f"{information}/RECORD"
        archive.writestr(entry(name, 0o644, date), "\n".join([*record, f"{name},,"]) + "\n", zipfile.ZIP_DEFLATED)


def entry(name: str, mode: int, date: int) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name, time.gmtime(date)[:6])
    found.external_attr = (0o100000 | mode) << 16
    return found
