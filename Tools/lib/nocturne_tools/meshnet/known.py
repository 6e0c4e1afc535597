"""Brainchop's models as its table of parameters describes them, and names and codes of their labels."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import label
from nocturne_tools.nnunet.refusal import Refusal, listed

RESCALE: dict[str, Any] = {"scheme": "rescale01"}
# Brainchop computes quantiles after conforming, so the zeros around a smaller volume count.
QUANTILES: dict[str, Any] = {"scheme": "quantiles", "lower": 0.05, "upper": 0.95, "countPadding": True}
NORMALIZATIONS = {"rescale01": RESCALE, "quantiles": QUANTILES}


@dataclass(frozen=True)
class Known:
    """What brainchop's model.json does not say. `labels`: (name, red, green, blue), where there is no colour map."""

    identifier: str
    name: str
    description: str
    normalization: dict[str, Any]
    channel: str = "T1"
    labels: tuple[tuple[str, int, int, int], ...] = ()


TISSUES = (("white_matter", 255, 255, 255), ("grey_matter", 205, 62, 78))

KNOWN = {
    "model5_gw_ae": Known(
        "brain-tissue-light-t1",
        "Brain tissue (T1, light)",
        "White and grey matter in T1-weighted MR of the head. A small network of 5 channels for little memory.",
        RESCALE,
        labels=TISSUES,
    ),
    "model11_gw_ae": Known(
        "brain-tissue-t1",
        "Brain tissue (T1)",
        "White and grey matter in T1-weighted MR of the head.",
        QUANTILES,
        labels=TISSUES,
    ),
    "model18cls": Known(
        "brain-regions-18-t1",
        "Brain regions (T1, 17 labels)",
        "White matter, cortex, cerebellum, ventricles, brainstem and subcortical nuclei in T1-weighted MR of the head. "
        "Left and right share a label. The 18th class is the background.",
        RESCALE,
    ),
    "model30chan50cls": Known(
        "brain-regions-50-t1",
        "Brain regions (T1, 49 labels)",
        "Cortical regions of the Desikan-Killiany atlas and subcortical structures in T1-weighted MR of the head. "
        "Left and right share a label. The 50th class is the background.",
        QUANTILES,
    ),
    "mindgrab": Known(
        "brain-extraction",
        "Brain extraction (MR)",
        "The brain in MR of the head, of T1, T2, FLAIR and other weightings (MindGrab).",
        RESCALE,
        channel="MR",
        labels=(("brain", 255, 0, 0),),
    ),
}

# Names that differ from the colour map's own in lower case with underscores.
RENAMED = {"brain_mask": "brain", "csf": "cerebrospinal_fluid", "accumbens_area": "nucleus_accumbens"}
RENAMED |= {
    "3rd_ventricle": "third_ventricle",
    "4th_ventricle": "fourth_ventricle",
    "ventraldc": "ventral_diencephalon",
}
RENAMED |= {"inferior_lateral_ventricle": "inferior_horn_of_lateral_ventricle", "brain_stem": "brainstem"}
RENAMED |= {"thalamus_proper": "thalamus"}
PREFIX = "ctx_"

# FreeSurfer writes the regions of the cortex in one word.
REGIONS = (
    "banks_of_superior_temporal_sulcus caudal_anterior_cingulate caudal_middle_frontal inferior_parietal "
    "inferior_temporal isthmus_of_cingulate lateral_occipital lateral_orbitofrontal medial_orbitofrontal "
    "middle_temporal pars_opercularis pars_orbitalis pars_triangularis posterior_cingulate "
    "rostral_anterior_cingulate rostral_middle_frontal superior_frontal superior_parietal superior_temporal "
    "frontal_pole temporal_pole transverse_temporal"
).split()
CORTEX = {name.replace("_", ""): name for name in REGIONS}
CORTEX["bankssts"] = REGIONS[0]
CORTEX["isthmuscingulate"] = "isthmus_of_cingulate"

# SNOMED CT, only where DICOM's own tables have the structure.
CODES = {
    "brain": ("12738006", "Brain"),
    "white_matter": ("389080008", "White matter of brain and spinal cord"),
    "grey_matter": ("389081007", "Gray matter structure of central nervous system"),
    "cerebral_white_matter": ("68523003", "Cerebral white matter"),
    "cerebral_cortex": ("40146001", "Cerebral cortex"),
    "lateral_ventricle": ("66720007", "Lateral ventricle"),
    "inferior_horn_of_lateral_ventricle": ("53118009", "Inferior horn of lateral ventricle"),
    "ventricle": ("35764002", "Brain ventricle"),
    "cerebellum": ("113305005", "Cerebellum"),
    "cerebellum_white_matter": ("33060004", "Cerebellar white matter"),
    "cerebellum_cortex": ("25991003", "Cerebellar cortex"),
    "thalamus": ("42695009", "Thalamus"),
    "caudate": ("11000004", "Caudate nucleus"),
    "putamen": ("89278009", "Putamen"),
    "pallidum": ("14738005", "Globus pallidus"),
    "third_ventricle": ("49841001", "Third ventricle"),
    "fourth_ventricle": ("35918002", "Fourth ventricle"),
    "brainstem": ("119238007", "Brain stem"),
    "hippocampus": ("5366008", "Hippocampus"),
    "amygdala": ("4958002", "Amygdala"),
    "nucleus_accumbens": ("427667007", "Nucleus accumbens"),
    "corpus_callosum": ("88442005", "Corpus callosum"),
    "cerebrospinal_fluid": ("65216001", "Cerebrospinal fluid"),
    "cortex_entorhinal": ("3937002", "Entorhinal cortex"),
    "cortex_insula": ("36169008", "Insula"),
}


def plain_name(text: str) -> str:
    """`ctx-isthmuscingulate` -> `cortex_isthmus_of_cingulate`, `Thalamus-Proper*` -> `thalamus`."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if name.startswith(PREFIX):
        region = name.removeprefix(PREFIX)
        return f"cortex_{CORTEX.get(region, region)}"
    return RENAMED.get(name, name)


def _from_color_map(file: Path) -> list[tuple[str, int, int, int]]:
    """The entries of a colour map of brainchop: lists of reds, greens, blues and labels."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return list(zip(content["labels"], content["R"], content["G"], content["B"], strict=True))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refusal(file, f"is no colour map with R, G, B and labels ({error!r})") from None


def labels(folder: Path, classes: int, color_map: Path | None) -> list[dict[str, Any]]:
    """The package's labels: from the given colour map, from one in the folder with as many classes, or as known."""
    files = [color_map] if color_map else sorted(folder.glob("colormap*.json"))
    found = {file: _from_color_map(file) for file in files}
    fitting = [entries for entries in found.values() if len(entries) == classes]
    known = KNOWN.get(folder.name)
    if fitting:
        entries = fitting[0][1:]
    elif color_map is None and known is not None and len(known.labels) == classes - 1:
        entries = list(known.labels)
    else:
        sizes = listed(f"{file.name} with {len(entries)}" for file, entries in found.items()) or "none"
        raise Refusal(folder, f"has {classes} classes, colour maps: {sizes}; name a file of {classes} with --labels")
    names = [plain_name(entry[0]) for entry in entries]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise Refusal(folder, f"has these labels twice: {listed(sorted(doubled))}")
    return [
        label(value, name, f"#{red:02X}{green:02X}{blue:02X}", CODES.get(name))
        for value, (name, (_, red, green, blue)) in enumerate(zip(names, entries), 1)
    ]
