"""Chat templates rendered by jinja2 in its sandbox, with limits for the memory and the length of what they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from irexec.core.diagnostics.deadline import watched as in_time

_LONGEST = 1 << 20
"""The largest number of characters that a template may make."""
_LARGEST = 1 << 32
"""The largest number with which a template may compute products."""


class TemplateError(Exception):
    """A template that cannot be rendered. The message is the reason."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which products, powers and remainders are those of small numbers, not of texts or lists."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        small = (isinstance(each, (int, float)) and abs(each) <= _LARGEST for each in (left, right))
        if not all(small) or (operator == "**" and right > 64):
            raise SecurityError(f"{operator} is only allowed for small numbers")
        return super().call_binop(context, operator, left, right)


def rendered(source: str, given: Mapping[str, Any]) -> str:
    """Return the text that a template makes of values. Raises TemplateError."""
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])

    def refuse(reason: str) -> None:
        raise jinja2.TemplateError(reason)

    # The names that transformers provides. A date would make the tokens depend on the day.
    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: ""}
    made, length = list[str](), 0
    try:
        for piece in in_time(environment.from_string(source).generate(given), "rendering"):
            made.append(piece)
            length += len(piece)
            if length > _LONGEST:
                raise TemplateError(f"it makes more than {_LONGEST:,} characters")
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise TemplateError(str(error)[:200] or type(error).__name__) from None
    except (MemoryError, RecursionError) as error:
        raise TemplateError(type(error).__name__) from None
    return "".join(made)
