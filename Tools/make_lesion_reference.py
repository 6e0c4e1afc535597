"""Runs the sample photos of lesions through Pillow, NumPy and ONNX Runtime, as the reference for Nocturne's way.

python Tools/make_lesion_reference.py
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import onnxruntime

from photo_reference import load, prepare
from skin.photographs import CLASSES, Person

ROOT = Path(__file__).resolve().parent.parent
PHOTOS, MODEL = ROOT / "Samples" / "Photos" / "lesions", ROOT / "Samples" / "Models" / "skin-lesions-demo"
TARGET = ROOT / "Tests" / "Fixtures" / "SkinLesions" / "expected.json"


def main() -> None:
    argparse.ArgumentParser(description="Make the reference of the sample photos.").parse_args()
    sessions = [
        onnxruntime.InferenceSession(MODEL / name, providers=["CPUExecutionProvider"])
        for name in ("classifier.onnx", "attention.onnx")
    ]
    cases = []
    with (PHOTOS / "metadata.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            age = int(row["age_approx"]) if row["age_approx"] else None
            person = Person(age, row["sex"] or None, row["anatom_site_general"] or None)
            data = np.array([person.vector()], np.float32)
            image = prepare(load(PHOTOS / f"{row['image']}.jpg")).values[None]
            logits, features = sessions[0].run(["logits", "features"], {"image": image, "metadata": data})
            powers = np.exp(logits[0].astype(np.float64) - logits.max())
            target = np.eye(len(CLASSES), dtype=np.float32)[logits.argmax(1)]
            inputs = {"features": features, "metadata": data, "target": target}
            attention = sessions[1].run(None, inputs)[0][0]
            chances = [round(float(value), 7) for value in powers / powers.sum()]
            cases.append(
                {
                    "item": row["image"],
                    "probabilities": chances,
                    "attention": [[round(float(value), 7) for value in line] for line in attention],
                }
            )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
