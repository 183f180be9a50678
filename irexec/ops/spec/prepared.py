"""Forms of constants that the plans of a model share, and the types by which a kernel is specialized for a node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar
from weakref import ref

from irexec.core.records import field, record
from irexec.core.threads.forking import held_while_forking
from irexec.core.types import Array, TensorType

T = TypeVar("T")

LOCK = threading.RLock()
"""Held while a thread prepares constants, lowers a plan or compiles a function."""
held_while_forking(LOCK)


class Prepared:
    """Forms of constants that kernels or compiled code read, made once for all plans of a model.

    A form lives as long as a plan uses it.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[ref[Any], tuple[Array, ...]]] = {}

    def of(self, constants: tuple[Array, ...], form: Hashable, make: Callable[[], T]) -> T:
        """Return the form of some constants; `make` creates it if no plan uses it yet.

        Constants are identified by their memory, which is kept alive as long as the form.
        """
        key = form, *((c.__array_interface__["data"][0], c.shape, c.strides, c.dtype.str) for c in constants)
        with LOCK:
            entry = self._known.get(key)
            found: T | None = None if entry is None else entry[0]()
            if found is None:
                found = make()
                self._known[key] = ref(found, lambda gone: self._forget(key, gone)), constants
        return found

    def _forget(self, key: Hashable, gone: ref[Any]) -> None:
        if (entry := self._known.get(key)) is not None and entry[0] is gone:
            del self._known[key]

    def __len__(self) -> int:
        """Return the number of forms."""
        return len(self._known)


@record(frozen=True, eq=False)
class NodeTypes:
    """The argument of `specialize`: the static types of one node, its constants and its attributes.

    `used` flags the outputs that are read; None if they are not known. `prepared`: forms of constants.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    used: tuple[bool, ...] | None = None
    prepared: Prepared = field(default_factory=Prepared)


class PassThrough(NamedTuple):
    """A specialized kernel that returns its input or a view of it, although the operator's kernel takes `out`."""

    call: Callable[..., Any]
