"""DiscreteTypeInfo: the operator type of a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering

from irexec.core.arguments import expected


@total_ordering
@dataclass(frozen=True)
class DiscreteTypeInfo:
    """The operator type of a node."""

    name: str
    version_id: str = ""
    parent: DiscreteTypeInfo | None = None

    def hash(self) -> int:
        """Return a number that equal types share."""
        return hash(self)

    def __lt__(self, other: DiscreteTypeInfo) -> bool:
        return (self.version_id, self.name) < (expected(other, DiscreteTypeInfo, "<").version_id, other.name)

    def __repr__(self) -> str:
        return f"<DiscreteTypeInfo: {self.name} {self.version_id}>"
