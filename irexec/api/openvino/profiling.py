"""ProfilingInfo: the time of each layer in an inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from irexec.api.openvino.members import Members, member
from irexec.model.graph.model import Model, Node


class Status(Members):
    """The execution status of a layer."""

    NOT_RUN = member(0)
    OPTIMIZED_OUT = member(1)
    EXECUTED = member(2)


# Inside ProfilingInfo, the name `Status` refers to its attribute.
_NOT_RUN, _OPTIMIZED_OUT, _EXECUTED = Status.NOT_RUN, Status.OPTIMIZED_OUT, Status.EXECUTED


@dataclass(frozen=True)
class ProfilingInfo:
    """One layer's time. There is one processor: real and CPU time are the same measurement."""

    Status: ClassVar[type[Members]] = Status
    NOT_RUN: ClassVar[Members] = _NOT_RUN
    OPTIMIZED_OUT: ClassVar[Members] = _OPTIMIZED_OUT
    EXECUTED: ClassVar[Members] = _EXECUTED

    node_name: str
    node_type: str
    status: Members
    real_time: timedelta
    cpu_time: timedelta
    exec_type: str = "numpy"


class Profile:
    """A listener that records the seconds of every layer in the last inference."""

    def __init__(self) -> None:
        self.seconds: dict[Node, float] = {}

    def before(self, node: Node, inputs: Sequence[Any]) -> None:
        """Do nothing: layers are measured afterwards."""

    def after(self, node: Node, inputs: Sequence[Any], outputs: Sequence[Any], seconds: float) -> None:
        self.seconds[node] = seconds

    def infos(self, model: Model) -> list[ProfilingInfo]:
        """Return one entry per layer in the order of the model: layers computed beforehand are OPTIMIZED_OUT."""
        found = []
        for node in model.nodes:
            taken = timedelta(seconds=self.seconds.get(node, 0.0))
            without = _OPTIMIZED_OUT if self.seconds else _NOT_RUN
            status = _EXECUTED if node in self.seconds else without
            found.append(ProfilingInfo(node.friendly_name, node.get_type_name(), status, taken, taken))
        return found
