#!/usr/bin/env python3
"""Compares label maps with references as dcm2niix, TotalSegmentator and Nocturne store them; recomputes all figures with SciPy.

    Tools/proofs/compare_references.py NOCTURNE [--real FOLDER] [--keep FOLDER]

The references of the sample volumes are their own label maps with labels moved, eroded, dilated and removed, stored in three
ways: on the grid of dcm2niix's conversion of each DICOM series (other order of the rows, no names), in the order RAS with
TotalSegmentator's table of labels (other numbers, further labels), and with Nocturne's own header. `--real` adds a real CT with
the label map that TotalSegmentator made of it (a folder with `dicom/` and `example_seg_dicom.nii.gz`); its labels are compared with
those of a network that names intensities. A reference with names of other organs has to be refused. Prints the largest
differences between Nocturne's figures and those of this script; exit code 1 if one is above 1e-5, or something is missing.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nibabel
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.differences import report
from nocturne_tools.model_package import label, recipe, write_package
from nocturne_tools.paths import SAMPLE_MODELS, SAMPLES

Labels = NDArray[np.uint8]
Figures = dict[str, float | None]
LABELS = ["left_kidney", "right_kidney", "left_ureter", "right_ureter", "bladder"]
# As in TotalSegmentator: other numbers, other spelling of spaces and case, and labels that the model does not have.
TABLE = {2: "Right Kidney", 3: "left-kidney", 5: "liver", 21: "bladder", 40: "left_ureter", 41: "RIGHT_URETER"}
NEIGHBOURS = ndimage.generate_binary_structure(3, 1)
TOLERANCE = 2.0
LIMIT = 1e-5


def changed(labels: Labels, seed: int) -> Labels:
    """Labels moved by up to two voxels, eroded or dilated; one in four is missing."""
    chance = np.random.default_rng([14, seed])
    result = np.zeros_like(labels)
    for value in range(1, len(LABELS) + 1):
        mask = np.roll(labels == value, chance.integers(-2, 3, 3), (0, 1, 2))
        kind = chance.integers(4)
        if kind == 0:
            continue
        if kind == 1:
            mask = ndimage.binary_dilation(mask, NEIGHBOURS)
        if kind == 2 and value in (1, 2, 5):
            mask = ndimage.binary_erosion(mask, NEIGHBOURS)
        result[mask] = value
    return result


def reordered(image: nibabel.Nifti1Image, affine: NDArray[np.float64]) -> nibabel.Nifti1Image:
    """The same voxels in the order and direction of the axes of another grid."""
    from_axes, to_axes = map(nibabel.io_orientation, (image.affine, affine))
    return image.as_reoriented(nibabel.orientations.ornt_transform(from_axes, to_axes))


def label_table(names: dict[int, str]) -> nibabel.nifti1.Nifti1Extension:
    """Names of labels as TotalSegmentator writes them."""
    entries = [
        f'<Label Key="{value}" Red="1.0" Green="0.5" Blue="0.0" Alpha="1"><![CDATA[{name}]]></Label>'
        for value, name in names.items()
    ]
    text = '<?xml version="1.0" encoding="UTF-8"?> <CaretExtension>  <Date><![CDATA[2013-07-14T05:45:09]]></Date>'
    text += '   <VolumeInformation Index="0">   <LabelTable>' + "\n".join(entries) + "   </LabelTable>"
    text += "   <StudyMetaDataLinkSet>  </StudyMetaDataLinkSet>  <VolumeType><![CDATA[Label]]></VolumeType>"
    return nibabel.nifti1.Nifti1Extension(0, (text + "   </VolumeInformation></CaretExtension>").encode())


def names_of(image: nibabel.Nifti1Image) -> dict[int, str]:
    """Names in the header; empty without a table."""
    for extension in image.header.extensions:
        content = extension.get_content()
        text = content.decode() if isinstance(content, bytes) else str(content)
        if "<LabelTable>" in text:
            tree = ElementTree.fromstring(text.rstrip("\0 \n").encode())
            return {int(each.attrib["Key"]): (each.text or "").strip() for each in tree.iter("Label")}
    return {}


def store_as_dcm2niix(series: Path, labels: nibabel.Nifti1Image, path: Path) -> None:
    """Stores a map on the grid of dcm2niix's conversion, without names."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["dcm2niix", "-z", "y", "-f", "image", "-o", folder, str(series)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        converted = nibabel.Nifti1Image.from_filename(next(Path(folder).glob("*.nii.gz")))
        stored = reordered(labels, converted.affine)
        if stored.shape != converted.shape or np.abs(stored.affine - converted.affine).max() > 1e-3:
            raise SystemExit(f"dcm2niix has another grid for {series}:\n{converted.affine}\n{stored.affine}")
        orders = ["".join(nibabel.aff2axcodes(each.affine)) for each in (converted, labels)]
        print(f"{series.name}: order of the axes {orders[0]} by dcm2niix, {orders[1]} by Nocturne")
        nibabel.save(nibabel.Nifti1Image(np.asarray(stored.dataobj), converted.affine, converted.header), path)


