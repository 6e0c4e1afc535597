"""Evaluates the exported package on unseen drawings and writes its REPORT.md."""

from __future__ import annotations

import io
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from nocturne_tools.photo_reference import prepare

from .network import SIZE
from .package import MALIGNANT
from .photographs import CLASSES, SITES, person, photograph

UNKNOWN = [0.0, 1.0, 2.0, float(SITES.index("unknown"))]


def held_out(per_class: int) -> list[tuple[int, NDArray[np.float32], list[float]]]:
    """Unseen pictures of 600 x 450 through JPEG and the whole preparation: class, image (3, 380, 380), data."""
    cases = []
    for index in range(per_class * len(CLASSES)):
        kind, seed = index % len(CLASSES), 5_000 + index // len(CLASSES)
        stream = io.BytesIO()
        Image.fromarray(photograph(CLASSES[kind], seed, 450, 600)).save(stream, "JPEG", quality=90)
        image = prepare(Image.open(stream), SIZE).values
        cases.append((kind, image, person(CLASSES[kind], np.random.default_rng([0x4E1D, index])).vector()))
    return cases


def write_report(folder: Path, per_class: int, attention_error: float, options: str) -> str:
    """Runs the classifier on unseen pictures, with and without data; writes REPORT.md and returns a line of it."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(folder / "classifier.onnx", settings, providers=["CPUExecutionProvider"])
    confusion = np.zeros((len(CLASSES), len(CLASSES)), int)
    risky, right_without, seconds = [0, 0, 0, 0], 0, []
    for kind, image, data in held_out(per_class):
        started = time.perf_counter()
        logits = session.run(["logits"], {"image": image[None], "metadata": np.array([data], np.float32)})[0][0]
        seconds.append(time.perf_counter() - started)
        confusion[kind, int(logits.argmax())] += 1
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        high = max(shares[CLASSES.index("mel")], shares[CLASSES.index("bcc")]) >= 0.30
        moderate = max(shares[CLASSES.index(name)] for name in MALIGNANT) >= 0.10
        malignant = CLASSES[kind] in MALIGNANT
        risky[2 * malignant + (high or moderate)] += 1
        blank = session.run(["logits"], {"image": image[None], "metadata": np.array([UNKNOWN], np.float32)})[0][0]
        right_without += int(blank.argmax()) == kind
    total, right = int(confusion.sum()), int(np.trace(confusion))
    rows = [
        f"| {name} | " + " | ".join(str(n) for n in row) + f" | {row[k] / row.sum():.3f} |"
        for k, (name, row) in enumerate(zip(CLASSES, confusion))
    ]
    milliseconds = statistics.median(seconds) * 1000
    size = sum((folder / name).stat().st_size for name in ("classifier.onnx", "attention.onnx"))
    (folder / "REPORT.md").write_text(
        f"""# Skin lesions, synthetic demonstration

Synthetic, for demonstration, no medical use. The model was trained on drawings only
(`Tools/train/train_skin_lesions.py`, `nocturne_tools/skin`) and is not valid for real skin. The drawings are far easier
than photographs: high figures here show that the chain from picture to result works, and nothing about medicine.

{total} unseen drawings of 600 x 450 as JPEG, through the whole preparation, ONNX Runtime: **{right / total:.3f}**
right with metadata, {right_without / total:.3f} with none given. Rows are the classes drawn, columns the classes predicted:

| | {" | ".join(CLASSES)} | recall |
| --- | {" | ".join("---" for _ in CLASSES)} | --- |
{chr(10).join(rows)}

Of {risky[2] + risky[3]} drawings of malignant classes {risky[3]} were rated moderate or high risk; of
{risky[0] + risky[1]} others, {risky[1]} were.

- Attention graph against Grad-CAM by autograd: largest difference {attention_error:.1e} of a map's largest value.
- Both graphs together: {size} bytes. ONNX Runtime, 2 threads, median {milliseconds:.1f} ms per picture.
- Versions: Python {platform.python_version()}, NumPy {np.__version__}, Pillow {Image.__version__}, ONNX Runtime
  {onnxruntime.__version__}.
- Training: `python Tools/train/train_skin_lesions.py {options}`, on 1 thread of a shared CPU.
"""
    )
    return f"{right} of {total} right, {right_without} without metadata; attention within {attention_error:.1e}"
