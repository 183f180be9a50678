"""A separate process for a runtime, so that a crash or a hang does not affect the command."""

from __future__ import annotations

from typing import Any

from irexec.runtime.processes.child import Child, Ended
from irexec.tools.compare.runtimes import serve
from irexec.tools.compare.runtimes.runtime import CannotRun, Died

LIMIT = 600.0
"""Seconds that a runtime may take for one answer."""


class Process:
    """Calls the methods of an object in another process, which is started when needed and restarted after it died.

    `server` names the object's class (`module:Class`), called with `arguments`; arguments and results of its methods
    must be picklable. `limit`: seconds for one response; None or 0: no limit.
    """

    def __init__(self, server: str, arguments: tuple[Any, ...], limit: float | None = LIMIT) -> None:
        self.server, self.arguments, self.limit = server, arguments, limit or None
        self.life = 0
        self._child: Child | None = None

    def call(self, method: str, *arguments: Any) -> Any:
        """Return the result of the method. Raises CannotRun if the method does, Died if the process dies or hangs."""
        if self._child is None:
            self.life += 1
            self._child = Child(quiet=True)
            self._ask(self._child, serve.make, self.server, self.arguments)
        return self._ask(self._child, serve.call, method, arguments)

    @property
    def pid(self) -> int | None:
        """The number of the process, if it has been started."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    __del__ = close

    def _ask(self, child: Child, function: Any, *arguments: Any) -> Any:
        try:
            done, answer = child.call(function, *arguments, limit=self.limit)
        except Ended as error:
            self.close()
            raise Died(error.how, str(error)) from None
        except BaseException:
            self.close()
            raise
        if not done:
            raise CannotRun(*answer)
        return answer
