"""Clusters: failures that have an operator, a verdict and some property in common, with the simplest case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.conformance.results import Finding, Tally, finding_dict
from irexec.conformance.verdict import NARROWED, ROUNDED, WRAPS
from irexec.ops.declare.contents import category_of

_NUMBERS = re.compile(r"\b0x[0-9a-f]+\b|\d+")
_MESSAGE = 90
_LOCATION = re.compile(r"(?:failed at|Exception from) (?:src/)?(?!\S*infer_request\.cpp)(\S+:\d+)")
_AS_F32 = "f64 with values that f32 does not have"
_F64_INFINITY = re.compile(r"e\+3[78] instead of -?inf")
_BROADCASTING = frozenset({"arithmetic", "comparison", "logical", "bitwise"})
"""Categories of layers that runtimes compute with the same code."""
_NAMES, _MOST_COMMON = 3, 5
_FIRST = frozenset({"kind", "call", "type", "data", "empty", "layers", "forbidden"})
"""Properties that a title names before the properties of single inputs."""
_FEWEST, _MOSTLY, _OFTENER = 3, 0.5, 2.5


@dataclass
class Cluster:
    """Failures with one presumable cause.

    `cause`: the description of the cause, or the type of the operator; `common`: properties that all failures share.
    """

    cause: str
    word: str
    common: dict[str, str]
    findings: list[Finding] = field(default_factory=list)

    @property
    def operators(self) -> list[str]:
        """The operators and patterns whose cases fail."""
        return sorted({finding.operator for finding in self.findings})

    @property
    def operator(self) -> str:
        """The names of the operators, preceded by the cause unless it is the name of an operator."""
        names = self.operators
        text = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} others" if len(names) > _NAMES else "")
        return text if names[0].startswith(self.cause) else f"{self.cause} ({text})"

    @property
    def simplest(self) -> Finding:
        """The failure with the shortest name."""
        return min(self.findings, key=lambda finding: (len(finding.name), finding.name))

    @property
    def title(self) -> str:
        """The cluster in one line."""
        parts = [f"{key} {value}" if key != "kind" else value for key, value in self.common.items()]
        return f"{self.operator}: {self.word}" + (f" ({', '.join(parts)})" if parts else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the cluster for JSON."""
        return {
            "operator": self.operator,
            "verdict": self.word,
            "common": self.common,
            "count": len(self.findings),
            "simplest": finding_dict(self.simplest),
        }