def store_as_totalsegmentator(labels: nibabel.Nifti1Image, names: dict[int, str], path: Path) -> None:
    """Stores a map in the order RAS, its numbers and names those of a table of TotalSegmentator's kind."""
    plain = {name.lower().replace(" ", "_").replace("-", "_"): value for value, name in names.items()}
    numbers = np.array([0, *(plain.get(name, 0) for name in LABELS)], dtype=np.uint8)
    voxels = numbers[np.asarray(labels.dataobj)]
    voxels[:2, :2, :2] = 5
    stored = nibabel.as_closest_canonical(nibabel.Nifti1Image(voxels, labels.affine))
    stored.header.extensions.append(label_table(names))
    nibabel.save(stored, path)


def figures(own: NDArray[np.bool_], other: NDArray[np.bool_], spacing: NDArray[np.float64]) -> Figures:
    """Agreement of two masks by distance transforms, over the whole grid."""
    sizes = int(own.sum()), int(other.sum())
    result: Figures = {"voxelCount": sizes[0], "referenceVoxelCount": sizes[1]}
    result["dice"] = 2 * int((own & other).sum()) / sum(sizes) if sum(sizes) else None
    difference = sizes[0] - sizes[1]
    result["volumeDifferenceMl"] = difference * float(np.prod(spacing)) / 1000
    result["relativeVolumeDifference"] = difference / sizes[1] if sizes[1] else None
    names = ["meanSurfaceDistanceMm", "hausdorff95Mm", "hausdorffMm", "surfaceDice"]
    if not all(sizes):
        return {**result, **dict.fromkeys(names)}
    edges = [mask & ~ndimage.binary_erosion(mask, NEIGHBOURS) for mask in (own, other)]
    ways = [ndimage.distance_transform_edt(~there, sampling=spacing)[here] for here, there in (edges, edges[::-1])]
    both = np.concatenate(ways)
    values = [
        both.mean(),
        max(np.percentile(way, 95) for way in ways),
        both.max(),
        (both <= TOLERANCE).mean(),
    ]
    return {**result, **dict(zip(names, map(float, values), strict=True))}


def largest_size(values: list[float]) -> float:
    return max(map(abs, values))


