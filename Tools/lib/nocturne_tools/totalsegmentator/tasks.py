"""What TotalSegmentator does for a task, read from the installed package `totalsegmentator`."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from nocturne_tools.nnunet.refusal import listed

PACKAGE = "TotalSegmentator==2.18.0"
# Tasks that TotalSegmentator's code tiles with a larger step; all others use nnU-Net's default.
LARGE_STEP_TASKS = ("total", "total_v3", "total_mr")
LARGE_STEP, DEFAULT_STEP = 0.8, 0.5
# Tasks whose labels are changed by code that a package cannot describe.
CODE_TASKS = {
    "vertebrae_pp": "numbers vertebrae again by their positions and enlarges them",
    "vertebrae_pp_refined": "numbers vertebrae again by their positions and cuts them with a second model",
}
# The tasks of `nnunet.py` with several networks, and the names of their tables of parts and datasets.
PART_TABLES = {
    "total": ("class_map_5_parts", "map_taskid_to_partname_ct"),
    "total_v3": ("class_map_5_parts_total_v3", "map_taskid_to_partname_ct_v3"),
    "total_mr": ("class_map_parts_mr", "map_taskid_to_partname_mr"),
    "headneck_muscles": ("class_map_parts_headneck_muscles", "map_taskid_to_partname_headneck_muscles"),
}
REGION_MARGIN_MM = 20  # for every region of the default networks: the code ignores `crop_addon` of the task there


class TaskError(Exception):
    """Why a task is not exported."""


@dataclass(frozen=True)
class Part:
    """One dataset: its labels by value, and the values that they become."""

    dataset: int
    name: str  # of the part's folder in the package
    labels: dict[int, str]
    values: dict[int, int]


@dataclass(frozen=True)
class Network:
    """The grid, the folders and the parts that belong together; the spacing is in the order z, y, x."""

    task: str
    parts: list[Part]
    spacing: list[float] | None
    trainer: str
    configuration: str
    plans: str
    folds: list[str]
    tile_step: float
    postprocessing: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What is exported: the networks, and those that find the region to segment."""

    name: str
    modality: str
    labels: dict[int, str]
    network: Network
    region: Network | None
    region_labels: list[str]
    version: str  # of the weights
    software: str  # of TotalSegmentator
    licensed: bool


def _modules() -> tuple[ModuleType, ModuleType, ModuleType]:
    try:
        from totalsegmentator import map_tasks_config, map_to_binary, registry
    except ModuleNotFoundError as error:
        found = "is not installed" if error.name == "totalsegmentator" else f"has no module {error.name}"
        raise TaskError(
            f"the Python package totalsegmentator {found}; it names the labels: pip install {PACKAGE}"
        ) from None
    return map_tasks_config, map_to_binary, registry


def names() -> list[str]:
    """The tasks that the installed package knows."""
    return list(_modules()[2].TASKS)


def read(name: str, mode: str, plans: str) -> Task:
    """The task `name`; `mode` is "default", "fast" or "fastest"."""
    configurations, classes, registry = _modules()
    if name not in configurations.TASK_CONFIGS:
        raise TaskError(f"there is no task {name!r}; known: {', '.join(configurations.TASK_CONFIGS)}")
    values = _configuration(configurations, name, mode)
    _refuse_code(name, values)
    labels = dict(classes.class_map[name])
    postprocessing = _postprocessing(name)
    parts = _parts(classes, name, values["task_id"], labels)
    network = Network(
        task=name,
        parts=parts,
        spacing=_spacing(values["resample"]),
        trainer=values["trainer"],
        configuration=values["model"],
        plans=plans,
        folds=[] if values["folds"] is None else [str(fold) for fold in values["folds"]],
        tile_step=_tile_step(name),
        postprocessing=postprocessing,
    )
    region = None if values["crop"] is None else _region(configurations, classes, name, values)
    software = importlib.metadata.version("TotalSegmentator")
    return Task(
        name=name if mode == "default" else f"{name}-{mode}",
        modality=registry.task_modality(name),
        labels=labels,
        network=network,
        region=region,
        region_labels=list(values["crop"] or []),
        version=_weights_version(configurations, name, parts[0].dataset),
        software=software,
        licensed=bool(registry.requires_license(name)),
    )


def of_text(text: str) -> Task:
    """The task of a text such as total, total-fast or body, with nnU-Net's default plans."""
    name, _, mode = text.partition("-")
    return read(name, mode or "default", "nnUNetPlans")


