#!/usr/bin/env python3
"""A hundred inputs of which six are bad, each in another way: 94 complete, and six are reported with their reasons.

    Tools/proofs/hundred_inputs.py NOCTURNE

One input is corrupt, one empty, one unreadable, one has two dimensions, one is of the wrong modality, and one crashes the
engine whenever it is processed (an injected fault). The run is made as the user nobody, since root can read everything.
Then fifty runs are started at once into fifty folders with fresh home folders, and two runs into one folder. Must run as
root. Needs pydicom.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pydicom

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.batch_harness import NOBODY
from nocturne_tools.interface import FaultPoint
from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.small_volumes import write_volume


def write_ultrasound(folder: Path) -> None:
    """Images of another modality than the model takes."""
    folder.mkdir()
    series = pydicom.uid.generate_uid()
    for index in range(3):
        data = pydicom.Dataset()
        data.file_meta = pydicom.dataset.FileMetaDataset()
        data.file_meta.MediaStorageSOPClassUID = data.SOPClassUID = pydicom.uid.UltrasoundImageStorage
        data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID = pydicom.uid.generate_uid()
        data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
        data.SeriesInstanceUID, data.StudyInstanceUID, data.Modality = series, series, "US"
        data.Rows = data.Columns = 16
        data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 8, 8, 7, 0
        data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
        data.PixelData = bytes(256)
        data.save_as(folder / f"{index}.dcm", enforce_file_format=True)


def make_inputs(folder: Path) -> None:
    folder.mkdir()
    for index in range(94):
        write_volume(folder / f"good{index:02}.nii", 16 + index % 8, 1)
    write_volume(folder / "corrupt", 24, 1)
    whole = gzip.compress((folder / "corrupt").read_bytes())
    (folder / "corrupt").unlink()
    (folder / "corrupt.nii.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.nii").touch()
    write_volume(folder / "unreadable.nii", 16, 1)
    write_volume(folder / "flat.nii", 16, 1)
    flat = bytearray((folder / "flat.nii").read_bytes())
    flat[40:48] = bytes([2, 0, 16, 0, 16, 0, 1, 0])
    (folder / "flat.nii").write_bytes(flat[: 352 + 256])
    write_ultrasound(folder / "ultrasound")
    write_volume(folder / "crashing.nii", 16, 1)
    for path in folder.rglob("*"):
        os.chown(path, NOBODY, NOBODY)
    (folder / "unreadable.nii").chmod(0)


class Runs:
    """Starts runs over the inputs as the user nobody."""

    def __init__(self, nocturne: str, folder: Path) -> None:
        folder.chmod(0o755)
        self.input, self.outs = folder / "in", folder / "outs"
        make_inputs(self.input)
        self.tool = shutil.copy(nocturne, folder / "nocturne")
        self.model = shutil.copytree(THRESHOLD_MODEL, folder / "model")
        self.outs.mkdir()
        os.chown(self.outs, NOBODY, NOBODY)

    def start(self, name: str, *options: str, **variables: str) -> subprocess.Popen:
        command = [self.tool, "run", str(self.input), "--model", str(self.model), "--output", str(self.outs / name)]
        if "NOCTURNE_FAULT" in variables:
            command.append("--fault-injection")
        return subprocess.Popen(
            [*command, "--quiet", *options],
            env={**os.environ, **variables},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hundred(self) -> bool:
        """The run over all inputs: whether 94 completed."""
        run = self.start("hundred", NOCTURNE_FAULT=f"{FaultPoint.ITEM_STAGE}@crashing:1+:kill")
        run.communicate()
        report = json.loads((self.outs / "hundred/batch.json").read_text())
        print(f"exit {run.returncode}, {report['counts']}")
        for item in report["items"]:
            if item["state"] != "completed":
                print(f"  {item['state']:12} {item['item']}: {item['reason']}")
        lines = (self.outs / "hundred/retry.txt").read_text().splitlines()
        print("retry list:", [Path(line).name for line in lines if line and not line.startswith("#")])
        return run.returncode == 3 and report["counts"]["completed"] == 94

    def fifty(self) -> bool:
        """Fifty runs at once, each with an empty home folder: whether all ended with 0."""
        runs = []
        for index in range(50):
            home = self.outs / f"home{index}"
            home.mkdir()
            os.chown(home, NOBODY, NOBODY)
            runs.append(self.start(f"out{index}", "--include", "good0*", HOME=str(home)))
        codes = [run.wait() for run in runs]
        print(f"fifty at once: exit codes {sorted(set(codes))}")
        return set(codes) == {0}

    def two(self) -> bool:
        """Two runs into one folder: whether the second was refused."""
        first = self.start("one", NOCTURNE_FAULT=f"{FaultPoint.ITEM_STAGE}:1:delay-4000")
        while not (self.outs / "one/.nocturne/lock").exists() and first.poll() is None:
            time.sleep(0.005)
        second = self.start("one")
        message = second.communicate()[1].strip()
        print(f"two on one folder: {first.wait()} and {second.returncode} ({message})")
        return second.returncode == 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("must run as root: it starts runs as the user nobody")
    folder = Path(tempfile.mkdtemp(prefix="hundred-"))
    try:
        runs = Runs(arguments.nocturne, folder)
        good = [runs.hundred(), runs.fifty(), runs.two()]
    finally:
        shutil.rmtree(folder)
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
