"""Broken constraints: what a shape rule reports with `check`, and a kernel with `require`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from irexec.ops.declare.checks import note
from irexec.records import NamedTuple


class ConstraintError(ValueError):
    """A value breaks a constraint of the operator's page. Raised by kernels; becomes a located finding.

    `details` are further fields of the finding; `repair` is as in Breach.
    """

    def __init__(
        self,
        constraint: str,
        message: str,
        *,
        port: str | None = None,
        hint: str | None = None,
        repair: dict[str, tuple[int, ...]] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.constraint, self.message, self.port, self.hint = constraint, message, port, hint
        self.repair, self.details = repair, details


def require(constraint: str, condition: bool | np.bool_, message: str, *, port: str | None = None) -> None:
    """In a kernel: raise ConstraintError unless the condition holds."""
    note(constraint, bool(condition))
    if not condition:
        raise ConstraintError(constraint, message, port=port)


class Check(Protocol):
    """What a shape rule reports with. Returns False when the condition is known to fail, True otherwise."""

    def __call__(
        self,
        constraint: str,
        condition: bool | None,
        message: str,
        *,
        port: str | None = None,
        attribute: str | None = None,
        hint: str | None = None,
        found: str | None = None,
        allowed: str | None = None,
        repair: dict[str, tuple[int, ...]] | None = None,
        late: bool = False,
    ) -> bool: ...


class Breach(NamedTuple):
    """One broken constraint, or one element type that does not fit, as inference found it.

    `repair` maps ports to the shapes that would mend it: the same elements, read in another shape. `late`: OpenVINO
    makes a node that breaks it, and may then read beyond its inputs; here such a node can be made, too, but no model
    with it is valid.
    """

    code: str
    message: str
    constraint: str | None = None
    port: str | None = None
    attribute: str | None = None
    hint: str | None = None
    found: str | None = None
    allowed: str | None = None
    repair: dict[str, tuple[int, ...]] | None = None
    late: bool = False
