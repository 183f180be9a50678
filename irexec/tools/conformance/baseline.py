"""Known failures: a file that lists them with a reason, a link and an expiry date."""

from __future__ import annotations

import datetime
import fnmatch
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from irexec.tools.conformance.results import Finding


class UnreadableBaseline(ValueError):
    """Raised for a file that is not a baseline."""


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
    """Read a baseline: tables `[[known]]` with `case` and `reason`. Raises UnreadableBaseline."""
    try:
        entries = tomllib.loads(text).get("known", [])
    except tomllib.TOMLDecodeError as error:
        raise UnreadableBaseline(str(error)) from None
    return [_known(entry, number) for number, entry in enumerate(entries, 1)]


def _known(entry: Any, number: int) -> Known:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("case"), str)
        or not isinstance(entry.get("reason"), str)
    ):
        raise UnreadableBaseline(f"entry {number} needs the strings `case` and `reason`")
    unknown = set(entry) - {"case", "reason", "verdict", "link", "expires"}
    if unknown:
        raise UnreadableBaseline(f"entry {number} has the unknown key {min(unknown)!r}")
    expires = entry.get("expires")
    if expires is not None and not isinstance(expires, datetime.date):
        raise UnreadableBaseline(f"entry {number}: `expires` must be a date such as 2027-01-31")
    return Known(entry["case"], entry["reason"], entry.get("verdict", ""), entry.get("link", ""), expires)


def unexpected(findings: Iterable[Finding], known: list[Known], today: datetime.date) -> list[Finding]:
    """Return the failures that no valid entry covers; each entry counts the failures that it covers."""
    found = []
    for finding in findings:
        entry = next((k for k in known if k.covers(finding)), None)
        if entry is not None:
            entry.met += 1
        if entry is None or (entry.expires is not None and entry.expires < today):
            found.append(finding)
    return found
