"""Writes output folders as the program would: the page, the data files, pictures, and one review volume."""

import json
import math
import os
import pathlib
import random
import shutil
import statistics

import phantom

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Sources" / "NocturneReview" / "Page"
PAGE_SIZE = 500
STATES = ["completed", "failed", "skipped", "cancelled", "quarantined", "notReached"]
DISCLAIMER = (
    "Research software. Not a medical device, not for diagnosis or treatment. Results may be wrong and must be reviewed by a "
    "qualified person."
)
HOSTILE = [
    "<script>document.title='attacked'<!--script>", "a\"b'c&amp;<img src=x onerror=alert(1)>", "50% #1 ?x=y",
    "Größe Ä ß 患者", "..hidden", "javascript:alert(1)",
]


def volume_item(index, name, volumes):
    """A completed item with two kidneys."""
    measures = []
    for label, volume in zip(("kidney_right", "kidney_left"), volumes):
        for measure, value, unit in (("volume", volume, "ml"), ("components", 1, "1"),
                ("largestComponentShare", 1, "1"), ("meanProbability", round(0.99 - 0.01 * (index % 30), 2), "1"),
                ("uncertainBoundaryShare", 0.05, "1"), ("intensityMean", 30.5, "image value"),
                ("intensityStandardDeviation", 20, "image value")):
            measures.append({"label": label, "measure": measure, "value": value, "unit": unit})
    for label, x in (("kidney_right", 22), ("kidney_left", -22)):
        measures.append({"label": label, "measure": "relativeRasX", "value": x, "unit": "mm"})
    measures.append({"label": "kidney_left", "measure": "leftRightRatio", "value": volumes[1] / volumes[0],
        "unit": "1"})
    return {
        "index": index, "item": name, "state": "completed", "model": "urinary-tract-ct", "kind": "volume",
        "source": f"scans/{name}.nii.gz", "code": None, "reason": None, "notes": [], "fingerprint": f"{index:08x}",
        "edited": index % 50 == 7, "thumbnail": "preview.png",
        "pictures": [{"path": "preview.png", "alt": f"Slices and projections of {name} with its labels"}],
        "measures": measures,
        "labels": [{"value": each["value"], "name": each["name"], "color": each["color"],
            "mesh": f"meshes/{each['name']}.stl"}
                   for each in phantom.KIDNEYS],
        "objects": [], "facts": None, "risk": None, "documents": [], "disclaimer": None, "volume": None,
    }


def without_result(index, name, state, code, reason):
    """An item that has no result."""
    return {
        "index": index, "item": name, "state": state, "model": "urinary-tract-ct", "kind": "volume",
        "source": f"scans/{name}.nii.gz", "code": code, "reason": reason, "notes": [], "fingerprint": None,
        "edited": False, "thumbnail": None, "pictures": [], "measures": [], "labels": [], "objects": [], "facts": None, "risk": None, "documents": [], "disclaimer": None, "volume": None,
    }


def photo_item(index, name):
    """A photo with two objects."""
    objects = [
        {"name": "1", "score": 0.97, "box": [10, 12, 30, 40], "picture": None, "text": "book"},
        {"name": "2", "score": 0.61, "box": [50, 8, 34, 50], "picture": None, "text": "book, perhaps two"},
    ]
    return {
        "index": index, "item": name, "state": "completed", "model": "shelf-books", "kind": "instances",
        "source": f"photos/{name}.jpg", "code": None, "reason": None, "notes": ["turned upright by its EXIF orientation"],
        "fingerprint": f"{index:08x}", "edited": False, "thumbnail": "overlay.png", "size": [96, 72],
        "pictures": [{"path": "overlay.png", "alt": f"The photo {name} with two marked books"}],
        "measures": [{"label": "", "measure": "instances", "value": 2, "unit": "1"},
            {"label": "book", "measure": "confidenceMean", "value": 0.79, "unit": "1"}],
        "labels": [], "objects": objects, "facts": "2 × book", "risk": None, "documents": [], "disclaimer": None, "volume": None,
    }


def lesion_item(index, name):
    """A classified photo."""
    objects = [{"name": text, "score": score, "box": None, "picture": None, "text": ""}
               for text, score in (("nevus", 0.71), ("melanoma", 0.2), ("keratosis", 0.09))]
    pictures = [{"path": "photo.png", "alt": "The part of the photo that the model saw"},
                {"path": "heatmap.png", "alt": "The same part with the attention map"}]
    return {**photo_item(index, name), "model": "skin-lesion", "kind": "classification", "objects": objects,
        "measures": [], "pictures": pictures}


def items(count, seed=1):
    """A batch in which item 3 has a doubled right kidney, and every 20th item failed."""
    chance = random.Random(seed)
    made = []
    for index in range(count):
        name = f"case-{index:05d}"
        if index % 20 == 11:
            made.append(without_result(index, name, "failed", "unreadableFile",
                f"{name}.nii.gz ends after 1,024 bytes"))
        elif index % 40 == 17:
            made.append(without_result(index, name, "skipped", "noModel", "no model takes this input"))
        else:
            volumes = [round(150 * math.exp(chance.gauss(0, 0.08)), 4) for _ in range(2)]
            if index == 3:
                volumes[0] *= 2.5
            made.append(volume_item(index, name, volumes))
    return made


