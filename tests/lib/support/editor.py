"""The editor's side of the language server: the real process, with JSON-RPC over its pipes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.waiting import PATIENCE


class Refused(Exception):
    """Raised if the server answered with an error."""


class Editor:
    """Opens texts, sends requests, and stores notifications of the server: `diagnostics`, by the text's address."""

    def __init__(self, capabilities: dict[str, Any] | None = None, *, safe: bool = False) -> None:
        """`safe`: Python itself does not look for modules in the current folder."""
        self._process = subprocess.Popen(
            [sys.executable, *["-P"] * safe, "-m", "irexec", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self.diagnostics: dict[str, dict[str, Any]] = {}
        threading.Thread(target=self._listen, daemon=True).start()
        parameters = {"processId": None, "rootUri": None, "capabilities": capabilities or {}}
        self.capabilities = self.request("initialize", parameters)["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        if kind is not None:
            self._process.kill()
            return
        self.request("shutdown", None)
        self.notify("exit", None)
        assert self._process.wait(PATIENCE) == 0

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Open a text; return its findings."""
        document = {"uri": uri, "languageId": "xml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self.findings(uri, 1)

    def change(self, uri: str, version: int, changes: list[dict[str, Any]]) -> None:
        self.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
        )

    def findings(self, uri: str, version: int) -> list[dict[str, Any]]:
        """Wait for the findings about a version of a text, and return them."""
        while self.diagnostics.get(uri, {}).get("version") != version:
            self._take()
        return self.diagnostics[uri]["diagnostics"]

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """Send a request about a position."""
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return self.request(f"textDocument/{method}", place | more)

    def request(self, method: str, parameters: Any) -> Any:
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": parameters})
        while True:
            message = self._take()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise Refused(message["error"]["message"])
                return message["result"]

    def notify(self, method: str, parameters: Any) -> None:
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0"} | message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _take(self) -> dict[str, Any]:
        message = self._messages.get(timeout=PATIENCE)
        assert message is not None, "the server ended"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        return message

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)


def address(path: Path) -> str:
    """Return the URI of a file."""
    return path.as_uri()
