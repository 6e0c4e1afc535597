"""The messages and fault points of nocturne that the proofs depend on.

A message is a part of what `nocturne` prints, of an item's reason or of `waitingFor` in `status --json`. When the program
is worded differently, this is the only file of Tools to change.
"""

from __future__ import annotations

# The disk of the output folder.
WAITS_FOR_DISK_SPACE = "The run waits for space"
HAS_DISK_SPACE_AGAIN = "has free space again"
STATUS_WAITS_FOR_DISK_SPACE = "free space on the disk"
DISK_IS_FULL = "is full"
DISK_HAS_NO_MORE_FILES = "more files can be made"

# The output folder is lost.
OUTPUT_DISAPPEARED = "is no longer there"
OUTPUT_NOT_WRITABLE = "can no longer be written"
RESUME_HINT = "Continue with: nocturne resume"

# Two runs on one output folder.
FOLDER_IN_USE = "is working on this batch"
HOLDER_MAY_BE_ACTIVE = "has not released this batch"
TAKEN_OVER = "a run on another machine has taken over the output folder"

# Items.
ITEM_FAILED = "FAILED"
WILL_BE_RETRIED = "will be tried again"
SOURCE_DISAPPEARED = "was removed after the batch began"
TIMED_OUT = "took longer than"
DID_NOT_ANSWER = "did not respond"
NO_PROGRESS = "has made no progress"
NEEDS = "needs"
BUDGET = "budget"

# The engine process.
ENGINE_DIED = "engine crashed"
ENGINE_HANGS = "the engine is stuck in an uninterruptible system call"
ENGINE_KILLED = "the engine crashed: signal 9"
SCAN_CRASHED_TWICE = "crashed twice while reading it"
OUT_OF_MEMORY = "memory ran out"
WAITS_FOR_MEMORY = "waits until there is enough"

# Hours and detaching.
NOTHING_STARTED_BEFORE = "Nothing is started before {time}"
NOT_STARTED = "Not started"
FOLLOW_HINT = "nocturne status --follow"

# The error for an unknown fault point lists all of them between these two texts.
FAULT_POINTS_AFTER = "with a point of "
FAULT_POINTS_BEFORE = " and kill"


class FaultPoint:
    """Names of points where NOCTURNE_FAULT can act."""

    ITEM_STAGE = "item.stage"
    ITEM_STAGED = "item.staged"
    ITEM_IN_PLACE = "item.inPlace"
    INPUT_OPEN = "input.open"
    INPUT_SCAN = "input.scan"
    INFERENCE_TILE = "inference.tile"
    FILE_CREATE = "file.create"
    FILE_WRITE = "file.write"
    JOURNAL_RECORD = "journal.record"
    BATCH_REPORT = "batch.report"
    # Points whose names begin so are not part of one item: a fault there ends the run, and a resume completes it.
    OUTSIDE_ITEMS = ("journal", "batch", "memory")


def delayed_stages(milliseconds: int) -> str:
    """The fault specification that delays every stage of every item, to leave time for disturbing the run."""
    return f"{FaultPoint.ITEM_STAGE}:1+:delay-{milliseconds}"


def pressure_level(event: dict) -> str:
    """The level (normal, warning, critical) of a `pressure` event."""
    return event["reason"].split(":")[0].split()[-1]
