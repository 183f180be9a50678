"""The other end of a Process: makes one object, calls its methods as asked, and answers with what they return.

What is large is kept here: `keep` observes and answers with what there is, `kept` with one array of that.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import IO, Any

from irexec.trust.runtimes import CannotRun


def main() -> None:
    """Serve until nobody asks any more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a runtime prints is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    served: Any = None
    kept: list[dict[int, Any]] = []
    while (question := _next(sys.stdin.buffer)) is not None:
        name, arguments = question
        try:
            answer: tuple[bool, Any]
            if served is None:
                served = _class(name)(*arguments)
                answer = (True, None)
            elif name == "keep":
                kept = []
                kept = served.observe(*arguments)
                answer = (True, [list(step) for step in kept])
            elif name == "kept":
                answer = (True, kept[arguments[0]][arguments[1]])
            else:
                answer = (True, getattr(served, name)(*arguments))
        except CannotRun as error:
            answer = (False, str(error))
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _next(stream: IO[bytes]) -> tuple[str, tuple[Any, ...]] | None:
    try:
        question: tuple[str, tuple[Any, ...]] = pickle.load(stream)
        return question
    except EOFError:
        return None


def _class(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


if __name__ == "__main__":
    main()
