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
from irexec.tools.run.record import Reference


class Fragile:
    """irexec, in another process, that ends it or never answers if a model contains a layer of this type."""

    def __init__(self, deadly: str, how: str) -> None:
        self.deadly, self.how = deadly, how
        self._model: Any = None

    def describe(self) -> dict[str, str]:
        return {"name": "fragile"}

    def load(self, path: str, cache: bool) -> str:
        self._model = read_model(path)
        if any(node.type == self.deadly for node in self._model.walk()):
            self._die()
        return ""

    def results(self, steps: Steps) -> list[list[Array]]:
        return Reference(self._model, steps).results()

    def observe(self, steps: Steps, values: Sequence[Sequence[Any]]) -> list[list[Array | None]]:
        nodes = {node.friendly_name: node for node in self._model.nodes}
        wanted = [nodes[layer].outputs[output] if layer in nodes else None for layer, output, _ in values]
        runs = Reference(self._model, steps).record({value for value in wanted if value is not None})
        return [[None if value is None else run.get(value) for value in wanted] for run in runs]

    def about(self) -> dict[str, str]:
        return {"EXECUTION_DEVICES": "nowhere"}

    def _die(self) -> None:
        print("the last words", file=sys.stderr, flush=True)
        if self.how == "hang":
            time.sleep(600)
        os.kill(os.getpid(), signal.SIGSEGV)


class Echo:
    """Returns its argument."""

    def describe(self) -> dict[str, str]:
        return {}

    def say(self, what: Any) -> Any:
        return what

    def refuse(self) -> None:
        raise CannotRun("I say nothing")
