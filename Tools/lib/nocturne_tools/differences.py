"""The end of a proof that compares figures."""

from __future__ import annotations


def report(largest: dict[str, float], faults: list[str]) -> int:
    """Prints the largest difference of each kind and the faults. Returns the exit code: 1 if there is a fault."""
    for kind, value in largest.items():
        print(f"largest difference of {kind}: {value:.3g}")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0
