#!/usr/bin/env python3
"""Opens the review page of the sample volumes in Firefox, from its file, and shows a volume in the viewer.

    Tools/proofs/review_in_firefox.py NOCTURNE [--picture FILE]

Needs firefox-esr, xvfb, and libgl1-mesa-dri with libegl1, which draw with WebGL 2 without a graphics card, and NiiVue
(Tools/install-niivue). Checks that the page has all items of batch.json, that the viewer draws, and that the surfaces of the
kidneys are on their sides; Firefox has no connection to any host. `--picture` saves what Firefox shows.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ITEM = "nifti-ras"
PREFERENCES = {
    "webgl.force-enabled": True,
    "gfx.webrender.software": True,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Firefox:
    """Firefox on a display in memory, driven by the protocol Marionette."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        (folder / "user.js").write_text("\n".join([*lines, f'user_pref("marionette.port", {port});']))
        self.process = subprocess.Popen(
            ["xvfb-run", "-a", "-s", "-screen 0 1400x1000x24", "firefox-esr", "--marionette", "--no-remote"]
            + ["--profile", str(folder), "--width", "1400", "--height", "1000"],
            env={**os.environ, "HOME": str(folder), "LIBGL_ALWAYS_SOFTWARE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.connection = self.connect(port)
        self.stream = self.connection.makefile("rb")
        self.number = 0
        self.receive()
        self.command("WebDriver:NewSession", capabilities={})

    @staticmethod
    def connect(port: int) -> socket.socket:
        deadline = time.monotonic() + 120
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except OSError:
                if time.monotonic() > deadline:
                    raise SystemExit("Firefox does not answer; are firefox-esr and xvfb installed?") from None
                time.sleep(0.5)

    def receive(self) -> Any:
        length = b""
        while (character := self.stream.read(1)) != b":":
            length += character
        return json.loads(self.stream.read(int(length)))

    def command(self, name: str, **values: object) -> Any:
        self.number += 1
        message = json.dumps([0, self.number, name, values]).encode()
        self.connection.sendall(str(len(message)).encode() + b":" + message)
        _, _, fault, result = self.receive()
        if fault:
            raise SystemExit(f"{name}: {fault['message']}")
        return result

    def evaluate(self, expression: str) -> Any:
        return self.command("WebDriver:ExecuteScript", script=f"return {expression}", args=[])["value"]

    def wait(self, expression: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {seconds} s: {expression}")
            time.sleep(0.25)

    def close(self) -> None:
        os.killpg(self.process.pid, 15)
        self.process.wait()


def check(browser: Firefox, out: Path) -> list[str]:
    """Faults of the page in this browser."""
    faults = []
    counts = json.loads((out / "batch.json").read_text())["counts"]
    browser.command("WebDriver:Navigate", url=(out / "index.html").as_uri())
    browser.wait("document.querySelectorAll('tbody tr').length > 0", 30)
    rows = browser.evaluate("document.body.innerText")
    items = [path.parent.name for path in out.glob("*/result.json")]
    if len(items) != counts["completed"] or not all(name in rows for name in items):
        faults.append(f"the page does not list all of {items}")
    browser.evaluate(f"(location.hash = '#item={ITEM}')")
    browser.wait("document.querySelector('#open-viewer')", 30)
    browser.evaluate("(document.querySelector('#open-viewer').click(), true)")
    browser.wait(f"document.querySelector('#viewer').dataset.ready === '{ITEM}'", 120)
    middles = browser.evaluate(
        "Object.fromEntries(Review.viewer.state.nv.meshes.map(mesh => [mesh.name, "
        "mesh.pts.reduce((sum, value, index) => sum + (index % 3 ? 0 : value), 0) * 3 / mesh.pts.length]))"
    )
    print("mm to the right of the middle:", {name: round(value, 1) for name, value in middles.items()})
    # x grows to the right side of the patient.
    if not middles["left_kidney.stl"] < -30 or not middles["right_kidney.stl"] > 30:
        faults.append("the kidneys are not on their sides")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out of a # batch, ü"
        subprocess.run(
            [arguments.nocturne, "run", str(ROOT / "Samples/Volumes"), "--output", str(out), "--quiet"]
            + ["--model", str(ROOT / "Samples/Models/urinary-tract-ct"), "--review", "volumes"],
            check=True,
        )
        profile = Path(folder) / "profile"
        profile.mkdir()
        browser = Firefox(profile)
        try:
            faults = check(browser, out)
            if arguments.picture:
                picture = browser.command("WebDriver:TakeScreenshot", full=False, hash=False)["value"]
                arguments.picture.write_bytes(base64.b64decode(picture))
        finally:
            browser.close()
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