def clusters_of(findings: Iterable[Finding], tally: Tally | None = None) -> list[Cluster]:
    """Return the clusters, largest first. `tally`: all results, so that properties of every case can be left out."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_cause(finding), []).append(finding)
    found = [
        Cluster(cause, word, _common(part, tally), part)
        for (cause, word, *_), members in groups.items()
        for part in _split(members, tally)
    ]
    return sorted(found, key=lambda cluster: (cluster.cause, cluster.word, -len(cluster.findings)))


def _cause(finding: Finding) -> tuple[str, ...]:
    """Return the key that failures of one cluster share: a limit of the element type, or the location in the runtime
    that the message names, for any operator; or else the type of the operator, without its version, and its `_key`.
    """
    operator, word, special, *rest = _key(finding)
    for note in (NARROWED, ROUNDED, WRAPS):
        if note in finding.detail:
            return note, word
    kind = finding.facts.get("type", "")
    if word == "wrong" and kind == "f64" and (special in ("edges", "beyond") or _F64_INFINITY.search(finding.detail)):
        return _AS_F32, word
    if word == "error" and (places := _LOCATION.findall(finding.detail)):
        return places[-1], word
    layers = finding.facts.get("layers", "").split()
    type = operator if operator.startswith("graph.") else operator.rpartition("-")[0]
    if len(layers) == 1 and word != "refused":
        type = layers[0].rpartition("-")[0]
        return (type, word, special, *rest[:-1], "")
    category = category_of(type)
    if word == "shape" and category in _BROADCASTING and "empty" in finding.facts:
        return "empty inputs of elementwise layers", word
    return (f"{category} of NaN" if category == "comparison" and special == "edges" else type, word, special, *rest)


def _key(finding: Finding) -> tuple[str, ...]:
    """Return the key of a cluster: besides operator and verdict, the message of a refusal or crash, special values,
    and whether only a later call of a sequence fails.
    """
    special = finding.facts.get("data", "plain") if finding.word == "wrong" else ""
    later = "later call" if finding.call and finding.kind == "sequence" else ""
    message = signature(finding.detail) if finding.word in ("refused", "error", "crash") else ""
    kind = "integers" if finding.facts.get("type", "f32")[:1] in "iub" and finding.facts.get("type") != "bf16" else ""
    special = special if special in ("edges", "sparse", "wide", "far", "tails", "denormal", "beyond") else ""
    special = WRAPS if WRAPS in finding.detail else special
    special = finding.facts.get("forbidden", special)
    layers = finding.facts.get("layers", "") if finding.word != "refused" else ""
    return finding.operator, finding.word, special, later, message, kind, layers


def fault_of(finding: Finding) -> tuple[str, ...]:
    """Return the properties that a simpler case must share with a failure to show the same fault: its key, except for
    the kind of values, which need not be special.
    """
    operator, word, special, *rest = _key(finding)
    return operator, word, special if special in (WRAPS, finding.facts.get("forbidden")) else "", *rest


def _split(members: list[Finding], tally: Tally | None) -> Iterator[list[Finding]]:
    """Yield the failures with the attribute value that explains failures best, then the remaining failures.

    A value explains failures if most cases with this value fail, far more often than cases in general.
    """
    if tally is None or len(members) < _FEWEST:
        yield members
        return
    operator = members[0].operator
    if any(member.operator != operator for member in members):
        yield members
        return
    cases = sum(sum(counts.values()) for cell, counts in tally.cells.items() if cell.split("|")[0] == operator)
    best: tuple[float, str, str] | None = None
    for pair in {pair for member in members for pair in member.facts.items() if pair[0].startswith("attribute ")}:
        total = tally.values.get(f"{operator}|{pair[0].removeprefix('attribute ')}", {}).get(pair[1], 0)
        count = sum(member.facts.get(pair[0]) == pair[1] for member in members)
        rate = count / total if total else 0.0
        if not _FEWEST - 1 <= count < len(members) or rate < _MOSTLY or rate < _OFTENER * len(members) / max(1, cases):
            continue
        if best is None or (rate * count, *pair) > best:
            best = (rate * count, *pair)
    if best is None:
        yield members
        return
    _, key, value = best
    yield [member for member in members if member.facts.get(key) == value]
    yield from _split([member for member in members if member.facts.get(key) != value], tally)


def signature(message: str) -> str:
    """Return a message without its numbers."""
    found = message.rpartition("failed at")[0] or message
    return _NUMBERS.sub("N", found)[-_MESSAGE:]


def _common(members: Sequence[Finding], tally: Tally | None) -> dict[str, str]:
    first = members[0]
    found = {k: v for k, v in first.facts.items() if all(member.facts.get(k) == v for member in members)}
    if len(members) == 1 or (len(members) < _FEWEST and len({member.operator for member in members}) > 1):
        # Neither a single case nor two cases of different operators establish a common property.
        found = {key: value for key, value in found.items() if key in ("type", "data", "empty")}
    if all(member.kind == first.kind for member in members):
        found["kind"] = first.kind
    if members[0].call and all(member.call and member.kind == "sequence" for member in members):
        found["call"] = "later ones only"
    if found.get("data") == "plain":
        del found["data"]
    if tally is not None and all(member.operator == first.operator for member in members):
        found = {k: v for k, v in found.items() if not _has_only(tally, first.operator, k, v)}
    first_ones = [key for key in found if key in _FIRST or key.startswith("attribute")]
    named = [*first_ones, *(key for key in found if key not in first_ones)][:_MOST_COMMON]
    return {key: value for key, value in found.items() if key in named}


def _has_only(tally: Tally, operator: str, key: str, value: str) -> bool:
    """Return whether every case of the operator has this property, so that it explains nothing."""
    if key.startswith("attribute "):
        seen = tally.values.get(f"{operator}|{key.removeprefix('attribute ')}", {})
        return set(seen) == {value}
    if key in ("type", "kind"):
        place = 1 if key == "type" else 2
        return {cell.split("|")[place] for cell in tally.cells if cell.split("|")[0] == operator} == {value}
    return False