def spreads_of(entries):
    """Median and robust spread for each model, label and measure."""
    values = {}
    for entry in entries:
        for each in entry["measures"]:
            key = (entry["model"], each["label"], each["measure"], each["unit"])
            values.setdefault(key, []).append((entry["index"], each["value"]))
    made, far = [], []
    for (model, label, measure, unit), pairs in values.items():
        is_log = measure in ("volume", "leftRightRatio", "intensityStandardDeviation")
        numbers = [math.log(value) if is_log else value for _, value in pairs]
        median = statistics.median(numbers)
        spread = 1.4826 * statistics.median(abs(number - median) for number in numbers)
        natural = math.exp(median) if is_log else median
        made.append({"model": model, "label": label, "measure": measure, "unit": unit,
            "scale": "log" if is_log else "linear",
                     "count": len(pairs), "median": natural, "spread": spread})
        for (index, value), number in zip(pairs, numbers):
            if spread > 0 and abs(number - median) / spread > 3.5:
                far.append({"item": index, "label": label, "measure": measure, "value": value,
                            "score": abs(number - median) / spread,
                            "text": f"{measure} {value / natural:.1f} times the median of this batch"})
    return made, sorted(far, key=lambda each: -each["score"])


def batch_of(entries, **changes):
    """The argument of nocturneBatch."""
    counts = {"inputs": len(entries), **{state: sum(e["state"] == state for e in entries) for state in STATES}}
    codes = {}
    for entry in entries:
        if entry["code"]:
            codes.setdefault(entry["code"], []).append(entry["index"])
    spreads, outliers = spreads_of(entries)
    return {
        "schemaVersion": 1, "batch": "0f1e2d3c", "title": "Test batch", "version": "0.1.0", "disclaimer": DISCLAIMER,
        "models": [{"id": "urinary-tract-ct", "name": "Urinary tract", "version": "1.0"}], "options": {"meshes": "stl"},
        "counts": counts, "pageSize": PAGE_SIZE, "pages": math.ceil(len(entries) / PAGE_SIZE), "review": "volumes",
        "failures": [{"code": code, "remedy": f"Use `nocturne resume --code {code}`, or leave it out with --exclude.", "count": len(found), "items": found,
                      "reason": entries[found[0]]["reason"]}
                     for code, found in codes.items()],
        "spreads": spreads, "outliers": outliers, "features": [], "featureCount": 0, **changes,
    }


def seconds_of(entry):
    """How long an item took."""
    return 10 + entry["index"] % 17 if entry["state"] == "completed" else None


def moment_of(entry):
    """When an item got its state: later ones first."""
    return f"2026-11-{28 - entry['index'] % 20:02d}T10:00:00.000Z" if entry["state"] != "notReached" else None


def write(out, entries, *, pictures=(), volumes=(), viewer=None, times=True, values=None, **changes):
    """Writes a folder. `pictures` and `volumes` are the indices of items that get files, `values` those of features."""
    out = pathlib.Path(out)
    data = out / "review" / "data"
    data.mkdir(parents=True, exist_ok=True)
    for file in PAGE.iterdir():
        shutil.copy(file, out / file.name if file.name == "index.html" else out / "review" / file.name)
    if viewer:
        shutil.copy(viewer, out / "review" / "niivue.js")
    for index in volumes:
        entries[index]["volume"] = "review.js"
    with open(data / "batch.js", "w", encoding="utf-8") as file:
        file.write(f"nocturneBatch({json.dumps(batch_of(entries, **changes), ensure_ascii=False)});\n")
    if values:
        (data / "features-0000.js").write_text(f"nocturneFeatures({json.dumps(values)});\n", encoding="utf-8")
    for page in range(math.ceil(len(entries) / PAGE_SIZE)):
        part = json.dumps(entries[page * PAGE_SIZE:(page + 1) * PAGE_SIZE], ensure_ascii=False)
        (data / f"items-{page:04d}.js").write_text(f"nocturneItems({page}, {part});\n", encoding="utf-8")
        if times:
            hidden = out / ".nocturne" / "times"
            hidden.mkdir(parents=True, exist_ok=True)
            seconds = [seconds_of(entry) for entry in entries[page * PAGE_SIZE:(page + 1) * PAGE_SIZE]]
            moments = [moment_of(entry) for entry in entries[page * PAGE_SIZE:(page + 1) * PAGE_SIZE]]
            (hidden / f"items-{page:04d}.js").write_text(
                f"nocturneTimes({page}, {json.dumps(seconds)});\nnocturneMoments({page}, {json.dumps(moments)});\n")
    for index in pictures:
        entry = entries[index]
        if entry["thumbnail"]:
            folder = out / entry["item"]
            folder.mkdir(exist_ok=True)
            for name in {entry["thumbnail"], *(picture["path"] for picture in entry["pictures"])}:
                (folder / name).write_bytes(phantom.preview(index))
    for index in volumes:
        folder = out / entries[index]["item"]
        folder.mkdir(exist_ok=True)
        name = json.dumps(entries[index]["item"])
        (folder / "review.js").write_text(f"nocturneVolume({name}, {json.dumps(phantom.review_volume())});\n")
    return out / "index.html"


def viewer_path():
    """The installed NiiVue, or None."""
    data = os.environ.get("XDG_DATA_HOME", "")
    base = pathlib.Path(data) if data.startswith("/") else pathlib.Path.home() / ".local" / "share"
    path = base / "nocturne" / "niivue" / "niivue.js"
    return path if path.exists() else None
