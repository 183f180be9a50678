"""Results of cases, as a campaign collects them: counts of passed cases, and the details of each failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irexec.tools.conformance.verdict import FAILED

FORMAT = 1
"""The version of the JSON form; schemas/conformance.schema.json describes it."""


@dataclass
class Finding:
    """A case that did not pass."""

    name: str
    word: str
    detail: str
    operator: str
    kind: str
    facts: dict[str, str] = field(default_factory=dict)
    call: int = 0
    output: int = 0

    @property
    def failed(self) -> bool:
        """Whether the runtime is wrong; a refusal is listed but is not a failure."""
        return self.word in FAILED


@dataclass
class Tally:
    """The results of some cases. `cells`: their number by `operator|element type|kind of shapes`, and by verdict."""

    cells: dict[str, dict[str, int]] = field(default_factory=dict)
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of cases with each value of an attribute, by `operator|attribute`."""
    facts: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of cases with each value of another property, by `operator|property`."""
    findings: list[Finding] = field(default_factory=list)
    runtime: str = ""
    processor: str = ""
    """The processor on which the runtime computes; empty in results that do not state it."""
    _kept: dict[tuple[str, str], int] = field(default_factory=dict, init=False, repr=False)

    def count(self, operator: str, type: str, kind: str, word: str, facts: Mapping[str, str]) -> None:
        """Count a case with its properties."""
        cell = self.cells.setdefault(f"{operator}|{type}|{kind}", {})
        cell[word] = cell.get(word, 0) + 1
        for name, value in facts.items():
            counts = self.values if name.startswith("attribute ") else self.facts
            seen = counts.setdefault(f"{operator}|{name.removeprefix('attribute ')}", {})
            if value in seen or len(seen) < _MOST_VALUES:
                seen[value] = seen.get(value, 0) + 1

    def add(self, other: Tally) -> None:
        """Add the results of other cases. All failures are kept. The lists of refusals, per operator and verdict, and
        of an attribute's values are limited, which bounds the memory of a long campaign.
        """
        for mine, theirs, most in (
            (self.cells, other.cells, None),
            (self.values, other.values, _MOST_VALUES),
            (self.facts, other.facts, _MOST_VALUES),
        ):
            for key, counts in theirs.items():
                own = mine.setdefault(key, {})
                for word, number in counts.items():
                    if most is None or word in own or len(own) < most:
                        own[word] = own.get(word, 0) + number
        for finding in other.findings:
            kind = finding.operator, finding.word
            self._kept[kind] = self._kept.get(kind, 0) + 1
            if finding.failed or self._kept[kind] <= _MOST_KEPT:
                self.findings.append(finding)
        self.runtime = self.runtime or other.runtime
        self.processor = self.processor or other.processor

    @property
    def title(self) -> str:
        """The runtime and the processor."""
        return " on ".join(filter(None, (self.runtime, self.processor)))

    @property
    def totals(self) -> dict[str, int]:
        """The number of cases with each verdict."""
        found: dict[str, int] = {}
        for counts in self.cells.values():
            for word, number in counts.items():
                found[word] = found.get(word, 0) + number
        return found

    @property
    def coverage(self) -> dict[str, int]:
        """The numbers of cases, and of operators, element types, kinds of shapes and attributes that they cover."""
        keys = [key.split("|") for key in self.cells]
        return {
            "cases": sum(self.totals.values()),
            "operators": len({key[0] for key in keys}),
            "operators and types": len({(key[0], key[1]) for key in keys}),
            "operators, types and kinds of shapes": len(keys),
            "attributes": len(self.values),
            "values of attributes": sum(map(len, self.values.values())),
        }


_MOST_VALUES, _MOST_KEPT = 64, 200


def finding_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding for JSON."""
    return {
        "case": finding.name,
        "verdict": finding.word,
        "detail": finding.detail,
        "operator": finding.operator,
        "kind": finding.kind,
        "call": finding.call,
        "output": finding.output,
        "facts": finding.facts,
    }
