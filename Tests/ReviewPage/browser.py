"""A small client of the DevTools protocol: one headless Chromium, spoken to over a pipe."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

NAMES = ["chromium", "chromium-browser", "google-chrome"]
OPTIONS = [
    "--headless=new", "--no-sandbox", "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars",
    "--force-device-scale-factor=1", "--window-size=1200,900",
    # Volumes are drawn by the processor.
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    # No host has an address, so that a request to any of them fails.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


def executable():
    """The path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Chromium with one page. `requests` and `problems` collect what the page asks for, and what goes wrong in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="review-browser-")
        self.requests, self.problems, self.number, self.buffer = [], [], 0, b""
        there, self.output = os.pipe()
        self.input, back = os.pipe()
        # Chromium reads from 3 and writes to 4. The shell moves the pipes there from numbers that cannot collide.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (there, back)]
        command = f'exec "$@" 3<&{high[0]} 4>&{high[1]}'
        arguments = [executable(), *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={self.folder}/profile",
            "about:blank"]
        self.log = open(f"{self.folder}/log", "wb")
        self.process = subprocess.Popen(["bash", "-c", command, "bash", *arguments], pass_fds=high, stderr=self.log,
                                        stdout=self.log)
        for end in (there, back, *high):
            os.close(end)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.downloads = pathlib.Path(self.folder, "downloads")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def close(self):
        """Ends the browser, and removes its files."""
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.log.close()
        os.close(self.output)
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        """Sends a command, and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise OSError("the browser has ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["source"] in ("security", "violation"):
            self.problems.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"a dialog: {parameters['message']}")

    def open(self, path, fragment=""):
        """Opens a file, and waits until all items are loaded."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=pathlib.Path(path).absolute().as_uri() + fragment)
        self.wait("document.documentElement && document.documentElement.dataset.complete !== undefined")

    def evaluate(self, expression):
        """The value of an expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
            except RuntimeError:
                # While a page is replaced there is nothing to ask.
                pass
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds} s: {expression}")
            time.sleep(0.03)

    def press(self, key, code=None):
        """Presses and releases a key, such as "p", "Enter" or "ArrowRight"."""
        codes = {"Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                 "Tab": 9, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34}
        number = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = "\r" if key == "Enter" else key if len(key) == 1 else None
        event = {"key": key, "windowsVirtualKeyCode": number, "code": code or ""}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event,
            **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Enters a text where the focus is."""
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks with the mouse on the middle of an element."""
        x, y = self.evaluate(
            f"(() => {{ const node = document.querySelector({json.dumps(selector)}); node.scrollIntoView({{block: 'center'}});"
            " const box = node.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def size(self, width, height):
        """Sets the size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, selector=None):
        """A picture of the visible page, or of an element, as bytes of a PNG."""
        clip = {}
        if selector:
            box = self.evaluate(
                f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                " return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1}; })()")
            clip = {"clip": box}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])


def pixels(png):
    """Width, height, and a function that returns red, green and blue of a pixel of a PNG."""
    position, data = 8, b""
    while position < len(png):
        length, kind = struct.unpack_from(">I4s", png, position)
        content = png[position + 8:position + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack_from(">2I2B", content)
        if kind == b"IDAT":
            data += content
        position += 12 + length
    step = {2: 3, 6: 4}[colour]
    raw, line = zlib.decompress(data), width * step
    rows, previous = [], bytes(line)
    for y in range(height):
        kind, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        _unfilter(kind, row, previous, step)
        rows.append(row)
        previous = row
    return width, height, lambda x, y: tuple(rows[int(y)][int(x) * step:int(x) * step + 3])


def _unfilter(kind, row, previous, step):
    for index in range(len(row)):
        left = row[index - step] if index >= step else 0
        up = previous[index]
        if kind == 1:
            row[index] = (row[index] + left) & 255
        elif kind == 2:
            row[index] = (row[index] + up) & 255
        elif kind == 3:
            row[index] = (row[index] + (left + up) // 2) & 255
        elif kind == 4:
            corner = previous[index - step] if index >= step else 0
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            row[index] = (row[index] + nearest[2]) & 255
