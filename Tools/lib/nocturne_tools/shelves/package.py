"""Writes the package `book-spines`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from nocturne_tools.paths import SAMPLE_MODELS

PACKAGE = SAMPLE_MODELS / "book-spines"
MEAN = (0.45, 0.43, 0.40)
DEVIATION = (0.27, 0.27, 0.27)
LONG_SIDE = 1152
MULTIPLE = 64
SPLITTING = {
    "foregroundThreshold": 0.7,
    "backgroundThreshold": 0.12,
    "seedThreshold": 0.45,
    "boundaryWeight": 4.0,
    "minimumSeedArea": 32,
    "minimumArea": 650,
    "mergeBoundary": 0.55,
    "minimumContact": 11,
    "minimumAreaShareOfMedian": 0.15,
    "minimumClearShare": 0.12,
}


def write_book_spines(write_network: Callable[[Path], None]) -> None:
    """Calls `write_network` for the ONNX file, then writes `model.json` beside it."""
    PACKAGE.mkdir(parents=True, exist_ok=True)
    network = PACKAGE / "network.onnx"
    write_network(network)
    content = network.read_bytes()
    manifest = {
        "schemaVersion": 2,
        "id": "book-spines",
        "name": "Book spines, synthetic demonstration",
        "description": "Takes photos of bookshelves apart into books. Trained on shelves drawn from seeds, without any "
        "photo. Synthetic, for demonstration.",
        "version": "1.3.0",
        "licence": "Apache-2.0",
        "demonstration": True,
        "task": "photo-instances",
        "files": [
            {"path": network.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)},
        ],
        "photoInstances": {
            "network": network.name,
            "input": {
                "longSide": LONG_SIDE,
                "multiple": MULTIPLE,
                "minimumSide": 64,
                "mean": list(MEAN),
                "standardDeviation": list(DEVIATION),
            },
            "output": {"kind": "maps", "activation": "none", "centre": True},
            "splitting": SPLITTING,
            "classes": [{"name": "book", "color": "#0072B2"}],
            "maxInstances": 200,
        },
    }
    (PACKAGE / "model.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
