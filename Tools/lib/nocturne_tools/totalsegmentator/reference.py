"""Runs TotalSegmentator's own code on local weights, in a process of its own and without the network.

    python -m nocturne_tools.totalsegmentator.reference TASK WEIGHTS VOLUME OUTPUT

TASK is such as total, total-fast or body; all datasets of the task and of its region must be in WEIGHTS.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def call(task: str, weights: Path, volume: Path, output: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command and the environment variables that it needs; inside the context its settings exist."""
    with tempfile.TemporaryDirectory() as home:
        # Without this file TotalSegmentator makes one that allows it to send statistics about its use.
        settings = {"totalseg_id": "totalseg_local", "send_usage_stats": False, "prediction_counter": 0}
        settings["statistics_disclaimer_shown"] = True
        (Path(home) / "config.json").write_text(json.dumps(settings))
        environment = {
            "PYTHONPATH": os.pathsep.join([str(LIBRARY), os.environ.get("PYTHONPATH", "")]),
            "TOTALSEG_HOME_DIR": home,
            "TOTALSEG_WEIGHTS_PATH": str(weights),
            "nnUNet_def_n_proc": "2",
        }
        yield [sys.executable, "-m", __name__, task, str(weights), str(volume), str(output)], environment


def predict(task: str, weights: Path, volume: Path, output: Path) -> None:
    """TotalSegmentator's label map of a volume, as the file `output`."""
    output.parent.mkdir(parents=True, exist_ok=True)
    # The label map gets its name when it is complete, so that an interrupted call leaves none behind.
    partial = output.with_name(f"partial_{output.name}")
    with call(task, weights, volume, partial) as (command, environment):
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0 or not partial.exists():
        raise RuntimeError(f"TotalSegmentator, task {task}, {volume.name}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    partial.rename(output)


def _no_network(*_: object, **__: object) -> None:
    raise OSError("no network here")


def main() -> None:
    task, _, volume, output = sys.argv[1:]
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _local_only(getattr(socket.socket, name)))
    socket.getaddrinfo = _no_network  # type: ignore[assignment]
    import warnings

    warnings.filterwarnings("ignore")
    from totalsegmentator.python_api import totalsegmentator

    name, _, mode = task.partition("-")
    totalsegmentator(
        Path(volume),
        Path(output),
        ml=True,
        task=name,
        fast=mode == "fast",
        fastest=mode == "fastest",
        device="cpu",
        nr_thr_resamp=1,
        nr_thr_saving=1,
        quiet=True,
    )


def _local_only(function):  # sockets of the operating system remain, which processes use among themselves
    def connect(self: socket.socket, address: object) -> object:
        if self.family != socket.AF_UNIX:
            _no_network()
        return function(self, address)

    return connect


if __name__ == "__main__":
    main()
