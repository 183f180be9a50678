"""The attributes of a node as a dictionary that checks every change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from irexec.model.graph.model import Node

T = TypeVar("T")


class Attributes(dict[str, Any]):
    """The attributes of one node by Python name. A change is checked as by `Node.set_attribute`, which also accepts
    names as in files; IRError is raised for a name or a value that the operator does not accept.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node, known: dict[str, Any]) -> None:
        super().__init__(known)
        self._node = ref(node)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def replace(self, attributes: dict[str, Any]) -> None:
        """Replace all attributes by others, which are not checked."""
        super().clear()
        super().update(attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        self._change(lambda changed: changed.update({name: value}))

    def __delitem__(self, name: str) -> None:
        self._change(lambda changed: changed.__delitem__(name))

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def update(self, *others: Any, **more: Any) -> None:
        self._change(lambda changed: changed.update(*others, **more))

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        return self._change(lambda changed: changed.pop(name, *default))

    def popitem(self) -> tuple[str, Any]:
        return self._change(lambda changed: changed.popitem())

    def clear(self) -> None:
        self._change(lambda changed: changed.clear())

    def _change(self, edit: Callable[[dict[str, Any]], T]) -> T:
        node = self._node()
        changed = dict(self if node is None else node.attributes)
        result = edit(changed)
        if node is not None:
            node.attributes = changed
            changed = node.attributes
        self.replace(dict(changed))
        return result
