"""Known failures: a file that lists them with a reason, a link and an expiry date."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from irexec.ir.beside import Unreadable, read_toml
from irexec.tools.conformance.results import Finding


@dataclass
class Known:
    """A known failure: a pattern of case names, and optionally the verdict that is expected."""

    case: str
    reason: str
    verdict: str = ""
    link: str = ""
    expires: datetime.date | None = None
    met: int = 0

    def covers(self, finding: Finding) -> bool:
        """Return whether a failure matches this entry."""
        return fnmatch.fnmatchcase(finding.name, _literal(self.case)) and self.verdict in ("", finding.word)


def _literal(pattern: str) -> str:
    """Return a pattern in which brackets, as in shapes, stand for themselves."""
    return pattern.replace("[", "[[]")


def read_baseline(text: str) -> list[Known]:
    """Read a baseline: tables `[[known]]` with `case` and `reason`. Raises Unreadable."""
    entries = read_toml(text).get("known", [])
    if not isinstance(entries, list):
        raise Unreadable("`known` is not a list of tables")
    return [_known(entry, number) for number, entry in enumerate(entries, 1)]


def _known(entry: Any, number: int) -> Known:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("case"), str)
        or not isinstance(entry.get("reason"), str)
    ):
        raise Unreadable(f"entry {number} needs the strings `case` and `reason`")
    unknown = set(entry) - {"case", "reason", "verdict", "link", "expires"}
    if unknown:
        raise Unreadable(f"entry {number} has the unknown key {min(unknown)!r}")
    for key in ("verdict", "link"):
        if not isinstance(entry.get(key, ""), str):
            raise Unreadable(f"entry {number}: `{key}` must be a string")
    expires = entry.get("expires")
    if expires is not None and type(expires) is not datetime.date:
        raise Unreadable(f"entry {number}: `expires` must be a date such as 2027-01-31")
    return Known(entry["case"], entry["reason"], entry.get("verdict", ""), entry.get("link", ""), expires)


def unexpected(findings: Iterable[Finding], known: list[Known], today: datetime.date) -> list[Finding]:
    """Return the failures that no valid entry covers; each entry counts the failures that it covers."""
    found = []
    for finding in findings:
        covering = [entry for entry in known if entry.covers(finding)]
        for entry in covering:
            entry.met += 1
        if not any(entry.expires is None or entry.expires >= today for entry in covering):
            found.append(finding)
    return found


def unmet(known: Iterable[Known], operators: Iterable[str]) -> list[str]:
    """Return the entries without a failure, if cases of an operator that they name were run."""
    ran = [*operators]
    return [
        entry.case
        for entry in known
        if not entry.met and any(fnmatch.fnmatchcase(name, _literal(entry.case.partition("/")[0])) for name in ran)
    ]
