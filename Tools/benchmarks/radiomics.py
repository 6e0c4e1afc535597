#!/usr/bin/env python3
"""Compares `nocturne radiomics` with MIRP, and with pyradiomics: values by family, and time, one thread each.

    python Tools/benchmarks/radiomics.py NOCTURNE IMAGE MASK [--labels 1,2,5] [--spacing 2] [--pyradiomics PYTHON] [--save]

IMAGE and MASK are NIfTI files on one grid. Each label is measured by both with the same settings: voxels of --spacing mm
(trilinear), rounded, re-segmentation from -1000 to 400, bins of 25 from -1000, all features in 3D. Processor time includes
reading the files; MIRP gets one mask a call, Nocturne the whole label map restricted to the label.

Prints for each label the processor time of both, and for each family the largest relative difference of a value, with its
name. Moran's I and Geary's C are left out: from 1,000 voxels on, MIRP estimates them from samples. Regions that touch the
border of the image differ, because MIRP interpolates their masks otherwise. Needs mirp and nibabel.

--pyradiomics names the Python of an environment with pyradiomics (which needs another NumPy than MIRP): it then takes the place
of MIRP, with its default settings and every feature class, and Nocturne has the preset `pyradiomics`. Features are matched by
the table of the manual. Two rows for a label: both programs as a whole, then without their starts, which are `nocturne --version`
and everything before pyradiomics' execute().
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import nibabel as nib
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, machine_line
from nocturne_tools.paths import ROOT

SAMPLED = {"morph_moran_i", "morph_geary_c"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("image")
    parser.add_argument("mask")
    parser.add_argument("--labels", default="", help="default: all")
    parser.add_argument("--spacing", type=float, default=1.9, help="in mm; default: 1.9, where few voxels are half in a mask")
    parser.add_argument("--pyradiomics", metavar="PYTHON", help="compare with pyradiomics of this Python instead")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    return parser.parse_args()


def settings(spacing: float) -> dict[str, Any]:
    return {
        "preset": "ibsi-c",
        "interpolation": {"spacingMm": [spacing] * 3},
        "volumeHistogramDiscretisation": {"method": "none"},
    }


def timed(command: list[str]) -> tuple[bytes, float]:
    """What a command prints, and its processor seconds."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    output = subprocess.run(command, capture_output=True, check=True).stdout
    return output, used() - before


def ours(program: str, image: str, mask: Path, settings: str) -> tuple[dict[str, float | None], float]:
    """Values by name, and processor seconds. `settings` is a preset or a file."""
    output, used = timed([program, "radiomics", image, str(mask), "--settings", settings, "--json", "-j", "1"])
    report = json.loads(output)
    return {one["name"]: one["value"] for one in report["regions"][0]["features"]}, used


def theirs(image: str, mask: Path, spacing: float) -> tuple[dict[str, float], float]:
    from mirp import extract_features

    start = time.process_time()
    table = extract_features(
        image=image,
        image_modality="ct",
        mask=str(mask),
        new_spacing=spacing,
        spline_order=1,
        anti_aliasing=False,
        roi_spline_order=1,
        resegmentation_intensity_range=[-1000.0, 400.0],
        base_discretisation_method="fixed_bin_size",
        base_discretisation_bin_width=25.0,
        ivh_discretisation_method="none",
        base_feature_families="all",
        by_slice=False,
        glcm_spatial_method=["3d_average", "3d_volume_merge"],
        glrlm_spatial_method=["3d_average", "3d_volume_merge"],
    )[0]
    used = time.process_time() - start
    names = [str(name) for name in table.columns if str(name).split("_")[0] in FAMILIES]
    return {name: float(table[name].iloc[0]) for name in names}, used


PYRADIOMICS = """
import json, sys, time
import radiomics
from radiomics import featureextractor
radiomics.setVerbosity(50)
extractor = featureextractor.RadiomicsFeatureExtractor()
extractor.disableAllFeatures()
for name in ("firstorder", "glcm", "glrlm", "glszm", "gldm", "ngtdm"):
    extractor.enableFeatureClassByName(name)
extractor.enableFeaturesByName(shape=[
    "MeshVolume", "VoxelVolume", "SurfaceArea", "SurfaceVolumeRatio", "Sphericity", "Compactness1", "Compactness2",
    "SphericalDisproportion", "Maximum3DDiameter", "MajorAxisLength", "MinorAxisLength", "LeastAxisLength", "Elongation",
    "Flatness"])
start = time.process_time()
found = extractor.execute(sys.argv[1], sys.argv[2])
used = time.process_time() - start
values = {k[len("original_"):]: float(v) for k, v in found.items() if k.startswith("original_")}
print(json.dumps([values, used]))
"""


def pyradiomics(python: str, image: str, mask: Path) -> tuple[dict[str, float], tuple[float, float]]:
    """Values under the names of IBSI by the table of the manual, and processor seconds with and without the start of Python."""
    output, whole = timed([python, "-c", PYRADIOMICS, image, str(mask)])
    values, used = json.loads(output)
    values["firstorder_Kurtosis"] -= 3
    return {name: values[peer] for name, peer in manual_names().items() if peer in values}, (whole, used)


