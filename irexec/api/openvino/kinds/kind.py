"""The base of the classes with the methods that nodes of one type have in addition to those of every node."""

from __future__ import annotations

from typing import Any, ClassVar

from irexec.model.graph import model as graph


class Kind(type):
    """A class whose instances are all nodes of one type, whatever created them.

    Nodes have no Python class per operator: their type identifies the operator. `isinstance(node, op.Constant)`
    therefore checks the type, `op.Constant(...)` creates a node of that type, and the node looks up the methods of the
    class.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, graph.Node) and instance.type == cls.type_name  # type: ignore[attr-defined]

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        return cls.make(*arguments, **keywords)  # type: ignore[attr-defined]


class KindOfNode(graph.Node, metaclass=Kind):
    """The methods of the nodes of one type. The class itself is never instantiated."""

    __slots__ = ()
    type_name: ClassVar[str] = ""
