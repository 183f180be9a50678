"""The result that an operator computed from arrays, which can be used as an array and as a node of a graph.

OpenVINO's functions create a node from any arguments; irexec's functions evaluate arrays. The result of
`opset13.add([1, 2], [3, 4])` is both: it can be printed and indexed like any array, and be an input of the next layer.

A class derived from both ndarray and Node is not possible: their instances are laid out differently. So the result is
an array that is a proxy for the Node: it declares this by `__class__`, which isinstance reads in addition to the type
(as proxies of weakref and unittest.mock do), and forwards attribute access to the Node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Node, Value

MakeNode = Callable[[], Node]


class _Source:
    """The node that computed some arrays, created on demand."""

    def __init__(self, make: MakeNode, node_class: Callable[[], type[Node]]) -> None:
        self._make, self._node, self.node_class = make, None, node_class

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = self._make()  # type: ignore[assignment]
        assert self._node is not None
        return self._node


def _arithmetic(name: str) -> Callable[[Computed, Any], Any]:
    """Return NumPy's arithmetic method; a result of the same dtype is also a proxy for the node that Node's method
    creates.
    """

    def method(self: Computed, other: Any) -> Any:
        result = getattr(np.ndarray, name)(self, other)
        source = self._source
        if source is None or not isinstance(result, (np.ndarray, np.generic)) or result.dtype != self.dtype:
            return result
        made = np.asarray(result).view(Computed)
        made._source = _Source(lambda: getattr(source.node, name)(other), source.node_class)
        return made

    return method


class Computed(np.ndarray[Any, Any]):
    """The one result of an operator: an array, and a proxy for the Node that computes it.

    Views of it and NumPy's results are plain arrays, except the results of arithmetic operators that nodes define.
    """

    _source: _Source | None = None
    __add__, __radd__ = _arithmetic("__add__"), _arithmetic("__radd__")
    __sub__, __rsub__ = _arithmetic("__sub__"), _arithmetic("__rsub__")
    __mul__, __rmul__ = _arithmetic("__mul__"), _arithmetic("__rmul__")
    __truediv__, __rtruediv__ = _arithmetic("__truediv__"), _arithmetic("__rtruediv__")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of nodes, so that `isinstance(result, Node)` holds as well as `isinstance(result,
        numpy.ndarray)`.
        """
        return np.ndarray if self._source is None else self._source.node_class()

    def __getattr__(self, name: str) -> Any:
        if self._source is None or name.startswith("__"):
            raise AttributeError(f"an array has no attribute {name!r}")
        return getattr(self._source.node, name)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()


class ComputedTuple(tuple[Array, ...]):
    """The results of an operator with several outputs: a tuple of arrays, and a proxy for the Node."""

    _source: _Source

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._source.node_class()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._source.node, name)


def computed(
    results: Sequence[Array], make: MakeNode, node_class: Callable[[], type[Node]], *, single: bool
) -> Computed | ComputedTuple:
    """Return the results of a call, which create the node that computes them, of class `node_class`, on demand."""
    source = _Source(make, node_class)
    if single:
        array = results[0].view(Computed)
        array._source = source
        return array
    several = ComputedTuple(results)
    several._source = source
    return several


class SeveralOutputs(ValueError, RuntimeError):
    """Raised if the only output of a node is requested and the node has several. (OpenVINO raises RuntimeError.)"""


def value_of(given: Any) -> Value | None:
    """Return the Value that an argument represents: itself, or the only output of a node; None for other objects.

    Raises SeveralOutputs for a node with several outputs.
    """
    if isinstance(given, Value):
        return given
    if not isinstance(given, Node):
        return None
    if len(given.outputs) != 1:
        raise SeveralOutputs(f"{given!r} has {len(given.outputs)} outputs; select one with .output(i)")
    return given.outputs[0]


def is_graph(given: Any) -> bool:
    """Return True for a Node or Value itself, not for an array that could become one."""
    return isinstance(given, (Node, Value)) and not isinstance(given, (np.ndarray, tuple))
