"""Clusters: failures that have an operator, a verdict and some property in common, with the simplest case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.model.arrays.brief import plural
from irexec.ops.spec.contents import category_of
from irexec.tools.conformance.results import Finding, Tally, finding_dict
from irexec.tools.conformance.titles import reason_of, title_of
from irexec.tools.conformance.verdict import NARROWED, ROUNDED, WRAPS

_AS_F32 = "f64 with values that f32 does not have"
_F64_INFINITY = re.compile(r"e\+3[78] instead of -?inf")
_BROADCASTING = frozenset({"arithmetic", "comparison", "logical", "bitwise"})
"""Categories of layers that runtimes compute with the same code."""
_NAMES, _MOST_COMMON = 3, 3
_ALWAYS = frozenset({"type", "data", "empty", "forbidden"})
"""Properties that may explain a single failure."""
_USUAL, _CHANCE = 0.4, 0.02
"""The share of all cases up to which a property may explain a single failure, and the probability up to which several
failures share a property by chance."""
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
        return title_of(self.cause, self.word, self.operators, self.common, self.simplest.detail)

    @property
    def counted(self) -> str:
        """The cluster and the number of its failures in one line."""
        return f"{self.title} ({plural(len(self.findings), 'case')})"

    def to_dict(self) -> dict[str, Any]:
        """Return the cluster for JSON."""
        return {
            "title": self.title,
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
        groups.setdefault(cause_of(finding), []).append(finding)
    found = [
        Cluster(cause, word, _common(part, tally), part)
        for (cause, word, *_), members in groups.items()
        for part in _split(members, tally)
    ]
    # Two clusters that a reader cannot tell apart are one.
    alike: dict[str, Cluster] = {}
    for cluster in found:
        alike.setdefault(cluster.title, cluster).findings.extend(
            () if cluster is alike[cluster.title] else cluster.findings
        )
    return sorted(alike.values(), key=lambda cluster: (cluster.cause, cluster.word, -len(cluster.findings)))


def cause_of(finding: Finding) -> tuple[str, ...]:
    """Return the key that failures of one cluster share: the reason in a message, or a limit of the element type, for
    any operator; or else the type of the operator, without its version, and its `_key`.
    """
    if finding.word in ("refused", "error"):
        return reason_of(finding.detail, _type_of(finding.operator)) or finding.operator, finding.word
    operator, word, special, *rest = _key(finding)
    for note in (NARROWED, ROUNDED, WRAPS):
        if note in finding.detail:
            return note, word
    kind = finding.facts.get("type", "")
    if word == "wrong" and kind == "f64" and (special in ("edges", "beyond") or _F64_INFINITY.search(finding.detail)):
        return _AS_F32, word
    layers = finding.facts.get("layers", "").split()
    type = _type_of(operator)
    if len(layers) == 1:
        type = layers[0].rpartition("-")[0]
        return (type, word, special, *rest[:-1], "")
    category = category_of(type)
    if word == "shape" and category in _BROADCASTING and "empty" in finding.facts:
        return "empty inputs of elementwise layers", word
    return (f"{category} of NaN" if category == "comparison" and special == "edges" else type, word, special, *rest)


def _type_of(operator: str) -> str:
    return operator if operator.startswith("graph.") else operator.rpartition("-")[0]


def _key(finding: Finding) -> tuple[str, ...]:
    """Return the key of a cluster: besides operator and verdict, the message of a refusal or crash, special values,
    and whether only a later call of a sequence fails.
    """
    special = finding.facts.get("data", "plain") if finding.word == "wrong" else ""
    later = "later call" if finding.call and finding.kind == "sequence" else ""
    message = reason_of(finding.detail) if finding.word in ("refused", "error", "crash") else ""
    kind = "integers" if finding.facts.get("type", "f32")[:1] in "iub" and finding.facts.get("type") != "bf16" else ""
    special = special if special in ("edges", "sparse", "wide", "far", "tails", "denormal", "beyond") else ""
    special = WRAPS if WRAPS in finding.detail else special
    special = finding.facts.get("forbidden", special)
    layers = finding.facts.get("layers", "") if finding.word != "refused" else ""
    return finding.operator, finding.word, special, later, message, kind, layers


def fault_of(finding: Finding) -> tuple[str, ...]:
    """Return the properties that a simpler case must share with a failure to show the same fault: its key, except for
    the kind of values, which need not be special, and the call, since a single call is simpler than a later one.
    """
    if finding.word in ("refused", "error"):
        return cause_of(finding)
    operator, word, special, _, *rest = _key(finding)
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


def _common(members: Sequence[Finding], tally: Tally | None) -> dict[str, str]:
    """Return the properties that all failures share and that are not shared by chance, the least frequent ones first.
    The reason of a refusal explains it.
    """
    first = members[0]
    facts = first.facts | {"kind": first.kind}
    found = {k: v for k, v in facts.items() if all((m.facts | {"kind": m.kind}).get(k) == v for m in members)}
    if first.word == "refused":
        found = {}
    elif len(members) == 1 or (len(members) < _FEWEST and len({member.operator for member in members}) > 1):
        # Neither a single case nor two cases of different operators establish a common property.
        found = {k: v for k, v in found.items() if k in _ALWAYS and (k, v) != ("data", "plain")}
    shares = {key: _share(tally, {m.operator for m in members}, key, value) for key, value in found.items()}
    exponent = 1 if len(members) == 1 else len(members)
    limit = _USUAL if len(members) == 1 else _CHANCE
    named = [key for key in sorted(found, key=lambda key: (shares[key], key)) if shares[key] ** exponent <= limit]
    common = {key: found[key] for key in named[:_MOST_COMMON]}
    if "forbidden" in found:
        common = {"forbidden": found["forbidden"]} | common
    if first.call and all(member.call and member.kind == "sequence" for member in members):
        common["call"] = "later ones only"
    return common


def _share(tally: Tally | None, operators: set[str], key: str, value: str) -> float:
    """Return the share of all cases of the operators that have this property; 0 if it is not known."""
    if tally is None:
        return 0.0
    cells = {cell: sum(counts.values()) for cell, counts in tally.cells.items() if cell.split("|")[0] in operators}
    if key in ("type", "kind"):
        place = 1 if key == "type" else 2
        count = sum(number for cell, number in cells.items() if cell.split("|")[place] == value)
    else:
        seen = tally.values if key.startswith("attribute ") else tally.facts
        name = key.removeprefix("attribute ")
        count = sum(seen.get(f"{operator}|{name}", {}).get(value, 0) for operator in operators)
    return count / max(1, sum(cells.values()))
