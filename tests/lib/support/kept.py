"""Processes of runtimes that tests share: importing OpenVINO takes longer than most of what they compare with it."""

from __future__ import annotations

import json
import os
import sys
from typing import ClassVar

from irexec.runtime.processes.starting import Process
from irexec.runtime.processes.worker import Worker
from irexec.tools.compare.runtimes import separate

MOST = 2
"""How many idle processes are kept; each occupies the memory of its runtime."""


class Kept(Worker):
    """A Worker that leaves its process, if that is idle, to the next one with the same settings."""

    keeps = True
    """False in tests of the processes themselves."""
    _idle: ClassVar[list[tuple[str, Kept]]] = []
    _is_reading = False

    def _started(self) -> Process:
        if self._process is None and self.keeps and not self._is_over:
            same = [entry for entry in self._idle if entry[0] == self._kind()]
            if same:
                self._idle.remove(same[-1])
                self._take(same[-1][1])
        return super()._started()

    def _take(self, other: Kept) -> None:
        self._process, other._process = other._process, None
        self._words, self._heard, self._number = other._words, other._heard, other._number
        self._description, self.methods, self._is_met = other._description, other.methods, True
        self.life += 1

    def _read(self, number: int, limit: float | None) -> dict[str, object]:
        self._is_reading = True
        found = super()._read(number, limit)
        self._is_reading = False
        return found

    def kill(self) -> None:
        process = self._process
        is_idle = process is not None and process.poll() is None and self._is_met and not self._is_over
        if not is_idle or not self.keeps or self._waiting or self._is_reading:
            super().kill()
            self._is_reading = False
            return
        left = Kept(self._settings["host"], self._settings["config"])
        left._take(self)
        self._is_met = False
        self._idle.append((self._kind(), left))
        if len(self._idle) > MOST:
            end(self._idle.pop(0)[1])

    __del__ = kill

    def _kind(self) -> str:
        variables = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        return json.dumps([self._settings, self._python, self._environment, variables, sys.path], sort_keys=True)


def end(worker: Kept) -> None:
    Worker.kill(worker)


def keep() -> None:
    """Let all tests of this process share the processes of runtimes."""
    separate.Worker = Kept  # type: ignore[misc]


def end_all() -> None:
    """End the processes that are kept."""
    while Kept._idle:
        end(Kept._idle.pop()[1])
