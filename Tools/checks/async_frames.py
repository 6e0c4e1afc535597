#!/usr/bin/env python3
"""Finds asynchronous functions that use more of their frame than their callers allocate.

    Tools/checks/async_frames.py [PROGRAM...]     default: the tests of the release build, which contain every module

Swift 6.3 lays out a frame with alignments of at most 16 bytes, and LLVM then aligns a vector of 32 bytes in it, such as a SIMD3<Int>, to
32: where such a value is alive across an `await`, the last 16 bytes of the frame can lie behind its end, and overwrite what the task
has allocated next (swiftlang/swift#91639, corrected in Swift 6.4). To correct it here, keep the vector in no local variable across the await.

For each function, the size that callers allocate (the second word of the symbol `…Tu`) is compared with the accesses of its parts through
the frame's address: register r14 in the first part and after a change of the executor (`…TYn_`), and what r14 points to after a
call (`…TQn_`). Instructions are followed in the order of their addresses; a register that is written is no longer followed. Of a value
that is passed by its address, only the first byte is seen.
"""

from __future__ import annotations

import platform
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT

PART = re.compile(r"(?P<function>.*)T(?P<kind>[YQ])\d*_")
ACCESS = re.compile(r"(?P<offset>0x[0-9a-f]+)?\(%(?P<register>\w+)\)")
CALLER_SAVED = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"}
WIDTHS = {"b": 1, "w": 2, "l": 4, "d": 4, "q": 8}


def full_register(name: str) -> str:
    """The register of 64 bits of which `name` is a part; empty for others, such as vectors."""
    if match := re.fullmatch(r"(r\d+)[dwb]?", name):
        return match[1]
    if match := re.fullmatch(r"[re]?([abcd])[xlh]", name):
        return f"r{match[1]}x"
    match = re.fullmatch(r"[re]?(si|di|bp|sp)l?", name)
    return f"r{match[1]}" if match else ""


def width(operation: str, operands: str) -> int:
    """How many bytes of memory a move takes; 1 where the instruction does not show it."""
    registers = re.findall(r"%(\w+)", ACCESS.sub("", operands))
    if operation.startswith(("movup", "movap", "movdq", "vmovup", "vmovap", "vmovdq")):
        return 32 if any(name.startswith("ymm") for name in registers) else 16
    if operation != "mov" or not registers:
        return WIDTHS.get(operation[-1], 1) if operation in {"movb", "movw", "movl", "movq"} else 1
    name = registers[0]
    if name.startswith("r"):
        return WIDTHS.get(name[-1], 8) if name[1].isdigit() else 8
    return 4 if name.startswith("e") else 2 if name.endswith(("x", "si", "di", "bp")) else 1


class Part:
    """One part of an asynchronous function, between two suspensions: which registers hold the address of its frame."""

    def __init__(self, size: int, resumed: bool) -> None:
        self.size = size
        self.frame = set() if resumed else {"r14"}
        self.callee = {"r14"} if resumed else set()

    def beyond(self, operation: str, operands: str) -> int:
        """Follows one instruction. Returns how many bytes behind the frame's end it reaches; 0 for none."""
        reached = 0
        access = ACCESS.search(operands)
        if access and access["register"] in self.frame:
            reached = int(access["offset"] or "0", 16) + width(operation, operands)
        if operation.startswith("call"):
            self.frame -= CALLER_SAVED
            self.callee -= CALLER_SAVED
        elif not operation.startswith(("cmp", "test", "j", "push", "bt ")):
            self.write(operation, operands)
        return max(0, reached - self.size)

    def write(self, operation: str, operands: str) -> None:
        source, _, target = operands.rpartition(",")
        register = full_register(target.strip().removeprefix("%")) if target.strip().startswith("%") else ""
        if not register:
            return
        moves = operation in {"mov", "movq"}
        holds_frame = moves and (source.removeprefix("%") in self.frame or source in {f"(%{name})" for name in self.callee})
        holds_callee = moves and source.removeprefix("%") in self.callee
        self.frame.discard(register)
        self.callee.discard(register)
        if holds_frame:
            self.frame.add(register)
        if holds_callee:
            self.callee.add(register)


def frame_sizes(program: Path) -> dict[str, int]:
    """The bytes that callers allocate for each asynchronous function, by its symbol."""
    pointers = {}
    for line in output("nm", program):
        address, _, symbol = (line.split() + ["", ""])[:3]
        if symbol.endswith("Tu"):
            pointers[symbol.removesuffix("Tu")] = int(address, 16)
    sections = []
    for line in output("readelf", "--section-headers", "--wide", program):
        if match := re.match(r"\s*\[\s*\d+\]\s+\S+\s+PROGBITS\s+([0-9a-f]+)\s+([0-9a-f]+)\s+([0-9a-f]+)", line):
            sections.append(tuple(int(field, 16) for field in match.groups()))
    data = program.read_bytes()
    sizes = {}
    for symbol, address in pointers.items():
        for start, offset, length in sections:
            if start and start <= address < start + length:
                sizes[symbol] = struct.unpack_from("<I", data, offset + address - start + 4)[0]
    return sizes


def output(*command: str | Path) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield from process.stdout
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}")


def middle(program: Path) -> int:
    """The address of the function in the middle of the program's functions."""
    fields = [line.split() for line in output("nm", "--numeric-sort", "--defined-only", program)]
    functions = [int(address, 16) for address, kind, *_ in fields if kind in "tT"]
    return functions[len(functions) // 2]


def overruns(program: Path, sizes: dict[str, int], bound: str) -> dict[str, int]:
    """The functions with an access behind the end of their frame, each with the most bytes. `bound` limits the addresses."""
    found: dict[str, int] = {}
    function, part = "", None
    for line in output("objdump", "--disassemble", "--no-show-raw-insn", bound, program):
        if line.endswith(">:\n"):
            symbol = line[line.index("<") + 1 : -3]
            match = PART.fullmatch(symbol)
            function = match["function"] if match else symbol
            resumed = match is not None and match["kind"] == "Q"
            part = Part(sizes[function], resumed) if function in sizes else None
        elif part and "\t" in line:
            operation, _, operands = line.split("\t", 1)[1].partition(" ")
            beyond = part.beyond(operation.strip(), operands.split("#")[0].split("<")[0].strip())
            if beyond > found.get(function, 0):
                found[function] = beyond
    return found


def demangled(symbols: list[str]) -> list[str]:
    ended = subprocess.run(["swift", "demangle", "--compact"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


def main() -> None:
    if platform.machine() != "x86_64":
        print("Skipped: the check reads instructions of x86-64 alone.")
        return
    programs = [Path(name) for name in sys.argv[1:]] or [ROOT / ".build/release/nocturnePackageTests.xctest"]
    failed = 0
    for program in programs:
        sizes = frame_sizes(program)
        if not sizes:
            sys.exit(f"{program}: no asynchronous functions: not built, or without symbols")
        address = middle(program)
        # Reading the instructions takes one core, so each half has a process.
        with ProcessPoolExecutor(2) as pool:
            halves = list(pool.map(partial(overruns, program, sizes), [f"--stop-address={address}", f"--start-address={address}"]))
        found = {name: max(half.get(name, 0) for half in halves) for name in halves[0] | halves[1]}
        print(f"{program.name}: {len(sizes)} asynchronous functions, {len(found)} with a frame that is too short")
        for name, beyond in zip(demangled(list(found)), found.values(), strict=True):
            print(f"  {name}: {beyond} bytes; keep no SIMD value of more than 16 bytes in a variable across an await")
        failed += len(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
