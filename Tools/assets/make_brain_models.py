#!/usr/bin/env python3
"""Writes the sample models of the brain from brainchop's own folders.

    Tools/assets/make_brain_models.py BRAINCHOP

BRAINCHOP has the folders model11_gw_ae, model18cls and mindgrab of neuroneural/brainchop (public/models), and its
LICENSE. The same folders give the same bytes. Needs NumPy, ONNX and ONNX Runtime.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOLS / "lib"), str(TOOLS / "export")]

import export_brainchop

from nocturne_tools.paths import SAMPLE_MODELS

# Folders of brainchop, and of the samples.
MODELS = {
    "model11_gw_ae": "brain-tissue-t1",
    "model18cls": "brain-regions-18-t1",
    "mindgrab": "brain-extraction",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with brainchop's models and LICENSE")
    folder = parser.parse_args().folder
    for source, name in MODELS.items():
        if code := export_brainchop.main([str(folder / source), str(SAMPLE_MODELS / name), "--replace"]):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
