"""A command as a value: its arguments are the fields of a dataclass, which has groups of them as bases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Generic, ParamSpec, TypeVar

from irexec.tools.status import NotebookStatus, Status

P = ParamSpec("P")
R = TypeVar("R")


class Command(ABC, Generic[R]):
    """A question with all that is given for it. A subclass is a frozen dataclass."""

    @abstractmethod
    def work(self, status: Status) -> R:
        """Return the answer. `status` shows the progress."""


def function_of(command: Callable[P, Command[R]], name: str) -> Callable[P, R]:
    """Return the function of Python programs whose parameters are the fields of a command."""

    def function(*args: P.args, **keywords: P.kwargs) -> R:
        if "limit" in keywords:  # The name of `timeout` until version 0.3.
            keywords["timeout"] = keywords.pop("limit")
        with NotebookStatus() as status:
            return command(*args, **keywords).work(status)

    answer = command.work.__annotations__["return"]  # type: ignore[attr-defined]
    function.__signature__ = signature(command).replace(return_annotation=answer)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = command.__module__, command.__doc__
    return function