def _configuration(configurations: ModuleType, name: str, mode: str) -> dict[str, Any]:
    """The values of a task with the defaults, as `python_api.get_task_config` puts them together."""
    given = configurations.TASK_CONFIGS[name]
    if "sub_modes" in given:
        modes = given["sub_modes"]
        if mode not in modes:
            raise TaskError(f"task {name} has no mode {mode}; it has {listed(modes)}")
        given = modes[mode]
    elif mode != "default":
        raise TaskError(f"task {name} has no mode {mode}; leave the option out")
    return {**configurations.DEFAULT_CONFIG, **given}


def _refuse_code(name: str, values: dict[str, Any]) -> None:
    advice = "run this task with TotalSegmentator itself, or export its dataset alone with export_nnunet.py"
    if name in CODE_TASKS:
        raise TaskError(f"task {name}: TotalSegmentator's code {CODE_TASKS[name]}, which a package cannot do; {advice}")
    if values["cascade"]:
        raise TaskError(f"task {name}: its network takes the labels of another task as an image (cascade); {advice}")
    if values["remove_outside"] is not None:
        fact = f"labels outside the enlarged labels {listed(values['remove_outside'])} of another task are removed"
        raise TaskError(f"task {name}: {fact}, which a package cannot do; {advice}")
    if values["crop_model"] is not None:
        fact = f"its region is found by the task {values['crop_model']}, which has a region of its own"
        raise TaskError(f"task {name}: {fact}; {advice}")


def _tile_step(name: str) -> float:
    return LARGE_STEP if name in LARGE_STEP_TASKS else DEFAULT_STEP


def _spacing(resample: float | list[float] | None) -> list[float] | None:
    """From x, y, z to z, y, x."""
    if resample is None:
        return None
    given = list(resample) if isinstance(resample, (list, tuple)) else [resample] * 3
    return [float(n) for n in reversed(given)]


def _postprocessing(name: str) -> dict[str, Any]:
    """Rules that the code has for a task, on the grid of the networks: the largest trunk, and extremities of 50 cm3."""
    if name != "body":
        return {}
    return {
        "keepLargest": ["body_trunc"],
        "minimumVolumeMm3": {"body_extremities": 50000},
        "connectivity": 6,
    }


def _parts(classes: ModuleType, name: str, datasets: int | list[int], labels: dict[int, str]) -> list[Part]:
    if isinstance(datasets, int):
        unnamed = classes.class_map.get(f"{name}_auxiliary", {})  # labels of the network that are removed
        return [Part(datasets, "network", {**labels, **unnamed}, {value: value for value in labels})]
    if name not in PART_TABLES:
        raise TaskError(f"task {name}: no table says which labels its {len(datasets)} datasets have; it is for tests")
    tables, of_dataset = (getattr(classes, table) for table in PART_TABLES[name])
    values = {label: value for value, label in labels.items()}
    parts = []
    for dataset in datasets:
        title = of_dataset[dataset]
        own = dict(tables[title])
        folder = re.sub(r"[^a-z0-9]+", "-", title.removeprefix("class_map_part_").lower())
        parts.append(Part(dataset, folder, own, {index: values[label] for index, label in own.items()}))
    return parts


def _region(configurations: ModuleType, classes: ModuleType, name: str, values: dict[str, Any]) -> Network:
    """The network for the region, as `python_api.totalsegmentator` chooses it."""
    wanted = set(values["crop"])
    if wanted & {"body_trunc", "body_extremities"}:
        task, mode = "body", "fast"
    elif name.endswith("_mr"):
        task, mode = "total_mr", "fast"
    else:
        task, mode = "total", "fast" if values["robust_crop"] else "fastest"
    labels = dict(classes.class_map[task])
    unknown = wanted - set(labels.values())
    if unknown:
        raise TaskError(f"task {name}: its region needs {listed(sorted(unknown))}, which task {task} does not have")
    found = _configuration(configurations, task, mode)
    return Network(
        task=task,
        parts=_parts(classes, task, found["task_id"], labels),
        spacing=_spacing(found["resample"]),
        trainer=found["trainer"],
        configuration="3d_fullres",
        plans="nnUNetPlans",
        folds=["0"],
        tile_step=_tile_step(task),
        postprocessing=_postprocessing(task),
    )


def _weights_version(configurations: ModuleType, name: str, dataset: int) -> str:
    """Such as 2.0.0 for the release v2.0.0-weights; 0.0.0 where the weights have none."""
    known = configurations.TASK_ID_WEIGHTS_CONFIGS.get(dataset)
    if known is None or known.get("version") == "TODO":
        raise TaskError(f"task {name}: TotalSegmentator has no published weights for its dataset {dataset}")
    found = re.search(r"\d+\.\d+\.\d+", known.get("version") or "")
    return found.group() if found else "0.0.0"