def stem(name: str) -> str | None:
    """The name in the manual's table of a feature that pyradiomics has: textures are averages over directions there."""
    return None if name.endswith("_comb") else name.removesuffix("_avg").removesuffix("_3D")


def manual_names() -> dict[str, str]:
    """pyradiomics' `class_Feature` by the name of IBSI."""
    names = {}
    for line in (ROOT / "Sources/nocturne/Nocturne.docc/Radiomics.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4 and len(words := cells[3].split()) == 2:
            names[cells[0].strip("`")] = "_".join(words)
    return names


FAMILIES = ["morph", "loc", "stat", "ih", "ivh", "cm", "rlm", "szm", "dzm", "ngt", "ngl"]


def matched(name: str, peers: dict[str, float]) -> float | None:
    """MIRP writes settings into its names: `cm_contrast_d1_3d_avg_fbs_w25.0`."""
    stem, ending = name, ""
    for suffix, theirs_suffix in (("_3D_avg", "3d_avg"), ("_3D_comb", "3d_v_mrg"), ("_3D", "3d")):
        if name.endswith(suffix):
            stem, ending = name[: -len(suffix)], theirs_suffix
            break
    for peer, value in peers.items():
        words = peer[len(stem) :]
        if peer.startswith(stem) and (words == "" or words[0] == "_") and (not ending or f"_{ending}" in words):
            rest = words.replace("_d1", "").replace("_a0.0", "").replace("_a0", "").lstrip("_")
            if rest == "" or rest.startswith(("fbs", "fbn", ending or "fbs")):
                return value
    return None


def compare(found: dict[str, float | None], peers: dict[str, float | None]) -> dict[str, tuple[float, str, int]]:
    """For each family the largest relative difference, its feature, and the number of features compared."""
    worst: dict[str, tuple[float, str, int]] = {}
    for name, value in found.items():
        peer = peers.get(name)
        if value is None or peer is None or not np.isfinite(peer):
            continue
        family = name.split("_")[0]
        difference = abs(value - peer) / max(abs(peer), 1e-12)
        known = worst.get(family, (-1.0, "", 0))
        worst[family] = max((difference, name), known[:2]) + (known[2] + 1,)
    return worst


Seconds = list[tuple[str, float, float]]


def measured(options: argparse.Namespace, mask: Path, folder: Path) -> tuple[Seconds, dict[str, tuple[float, str, int]]]:
    """Processor seconds of Nocturne and of the other program by what they include, and the differences by family."""
    if options.pyradiomics:
        found, own = ours(options.nocturne, options.image, mask, "pyradiomics")
        start = min(timed([options.nocturne, "--version"])[1] for _ in range(5))
        values, (whole, alone) = pyradiomics(options.pyradiomics, options.image, mask)
        seconds = [("whole program", own, whole), ("without start", max(own - start, 0.001), alone)]
        return seconds, compare(found, {name: values.get(stem(name) or "") for name in found})
    file = folder / "radiomics.json"
    file.write_text(json.dumps(settings(options.spacing)))
    found, own = ours(options.nocturne, options.image, mask, str(file))
    values, peer = theirs(options.image, mask, options.spacing)
    differences = compare(found, {name: matched(name, values) for name in found if name not in SAMPLED})
    return [("reading and features", own, peer)], differences


def main() -> None:
    options = arguments()
    other = "pyradiomics" if options.pyradiomics else "MIRP"
    mask = nib.load(options.mask)
    values = np.asanyarray(mask.dataobj)
    labels = [int(one) for one in options.labels.split(",") if one] or [int(one) for one in np.unique(values) if one]
    rows: list[str] = []
    overall: dict[str, tuple[float, str, int]] = {}
    with tempfile.TemporaryDirectory() as name:
        for label in labels:
            one = Path(name) / f"label-{label}.nii.gz"
            nib.save(nib.Nifti1Image((values == label).astype(np.uint8), mask.affine), one)
            seconds, differences = measured(options, one, Path(name))
            for family, (difference, feature, count) in differences.items():
                known = overall.get(family, (-1.0, "", 0))
                overall[family] = max((difference, feature), known[:2]) + (max(count, known[2]),)
            for part, own, peer in seconds:
                voxels = int((values == label).sum())
                rows.append(f"| {label} | {voxels} | {part} | {own:.3f} | {peer:.3f} | {peer / own:.1f} |")
                print(rows[-1], flush=True)
    text = [
        f"## {datetime.date.today()}: radiomics compared with {other}, 1 thread",
        "",
        machine_line(),
        "",
        f"| label | voxels | of | Nocturne processor s | {other} processor s | times as fast |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "| family | features compared | largest relative difference | of |",
        "| --- | --- | --- | --- |",
        *[
            f"| {one} | {overall[one][2]} | {overall[one][0]:.2e} | `{overall[one][1]}` |"
            for one in FAMILIES
            if one in overall
        ],
        "",
    ]
    print("\n".join(text))
    if options.save:
        append_results("\n".join(text))


if __name__ == "__main__":
    main()
