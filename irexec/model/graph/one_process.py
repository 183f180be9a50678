"""Objects that belong to one process: models, compiled models and infer requests are not pickled."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex


class OfOneProcess:
    """Base class that refuses pickling, and copying unless a class defines it. `instead`: the alternative named in the
    error."""

    __slots__ = ()
    instead: ClassVar[str] = "save its model (irexec.save_model) and read it in the other process"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"{'An' if name[0] in 'AEIOU' else 'A'} {name} cannot be copied or pickled; {self.instead}")
