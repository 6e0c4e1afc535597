"""Places in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ROOT / "Tools"
FIXTURES = ROOT / "Tests" / "Fixtures"
SAMPLES = ROOT / "Samples"
SAMPLE_MODELS = SAMPLES / "Models"

THRESHOLD_MODEL = FIXTURES / "Models" / "threshold"

# The catalogue of the manual, which the generated pages are in.
MANUAL = ROOT / "Sources" / "nocturne" / "Nocturne.docc"


def built_program() -> Path:
    """The program of the release build."""
    command = ["swift", "build", "-c", "release", "--show-bin-path"]
    return Path(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()) / "nocturne"
