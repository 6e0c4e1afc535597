#!/usr/bin/env python3
"""A hundred inputs of which six are bad, each in its own way: 94 are completed, six told apart, without a person.

    Tools/Proofs/hundred_inputs.py NOCTURNE

One is corrupt, one empty, one unreadable, one has two dimensions, one is of the wrong modality, and one kills the engine
whenever it is worked on (a fault on purpose). The run is made as an ordinary user, since nothing is unreadable to root.
Then fifty runs at once into fifty folders with fresh homes, and two runs into one folder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pydicom

from fault_matrix import ROOT, write_volume

MODEL = ROOT / "Tests/Fixtures/Models/threshold"
NOBODY = 65534


def write_ultrasound(folder: Path) -> None:
    """Pictures of another modality than the model takes."""
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
    write_volume(folder / "poison.nii", 16, 1)
    for path in folder.rglob("*"):
        os.chown(path, NOBODY, NOBODY)
    (folder / "unreadable.nii").chmod(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("to be run as root: it gives itself the rights of nobody")
    work = Path(tempfile.mkdtemp(prefix="hundred-"))
    work.chmod(0o755)
    make_inputs(work / "in")
    tool = shutil.copy(arguments.nocturne, work / "nocturne")
    model = shutil.copytree(MODEL, work / "model")

    def start(out: Path, extra: list[str] = [], **variables: str) -> subprocess.Popen:
        command = [str(tool), "run", str(work / "in"), "--model", str(model), "--output", str(out), "--quiet", *extra]
        return subprocess.Popen(
            command, env={**os.environ, **variables}, user=NOBODY, group=NOBODY, extra_groups=[],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )

    outs = work / "outs"
    outs.mkdir()
    os.chown(outs, NOBODY, NOBODY)
    poison = start(outs / "hundred", ["--fault-injection"], NOCTURNE_FAULT="item.stage@poison:1+:kill")
    said = poison.communicate()[1]
    account = json.loads((outs / "hundred/batch.json").read_text())
    print(f"exit {poison.returncode}, {account['counts']}")
    for item in account["items"]:
        if item["state"] != "completed":
            print(f"  {item['state']:12} {item['item']}: {item['reason']}")
    print("retry list:", [Path(line).name for line in (outs / "hundred/retry.txt").read_text().split()])

    runs = []
    for index in range(50):
        home = outs / f"home{index}"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        runs.append(start(outs / f"out{index}", ["--include", "good0*"], HOME=str(home)))
    codes = [run.wait() for run in runs]
    print(f"fifty at once: exit codes {sorted(set(codes))}")

    first = start(outs / "one", ["--fault-injection"], NOCTURNE_FAULT="item.stage:1:delay-4000")
    while not (outs / "one/.nocturne/lock").exists() and first.poll() is None:
        pass
    second = start(outs / "one")
    words = second.communicate()[1].strip()
    print(f"two on one folder: {first.wait()} and {second.returncode} ({words})")
    shutil.rmtree(work)
    counts = account["counts"]
    good = poison.returncode == 3 and counts["completed"] == 94 and set(codes) == {0} and second.returncode == 2
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