class Check:
    """Collects what is wrong, and the largest differences."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.largest: dict[str, float] = {}
        self.compared = 0
        # By label and measure, of the items of one batch.
        self.values: dict[tuple[str, str], list[float]] = {}

    def label(self, what: str, found: dict[str, Any], expected: Figures) -> None:
        for name, value in expected.items():
            own = found.get(name)
            if value is None or own is None:
                if value is not own:
                    self.faults.append(f"{what}, {name}: {own} instead of {value}")
                continue
            difference = abs(own - value)
            self.largest[name] = max(self.largest.get(name, 0), difference)
            # Spacings in the file are in single precision.
            if difference > LIMIT + 1e-7 * abs(value):
                self.faults.append(f"{what}, {name}: {own} instead of {value}")
        self.compared += 1

    def item(self, out: Path, item: str, reference: Path, values: dict[str, int]) -> None:
        """Checks the comparison of one item. `values`: the number of each compared label in the reference, by name."""
        result = json.loads((out / item / "result.json").read_text())
        if result["comparison"] is None:
            self.faults.append(f"{item} was not compared: {result['notes']}")
            return
        own = nibabel.Nifti1Image.from_filename(out / item / "segmentation.nii.gz")
        other = np.asarray(reordered(nibabel.Nifti1Image.from_filename(reference), own.affine).dataobj)
        labels = np.asarray(own.dataobj)
        numbers = {each["name"]: each["value"] for each in result["labels"]}
        found = {each["name"]: each for each in result["comparison"]["labels"]}
        if sorted(found) != sorted(values):
            self.faults.append(f"{item}: compared {sorted(found)} instead of {sorted(values)}")
        for name in sorted(set(found) & set(values)):
            spacing = np.array(nibabel.affines.voxel_sizes(own.affine))
            expected = figures(labels == numbers[name], other == values[name], spacing)
            self.label(f"{out.name}, {item}, {name}", found[name], expected)
            for measure, value in list(expected.items())[2:]:
                if value is not None:
                    self.values.setdefault((name, measure.removesuffix("Mm").removesuffix("Ml")), []).append(value)

    def table(self, out: Path) -> None:
        """Checks `comparison.csv` of the items checked before, and forgets these."""
        values, self.values = self.values, {}
        with (out / "comparison.csv").open() as file:
            rows = {(row["label"], row["measure"]): row for row in csv.DictReader(file)}
        left = rows.pop(("", "notCompared"), None)
        if left:
            print(f"{out.name}: {left['items']} not compared: {left['worstItems']}")
        if set(rows) != set(values):
            self.faults.append(f"{out.name}, comparison.csv has other rows: {set(rows) ^ set(values)}")
        for key in sorted(set(rows) & set(values)):
            found, row = values[key], rows[key]
            worst = min if key[1] in ("dice", "surfaceDice") else max
            if key[1].endswith("olumeDifference"):
                row["worst"] = str(abs(float(row["worst"])))
                worst = largest_size
            expected = {"items": float(len(found)), "mean": float(np.mean(found)), "median": float(np.median(found))}
            expected["worst"] = worst(found)
            for name, value in expected.items():
                if abs(float(row[name]) - value) > LIMIT + 1e-7 * abs(value):
                    self.faults.append(f"{out.name}, {key}, {name}: {row[name]} instead of {value}")
        print(f"{out.name}: {len(rows)} rows of comparison.csv")


def real_model(folder: Path) -> None:
    """Labels by intensity in HU: 1 from -100, 2 from 0, 3 from 100; the names are TotalSegmentator's in another order."""
    folder.mkdir()
    classes = np.arange(4, dtype=np.float32)
    arrays = {"weight": (classes / 100).reshape(-1, 1, 1, 1, 1), "bias": classes * 1.5 - classes * classes / 2}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["input", "weight", "bias"], ["logits"], kernel_shape=[1, 1, 1])],
        "intensities",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, 20, 128, 128])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 4, 20, 128, 128])],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in arrays.items()],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "network.onnx").write_bytes(network.SerializeToString(deterministic=True))
    names = ["colon", "liver", "stomach"]
    manifest = {
        "id": "intensities",
        "name": "Labels by intensity, synthetic",
        "description": "Synthetic, for tests only, no medical use.",
        "version": "1.0.0",
        "modalities": ["CT"],
        "channels": [{"name": "image", "normalization": {"scheme": "none"}}],
        "labels": [label(value, name, "#CC3311") for value, name in enumerate(names, start=1)],
        "volumeSegmentation": recipe("stored", None, [20, 128, 128]),
    }
    write_package(folder, manifest, ["network.onnx"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--real", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for references and results, which is kept")
    arguments = parser.parse_args()
    check = Check()
    if shutil.which("dcm2niix") is None:
        raise SystemExit("dcm2niix is missing")

    def run(source: Path, model: Path, out: Path, *options: object) -> None:
        command = [arguments.nocturne, "run", source, "--model", model, "--output", out, "--quiet", "--meshes", "none"]
        subprocess.run([*map(str, command), "--preview", "none", *map(str, options)], check=True)

    with tempfile.TemporaryDirectory(prefix="compare-references-") as temporary:
        folder = arguments.keep or Path(temporary)
        volumes, model = SAMPLES / "Volumes", SAMPLE_MODELS / "urinary-tract-ct"
        run(volumes, model, folder / "first")
        kinds = {kind: folder / f"references-{kind}" for kind in ("dcm2niix", "totalsegmentator", "nocturne", "others")}
        for path in kinds.values():
            path.mkdir(parents=True)
        items = sorted(path.parent.name for path in (folder / "first").glob("*/result.json"))
        for seed, item in enumerate(items):
            source = nibabel.Nifti1Image.from_filename(folder / "first" / item / "segmentation.nii.gz")
            edited = changed(np.asarray(source.dataobj).astype(np.uint8), seed)
            image = nibabel.Nifti1Image(edited, source.affine)
            name = f"{item}.nii.gz"
            if item.startswith("dicom"):
                store_as_dcm2niix(volumes / item, image, kinds["dcm2niix"] / name)
            store_as_totalsegmentator(image, TABLE, kinds["totalsegmentator"] / name)
            store_as_totalsegmentator(image, {1: "spleen", 5: "liver"}, kinds["others"] / name)
            nibabel.save(nibabel.Nifti1Image(edited, source.affine, source.header), kinds["nocturne"] / name)
        plain = {name.lower().replace(" ", "_").replace("-", "_"): value for value, name in TABLE.items()}
        values = {"totalsegmentator": {name: plain[name] for name in LABELS}}
        for kind, references in kinds.items():
            out = folder / f"out-{kind}"
            run(volumes, model, out, "--compare", references, "--surface-tolerance", TOLERANCE)
            numbers = values.get(kind, {name: value for value, name in enumerate(LABELS, start=1)})
            for item in items:
                reference = references / f"{item}.nii.gz"
                if kind != "others" and reference.exists():
                    check.item(out, item, reference, numbers)
                elif json.loads((out / item / "result.json").read_text())["comparison"] is not None:
                    check.faults.append(f"{out.name}, {item} was compared")
            if kind != "others":
                check.table(out)
        if arguments.real:
            real_model(folder / "intensities")
            reference = arguments.real / "example_seg_dicom.nii.gz"
            out = folder / "out-real"
            options = ["--compare", reference, "--surface-tolerance", TOLERANCE]
            run(arguments.real / "dicom", folder / "intensities", out, *options)
            named = {name: value for value, name in names_of(nibabel.Nifti1Image.from_filename(reference)).items()}
            item = next(out.glob("*/result.json")).parent.name
            check.item(out, item, reference, {name: named[name] for name in ("colon", "liver", "stomach")})
            check.table(out)
    print(f"{check.compared} labels compared")
    return report(check.largest, check.faults)


if __name__ == "__main__":
    sys.exit(main())
