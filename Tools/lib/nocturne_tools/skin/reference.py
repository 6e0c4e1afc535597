"""Classifies photos of lesions with Pillow, NumPy and ONNX Runtime: a second implementation of Nocturne's results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nocturne_tools.photo_reference import load, prepare

from .photographs import CLASSES, Person


@dataclass(frozen=True)
class Classified:
    """Probabilities of the classes, and the attention map of the most probable one (rows, columns)."""

    probabilities: NDArray[np.float64]
    attention: NDArray[np.float32]


class LesionReference:
    """The networks of a package for skin lesions."""

    def __init__(self, package: Path) -> None:
        self.classifier, self.attention = (
            onnxruntime.InferenceSession(package / name, providers=["CPUExecutionProvider"])
            for name in ("classifier.onnx", "attention.onnx")
        )

    def classify(self, photo: Path, person: Person) -> Classified:
        data = np.array([person.vector()], np.float32)
        image = prepare(load(photo)).values[None]
        logits, features = self.classifier.run(["logits", "features"], {"image": image, "metadata": data})
        powers = np.exp(logits[0].astype(np.float64) - logits.max())
        target = np.eye(len(CLASSES), dtype=np.float32)[logits.argmax(1)]
        inputs = {"features": features, "metadata": data, "target": target}
        return Classified(powers / powers.sum(), self.attention.run(None, inputs)[0][0])
