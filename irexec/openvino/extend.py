"""Extensions: OpenVINO's vocabulary for a class of irexec's, without a second class for the same thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

Face = TypeVar("Face", bound=type)


def extends(*, replacing: tuple[str, ...] = ()) -> Callable[[Face], Face]:
    """Give the members of a class to its one base, and return the base.

    `class Node(graph.Node)` under this decorator is graph.Node itself, with more methods: a model that the reader built
    has them as well as one that the caller builds. Type checkers see a subclass. What the base has already must be
    named in `replacing`. Raises TypeError otherwise.
    """

    def extend(face: Face) -> Face:
        (base,) = face.__bases__
        for name, member in vars(face).items():
            if name in ("__module__", "__doc__", "__slots__", "__qualname__", "__dict__", "__weakref__"):
                continue
            if name in ("__annotations__", "__firstlineno__", "__static_attributes__", "__parameters__"):
                continue
            if name in vars(base) and name not in replacing:
                raise TypeError(f"{base.__name__} has {name!r} already")
            setattr(base, name, member)
        return cast(Face, base)

    return extend
