"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def processor() -> str:
    """The processor's name as the kernel reports it."""
    with Path("/proc/cpuinfo").open() as file:
        names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        return next(names, platform.processor())


def architecture() -> str:
    """The processor's short name, or the architecture where there is none."""
    return platform.processor() or platform.machine()


def memory_gib() -> float:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
