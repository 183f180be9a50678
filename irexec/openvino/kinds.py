"""Kinds of nodes: classes whose instances are the nodes of one type, whoever made them."""

from __future__ import annotations

from typing import Any, ClassVar

from irexec.graph import model as graph

# Kinds by the type in a file.
KINDS: dict[str, type[Any]] = {}


class Kind(type):
    """A class whose instances are the nodes of one type, whoever made them.

    A node has no class of its own per operator: its type says what it is. So `isinstance(node, op.Constant)` asks for
    the type, `op.Constant(...)` makes a node of that type, and the methods of the class are found from the node.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, graph.Node) and KINDS.get(instance.type) is cls

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        return cls.make(*arguments, **keywords)  # type: ignore[attr-defined]


class KindOfNode(graph.Node, metaclass=Kind):
    """The methods of the nodes of one type. The class itself has no instances of its own."""

    __slots__ = ()
    type_name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.type_name] = cls


def member(node: graph.Node, name: str) -> Any:
    """What the kind of a node adds to it, by name. Raises AttributeError."""
    kind = KINDS.get(node.type)
    found = vars(kind).get(name) if kind is not None else None
    if found is None:
        raise AttributeError(f"a node of type {node.get_type_name()} has no attribute {name!r}")
    return found.__get__(node, type(node))
