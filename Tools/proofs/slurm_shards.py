#!/usr/bin/env python3
"""Processes a divided batch on a real Slurm cluster of three nodes on this machine, and disturbs it in seven ways.

    Tools/proofs/slurm_shards.py NOCTURNE [--items 200] [--shards 12] [--short]

While the tasks are active: a node fails, a task is cancelled, one is preempted, one reaches its time limit, one is put back
into the queue, one shard is started a second time by hand, and one node lacks the instruction set of the plan. What is left
after that is submitted again. The merged tree must be that of one machine byte for byte, the report must add up, and no item
may be completed twice. With --short only the instruction set is lacking, and one task is put back into the queue.

Must run as root, with the Debian package slurm-wlm.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.result_tree import differing, tree
from nocturne_tools.slurm_cluster import SlurmCluster, Task
from nocturne_tools.small_volumes import tiny_volume

# Tasks run the program with every stage of an item slowed down, so that there is time to disturb them. One node allows only
# the lowest instruction set. The task that is to reach its time limit, of a minute at least, is slowed down more, once.
LIMITED_SHARD = 1
LIMITED_DELAY = 6000
WRAPPER = """\
#!/bin/bash
if [ "$SLURMD_NODENAME" = night3 ]; then export NOCTURNE_ISA=baseline; fi
if [ "$1" = run ]; then
    delay={delay}
    if [ "$SLURM_ARRAY_TASK_ID" = {limited} ] && [ "$SLURMD_NODENAME" != night3 ] && mkdir {marker} 2>/dev/null; then
        delay={limited_delay}
    fi
    export NOCTURNE_FAULT=item.stage:1+:delay-$delay
    exec {program} "$@" --fault-injection
