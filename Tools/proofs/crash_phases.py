#!/usr/bin/env python3
"""Kills the engine, its parent, or both with SIGKILL in every phase of a batch, and checks that nothing is lost.

    Tools/proofs/crash_phases.py NOCTURNE [--only "commit"]

The phase is reached by a delay at a fault point. A killed engine must be restarted by its parent; after a killed parent no
process may remain, and running again must complete the batch. The tree is compared with that of an undisturbed run.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import Situation, Workspace, expect, main, wait_until
from nocturne_tools.interface import FaultPoint
from nocturne_tools.processes import engines

# The fault point of each phase, and which passage of it is delayed.
PHASES = {
    "discovery": (FaultPoint.INPUT_OPEN, 2),
    "reconciliation": (FaultPoint.JOURNAL_RECORD, 1),
    "loading": (FaultPoint.ITEM_STAGE, 3),
    "inference": (FaultPoint.INFERENCE_TILE, 9),
    "writing": (FaultPoint.FILE_WRITE, 45),  # the page and the first report take 31
    "commit": (FaultPoint.ITEM_STAGED, 2),
    "the instant after the rename": (FaultPoint.ITEM_IN_PLACE, 2),
    "report": (FaultPoint.BATCH_REPORT, 2),
}


def killed(phase: str, victims: str) -> Situation:
    def situation(workspace: Workspace) -> str:
        out = workspace.folder / "out"
        point, index = PHASES[phase]
        passed = workspace.folder / "opassed"
        run = workspace.start(out, fault=f"{point}:{index}:delay-20000,count:{passed}")
        wait_until(f"at {point}", lambda: passed.exists() and passed.read_text().split().count(point) >= index, 60)
        parent, child = run.process.pid, run.children()[0]
        for process in {"child": [child], "parent": [parent], "both": [parent, child]}[victims]:
            os.kill(process, signal.SIGKILL)
        start = time.monotonic()
        if victims == "child":
            run.ends(0)
            expect(interface.ENGINE_KILLED in run.output, f"was not killed: {run.output[-200:]}")
        else:
            run.wait(2)
            seconds = wait_until("no process left", lambda: not engines(out), 2)
            workspace.start(out).ends(0)
        workspace.expect_same(out)
        if victims == "child":
            return f"restarted by the parent, 0 after {time.monotonic() - start:.1f} s; same tree"
        return f"no process left after {seconds:.2f} s; run again 0, same tree"

    return situation


SITUATIONS: dict[str, Situation] = {
    f"SIGKILL of {victims}, in {phase}": killed(phase, victims)
    for phase in PHASES
    for victims in ("child", "parent", "both")
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS)
