"""Writes the package `skin-lesions-demo`: two graphs and `model.json`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from nocturne_tools.photo_reference import DEVIATION, MEAN, POWER

from .network import MAPS, SIZE, Attention, SkinNet, gradient_attention
from .photographs import CLASSES, SITES

TITLES = {
    "mel": "melanoma",
    "nv": "melanocytic nevus",
    "bcc": "basal cell carcinoma",
    "akiec": "actinic keratosis or intraepithelial carcinoma",
    "bkl": "benign keratosis-like lesion",
    "df": "dermatofibroma",
    "vasc": "vascular lesion",
}
COLORS = {  # Okabe-Ito, distinct for colour-blind readers
    "mel": "#D55E00", "nv": "#009E73", "bcc": "#CC79A7", "akiec": "#E69F00",
    "bkl": "#56B4E9", "df": "#0072B2", "vasc": "#999999",
}  # fmt: skip
MALIGNANT = ["mel", "bcc", "akiec"]


def export(model: SkinNet, folder: Path) -> float:
    """Writes `classifier.onnx` and `attention.onnx`; returns how far the latter is from autograd.

    The difference is relative to the largest value of a map before its ReLU, over 20 noisy pictures and all classes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    image, people = torch.zeros(1, 3, SIZE, SIZE), torch.zeros(1, 4)
    torch.onnx.export(
        model,
        (image, people),
        str(folder / "classifier.onnx"),
        input_names=["image", "metadata"],
        output_names=["logits", "features"],
        opset_version=17,
        dynamo=False,
    )
    torch.onnx.export(
        Attention(model.head).eval(),
        (torch.zeros(1, MAPS, 12, 12), people, torch.zeros(1, len(CLASSES))),
        str(folder / "attention.onnx"),
        input_names=["features", "metadata", "target"],
        output_names=["map"],
        opset_version=17,
        dynamo=False,
    )
    session = onnxruntime.InferenceSession(folder / "attention.onnx", providers=["CPUExecutionProvider"])
    generator = torch.Generator().manual_seed(3)
    worst = 0.0
    for _ in range(20):
        noisy = torch.randn(1, 3, SIZE, SIZE, generator=generator)
        data = torch.tensor([[0.4, 0.0, 1.0, 3.0]])
        with torch.no_grad():
            features = model(noisy, data)[1]
        for index in range(len(CLASSES)):
            signed = gradient_attention(model, features, data, index).numpy()
            expected = np.maximum(signed, 0)
            target = np.eye(len(CLASSES), dtype=np.float32)[index : index + 1]
            inputs = {"features": features.numpy(), "metadata": data.numpy(), "target": target}
            found = session.run(None, inputs)[0]
            worst = max(worst, float(np.abs(found - expected).max() / float(np.abs(signed).max())))
    return worst


def write_manifest(folder: Path) -> None:
    """Writes `model.json` for the two graphs in `folder`."""
    files = []
    for name in ("classifier.onnx", "attention.onnx"):
        content = (folder / name).read_bytes()
        files.append({"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)})
    manifest = {
        "schemaVersion": 2,
        "id": "skin-lesions-demo",
        "name": "Skin lesions, synthetic demonstration",
        "description": "Seven kinds of skin lesion in drawn, dermoscopy-like pictures. Trained on synthetic pictures "
        "only, without any photograph of a person. Synthetic, for demonstration, no medical use.",
        "version": "1.0.0",
        "licence": "Apache-2.0",
        "demonstration": True,
        "task": "photo-classification",
        "files": files,
        "photoClassification": {
            "inputSize": SIZE,
            "minimumSide": 64,
            "mean": MEAN.tolist(),
            "standardDeviation": DEVIATION.tolist(),
            "colorConstancyPower": POWER,
            "medical": True,
            "classes": [
                {"name": name, "title": TITLES[name], "malignant": name in MALIGNANT, "color": COLORS[name]}
                for name in CLASSES
            ],
            "risk": {"highClasses": ["mel", "bcc"], "highThreshold": 0.30, "moderateThreshold": 0.10},
            "lowConfidence": 0.20,
            "minimumLead": 0.05,
            "metadata": {"sites": SITES},
            "networks": {"classifier": "classifier.onnx", "attention": "attention.onnx"},
        },
    }
    (folder / "model.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
