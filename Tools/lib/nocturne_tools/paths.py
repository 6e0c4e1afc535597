"""Places in the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ROOT / "Tools"
FIXTURES = ROOT / "Tests" / "Fixtures"
SAMPLES = ROOT / "Samples"
SAMPLE_MODELS = SAMPLES / "Models"

THRESHOLD_MODEL = FIXTURES / "Models" / "threshold"
