"""Runtimes that die: objects for another process, each with one way to end it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from irexec import read_model
from irexec.core.types import Array
from irexec.tools.compare.runtimes.runtime import CannotRun, Steps
from irexec.tools.compare.runtimes.separate import Shown
from irexec.tools.run.record import Reference


class Fragile:
    """irexec, in another process, that ends it or never answers if a model contains a layer of this type."""

    def __init__(self, deadly: str, how: str) -> None:
        self.deadly, self.how = deadly, how
        self._model: Any = None

    def describe(self) -> str:
        return "fragile"

    def load(self, file: str) -> str:
        self._model = read_model(file)
        if any(node.type == self.deadly for node in self._model.walk()):
            self._die()
        return ""

    def results(self, steps: Steps) -> list[list[Array]]:
        return Reference(self._model, steps).results()

    def observe(self, steps: Steps, values: Sequence[Shown]) -> list[dict[int, Array]]:
        nodes = {node.friendly_name: node for node in self._model.nodes}
        wanted = {nodes[v.layer].outputs[v.index]: i for i, v in enumerate(values) if v.layer in nodes}
        runs = Reference(self._model, steps).record(set(wanted))
        return [{wanted[value]: array for value, array in run.items()} for run in runs]

    def fused(self) -> list[list[str]]:
        return []

    def states(self, steps: Steps) -> list[dict[str, Array]]:
        return [{} for _ in steps]

    def about(self) -> dict[str, str]:
        return {"EXECUTION_DEVICES": "nowhere"}

    def _die(self) -> None:
        print("the last words", file=sys.stderr, flush=True)
        if self.how == "hang":
            time.sleep(600)
        os.kill(os.getpid(), signal.SIGSEGV)


class Echo:
    """Returns its argument."""

    def say(self, what: Any) -> Any:
        return what

    def refuse(self) -> None:
        raise CannotRun("I say nothing")
