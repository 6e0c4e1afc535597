"""A Slurm cluster of one controller and three nodes on this machine, for proofs: Debian's package slurm-wlm, as root."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm"
NODES = ["night1", "night2", "night3"]
CONFIGURATION = """\
ClusterName=night
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPort=16817
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
PluginDir={plugins}
SwitchType=switch/none
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
JobAcctGatherType=jobacct_gather/none
SlurmctldParameters=preempt_send_user_signal
SlurmdParameters=config_overrides
SlurmdTimeout=15
MaxArraySize=101
KillWait=10
MinJobAge=300
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=night[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17001-17003] CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=low Nodes=night[1-3] Default=YES MaxTime=60 State=UP PriorityTier=1 GraceTime=5
PartitionName=high Nodes=night[1-3] MaxTime=60 State=UP PriorityTier=10 PreemptMode=off
"""


@dataclass(frozen=True)
class Task:
    """A job, or a task of a job array, as squeue shows it."""

    job: str
    array: str
    index: int | None
    state: str
    node: str
    name: str


def parent(pid: int) -> int:
    """0 for a process that has ended."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return 0


def is_step_daemon(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith("slurmstepd")
    return False


class SlurmCluster:
    """The daemons, and the commands with their configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ["state", "log", *(f"spool/{node}" for node in NODES)]:
            (folder / name).mkdir(parents=True)
        text = CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=folder, plugins=PLUGINS)
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(text)
        self.environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.pending_since: dict[str, float] = {}

    def __enter__(self) -> SlurmCluster:
        self.daemons["slurmctld"] = self._start("slurmctld", "-D", "-f", str(self.configuration))
        for node in NODES:
            self.start_node(node)
        deadline = time.monotonic() + 60
        while self.run("sinfo", "-h", "-t", "idle", "-o", "%D").strip() != str(len(NODES)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the cluster does not start: {self.run('sinfo')}")
            time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        self.run("scancel", "--signal=KILL", "--full", "--state=RUNNING", check=False)
        self.run("scancel", "--state=PENDING", check=False)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"log/{command[0]}.out").open("ab")
        return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)

    def start_node(self, node: str) -> None:
        stepd = shutil.which("slurmstepd") or "/usr/sbin/slurmstepd"
        self.daemons[node] = self._start("slurmd", "-D", "-N", node, "-f", str(self.configuration), "-d", stepd)

    def kill_node(self, node: str) -> None:
        """Kills the daemon of a node, and all that runs on it, as a machine that fails does."""
        self.daemons[node].kill()
        self.daemons[node].wait()
        # The daemons of the tasks first: they would report how these ended.
        tasks = self.processes(node)
        for pid in [*(pid for pid in map(parent, tasks) if pid and is_step_daemon(pid)), *tasks]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self, node: str | None = None) -> list[int]:
        """The processes of tasks, on one node or all."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                environment = (entry / "environ").read_bytes().split(b"\0")
                if f"SLURM_CONF={self.configuration}".encode() not in environment:
                    continue
                names = [name.encode() for name in ([node] if node else NODES)]
                if any(b"SLURMD_NODENAME=" + name in environment for name in names):
                    found.append(int(entry.name))
        return found

    def run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def tasks(self) -> list[Task]:
        """Jobs and tasks that have not ended."""
        found = []
        for line in self.run("squeue", "-h", "-r", "-o", "%A|%F|%K|%T|%N|%j").splitlines():
            job, array, index, state, node, name = line.split("|")
            found.append(Task(job, array, int(index) if index.isdigit() else None, state, node, name))
        return found

    def start_requeued_tasks(self) -> None:
        """Lets tasks start that were put back into the queue, for which Slurm waits two minutes, and raises time limits
        that were lowered.

        A few seconds stay: a node refuses a task that starts in the second in which it was ended there, and Slurm then
        takes it for ended.
        """
        for task in self.tasks():
            name = f"{task.array}_{task.index}"
            if task.state != "PENDING" or not task.index:
                self.pending_since.pop(name, None)
            elif time.monotonic() - self.pending_since.setdefault(name, time.monotonic()) > 3:
                with contextlib.suppress(RuntimeError):
                    self.run("scontrol", "update", f"JobId={name}", "StartTime=now", "TimeLimit=30")