fi
exec {program} "$@"
"""


class Proof:
    """A temporary folder with the inputs, the tree of one machine, and the divided batch."""

    def __init__(self, program: str, items: int, shards: int, is_short: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-shards-"))
        self.program = str(Path(program).resolve())
        self.shards = shards
        self.faults: list[str] = []
        inputs = self.folder / "in"
        inputs.mkdir()
        for item in range(items):
            (inputs / f"volume{item:03}.nii").write_bytes(tiny_volume(item, 16 + item % 5))
        self.wrapper, self.slowed = self.folder / "wrapper", self.folder / "slowed"
        self.wrapper.write_text(
            WRAPPER.format(
                program=self.program,
                delay=60 if is_short else 350,
                limited=0 if is_short else LIMITED_SHARD,
                limited_delay=LIMITED_DELAY,
                marker=self.slowed,
            )
        )
        self.wrapper.chmod(0o755)
        self.one, self.out = self.folder / "one", self.folder / "out"
        batch = [str(inputs), "--model", str(THRESHOLD_MODEL), "--preview", "none"]
        one = {**os.environ, "NOCTURNE_ISA": "avx2"}
        self.nocturne("run", *batch, "--output", str(self.one), "--quiet", environment=one)
        self.nocturne("plan", *batch, "--output", str(self.out), "--shards", str(shards), "--isa", "avx2", "-j", "1")
        self.items = items

    def nocturne(self, *arguments: str, codes: tuple[int, ...] = (0,), environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
        )
        if done.returncode not in codes:
            self.fault(f"nocturne {' '.join(arguments[:3])} ended with {done.returncode}: {done.stderr[-300:]}")
        return done.stdout + done.stderr

    def fault(self, text: str) -> None:
        print(f"FAULT: {text}", flush=True)
        self.faults.append(text)

    def submit(self, cluster: SlurmCluster) -> None:
        text = self.nocturne(
            *("submit", str(self.out), "--program", str(self.wrapper), "--", "--partition=low"),
            environment=cluster.environment,
        )
        print(text.strip(), flush=True)

    def states(self) -> dict[int, str]:
        """The state of each shard."""
        status = json.loads(self.nocturne("status", str(self.out), "--json"))
        return {shard["number"]: shard["state"] for shard in status["shards"] or []}


def running(cluster: SlurmCluster, busy: set[int], node: str | None = None) -> Task | None:
    """A task that is active, was not disturbed yet, and is not on the node that cannot do anything."""
    for task in cluster.tasks():
        is_usable = task.node != "night3" and (node is None or task.node == node)
        if task.state == "RUNNING" and task.index and task.index not in busy and is_usable:
            return task
    return None


def wait_for(what: str, condition: Callable[[], object], seconds: float) -> object:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.3)
    raise RuntimeError(f"after {seconds:.0f} s still not: {what}")


def active_task(proof: Proof, cluster: SlurmCluster, busy: set[int], node: str | None = None) -> Task:
    """One whose shard has begun, as status shows."""

    def find() -> Task | None:
        cluster.start_requeued_tasks()
        task = running(cluster, busy, node)
        return task if task and proof.states().get(task.index or 0) == "running" else None

    task = wait_for("a task is active", find, 240)
    assert isinstance(task, Task) and task.index
    busy.add(task.index)
    return task


def limited_task(proof: Proof, cluster: SlurmCluster) -> Task:
    """The one that is slowed down more, while it is."""

    def find() -> Task | None:
        cluster.start_requeued_tasks()
        active = (task for task in cluster.tasks() if task.state == "RUNNING" and task.index == LIMITED_SHARD)
        return next(active, None) if proof.slowed.exists() else None

    task = wait_for("the slow task is active", find, 240)
    assert isinstance(task, Task)
    return task


def disturb(proof: Proof, cluster: SlurmCluster, is_short: bool) -> None:
    busy: set[int] = set() if is_short else {LIMITED_SHARD}
    task = active_task(proof, cluster, busy)
    print(f"shard {task.index} is put back into the queue", flush=True)
    cluster.run("scontrol", "requeue", f"{task.array}_{task.index}")
    if is_short:
        return
    task = active_task(proof, cluster, busy)
    print(f"shard {task.index} is cancelled", flush=True)
    cluster.run("scancel", f"{task.array}_{task.index}")
    task = active_task(proof, cluster, busy)
    print(f"shard {task.index} is started a second time", flush=True)
    text = proof.nocturne("run", str(proof.out), "--shard", f"{task.index}/{proof.shards}", codes=(75,))
    if "is working on this batch" not in text:
        proof.fault(f"the second start says: {text[-300:]}")
    task = limited_task(proof, cluster)
    print(f"shard {task.index} reaches its time limit", flush=True)
    cluster.run("scontrol", "update", f"JobId={task.array}_{task.index}", "TimeLimit=1")
    task = active_task(proof, cluster, busy)
    print(f"shard {task.index} on {task.node} is preempted", flush=True)
    script = "#!/bin/bash\nsleep 5\n"
    subprocess.run(
        ["sbatch", "--partition=high", f"--nodelist={task.node}", "--cpus-per-task=2", "--output=/dev/null"],
        input=script,
        text=True,
        env=cluster.environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    task = active_task(proof, cluster, busy, "night1")
    print(f"the node of shard {task.index}, {task.node}, fails", flush=True)
    cluster.kill_node(task.node)
    wait_for("the node is down", lambda: "down" in cluster.run("sinfo", "-h", "-n", "night1", "-o", "%T"), 120)
    cluster.start_node("night1")


def finish(proof: Proof, cluster: SlurmCluster, seconds: float) -> None:
    """Waits until no job is left."""

    def is_done() -> bool:
        cluster.start_requeued_tasks()
        return not cluster.tasks()

    wait_for("all jobs have ended", is_done, seconds)


def check_starts(proof: Proof, is_short: bool) -> None:
    """Starts again are counted by reason: what the merge job says of those of all shards."""
    logs = "\n".join(path.read_text() for path in (proof.out / ".nocturne/tasks").glob("merge_*.log"))
    print("\n".join(line for line in logs.splitlines() if "started again" in line), flush=True)

    def most(reason: str) -> int:
        return max((int(number) for number in re.findall(rf"(\d+) {reason}", logs)), default=0)

    # Put back by a person, preempted, and lost with the node; the one at its time limit ends itself.
    expected = {"on a machine without the instruction set": 1}
    expected |= {"preempted": 1} if is_short else {"preempted": 3, "at the time limit": 1}
    for reason, count in expected.items():
        if most(reason) < count:
            proof.fault(f"{most(reason)} starts again are said to be {reason}, at least {count} were")


def check(proof: Proof) -> None:
    found = differing(tree(proof.out), tree(proof.one))
    if found:
        proof.fault(f"{len(found)} files differ: {found[:5]}")
    counts = json.loads((proof.out / "batch.json").read_text())["counts"]
    if counts["completed"] != proof.items or counts["inputs"] != proof.items:
        proof.fault(f"the report does not add up: {counts}")
    proof.nocturne("verify", str(proof.out))
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for line in (proof.out / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        for kind, counter in (("itemStarted", starts), ("itemCompleted", ends)):
            if event["event"] == kind:
                counter[event["item"]] = counter.get(event["item"], 0) + 1
    twice = [item for item, count in ends.items() if count > 1]
    if twice:
        proof.fault(f"completed twice: {twice}")
    repeated = sum(count - 1 for count in starts.values())
    print(f"{counts['completed']} completed, {repeated} starts repeated, {len(twice)} completed twice; {len(found)} differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--shards", type=int, default=12)
    parser.add_argument("--short", action="store_true", help="only two of the seven disturbances")
    arguments = parser.parse_args()
    start = time.monotonic()
    proof = Proof(arguments.nocturne, arguments.items, arguments.shards, arguments.short)
    print(f"{proof.folder}: {arguments.items} items in {arguments.shards} shards", flush=True)
    with SlurmCluster(proof.folder / "cluster") as cluster:
        dry = proof.nocturne("submit", str(proof.out), "--dry-run", environment=cluster.environment)
        if not re.search(r"sbatch: Job \d+ to start at", dry):
            proof.fault(f"the dry run says: {dry[-300:]}")
        proof.submit(cluster)
        disturb(proof, cluster, arguments.short)
        for attempt in range(6):
            finish(proof, cluster, 900)
            states = proof.states()
            left = sorted(number for number, state in states.items() if state != "finished")
            if not left:
                break
            logs = [path.read_text() for path in (proof.out / ".nocturne/tasks").glob("merge_*.log")]
            if not any("Items wait in" in text for text in logs):
                proof.fault("the merge job does not name open shards")
            print(f"shards left after submission {attempt + 1}: {left}", flush=True)
            proof.submit(cluster)
        proof.nocturne("merge", str(proof.out))
        check_starts(proof, arguments.short)
    check(proof)
    print(f"{len(proof.faults)} faults in {time.monotonic() - start:.0f} s")
    if not proof.faults and not os.environ.get("KEEP"):
        subprocess.run(["rm", "-r", str(proof.folder)], check=True)
    sys.exit(1 if proof.faults else 0)


if __name__ == "__main__":
    main()
