"""Mutants of kernels that no case can kill, with the reason for each kind of them."""

from __future__ import annotations

import re

from irexec.ops.declare.operator import Operator

REASONS: tuple[tuple[str, str], ...] = ()
"""Patterns of `OPERATOR FUNCTION:LINE: CHANGE`, each with the reason."""


def reason_of(operator: Operator, what: str) -> str | None:
    """Why a mutant is equivalent to the kernel; None if it is not."""
    text = f"{operator} {what}"
    return next((reason for pattern, reason in REASONS if re.fullmatch(pattern, text)), None)
