#!/usr/bin/env python3
"""Compiles the kernels for tiles on a GPU with NVRTC, which needs no GPU.

    Tools/proofs/tile_kernels.py [LIBRARY]

For every architecture that NVRTC knows: each kernel is there, and none contracts a product and a sum (fma), which would give other
bits than the processor. LIBRARY is libnvrtc.so.13 or 12; without it, that of the package nvidia-cuda-nvrtc of this Python. That
the same source, compiled as C, computes the bits of the processor's own path is the test `TileKernelTests`.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "Sources/CTileKernels/include/tile_kernels.h"


def library() -> Path | None:
    """NVRTC among the packages of this Python."""
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        found = sorted(Path(folder).glob("*/lib/libnvrtc.so.1*"))
        if found:
            return found[-1]
    return None


class Compiler:
    def __init__(self, path: str) -> None:
        # NVRTC finds its own functions by name only: they are loaded before.
        for builtins in Path(path).parent.glob("libnvrtc-builtins.so*"):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.functions = ctypes.CDLL(path)

    def call(self, name: str, *arguments: object) -> None:
        code = getattr(self.functions, name)(*arguments)
        if code != 0:
            sys.exit(f"{name} returned {code}")

    def version(self) -> str:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def architectures(self) -> list[int]:
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", numbers)
        return list(numbers)

    def compile(self, source: bytes, architecture: int) -> tuple[str, int]:
        """The kernels as text (PTX), and the bytes of the code."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source, b"tile_kernels.cu", 0, None, None)
        # As Sources/CONNXRuntime/tiles.c does it.
        options = [f"--gpu-architecture=sm_{architecture}".encode(), b"--fmad=false"]
        if self.functions.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 0:
            self.call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.call("nvrtcGetProgramLog", program, log)
            sys.exit(f"sm_{architecture}: {log.value.decode()}")
        self.call("nvrtcGetCUBINSize", program, ctypes.byref(size))
        code = size.value
        self.call("nvrtcGetPTXSize", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call("nvrtcGetPTX", program, text)
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return text.value.decode(), code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?")
    options = parser.parse_args()
    path = options.library or library()
    if path is None:
        sys.exit("NVRTC was not found: install the package nvidia-cuda-nvrtc, or name the library")
    source = SOURCE.read_bytes()
    names = re.findall(r"K\((\w+)\)", source.decode().split("#define TILE_KERNELS(K)")[1].splitlines()[0])
    compiler = Compiler(str(path))
    for architecture in compiler.architectures():
        text, code = compiler.compile(source, architecture)
        missing = [name for name in names if f".entry {name}_kernel(" not in text]
        if missing or "fma.rn.f32" in text:
            sys.exit(f"sm_{architecture}: missing {missing}; fma: {'fma.rn.f32' in text}")
        print(f"sm_{architecture}: {len(names)} kernels, {code} bytes, no fma")
    print(f"NVRTC {compiler.version()}")


if __name__ == "__main__":
    main()
