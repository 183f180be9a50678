"""A headless Chromium, controlled through a pipe: no driver, no port, no package.

The protocol is Chrome DevTools': JSON objects, each followed by a zero byte (--remote-debugging-pipe).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

from support.waiting import PATIENCE, until

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
# Answers of the browser if the queried page is being replaced.
GONE = (
    "Inspected target navigated or closed",
    "Execution context was destroyed.",
    "Cannot find default execution context",
)


class Navigated(RuntimeError):
    """The page was replaced by another one during the query."""


def executable() -> str | None:
    """Return the browser of this machine; the environment variable IREXEC_BROWSER names another one."""
    named = os.environ.get("IREXEC_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


PROGRAM = executable()
NO_BROWSER = "no Chromium is installed: apt-get install chromium"


class Browser:
    """One process with one window. `errors` are the messages that its page has written to its console."""

    def __init__(self, program: str, folder: Path, *, width: int = 1280, height: int = 800) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The numbers 3 and 4, which the browser expects, may be in use by these very pipes.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]

        def give() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        command = [program, *FLAGS, f"--user-data-dir={folder}", f"--window-size={width},{height}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, preexec_fn=give, close_fds=False
        )
        for end in (to_read, to_write, *ends):
            os.close(end)
        self._numbers = itertools.count(1)
        self._rest = b""
        self.errors: list[str] = []
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self._loaded: set[str] = set()
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        for end in (self._read, self._write):
            os.close(end)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol on the page."""
        return self._ask(method, parameters, self._session)

    def open(self, path: Path) -> None:
        """Open a file and wait until its scripts have run."""
        # The answer arrives before the page: until then the previous page is shown, which may have the same address.
        coming = self.ask("Page.navigate", url=path.resolve().as_uri())["loaderId"]
        while coming not in self._loaded:
            self._note(self._receive())
        self.run("typeof ready === 'undefined' ? null : ready.then(() => null)")

    def until(self, script: str) -> Any:
        """Return the first value of an expression that counts as true, even if a new page is loaded meanwhile."""

        def value() -> Any:
            with contextlib.suppress(Navigated):
                return self.run(script)

        return until(value, script)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page. Raises RuntimeError if it throws, Navigated if the page is
        replaced.
        """
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release one key."""
        typed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **typed)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        place = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.run(f"(() => {{ const r = {place}; return [r.x + r.width / 2, r.y + r.height / 2]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def prefer(self, scheme: str) -> None:
        """Set the preferred colour scheme of the system, `light` or `dark`."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        """Return a screenshot, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def _ask(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    if answer["error"].get("message") in GONE:
                        raise Navigated(answer["error"]["message"])
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        method, said = event.get("method"), event.get("params", {})
        if method == "Page.frameNavigated" and "parentId" not in said["frame"]:
            self.errors.clear()
        elif method == "Page.lifecycleEvent" and said["name"] == "load":
            self._loaded.add(said["loaderId"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(said["exceptionDetails"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(said["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(said["args"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
