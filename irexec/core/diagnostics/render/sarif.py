"""The report as SARIF 2.1.0, the exchange format of code scanning services and editors.

Form: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.diagnostic import Diagnostic, Place, Report
from irexec.core.diagnostics.fix import Fix
from irexec.core.diagnostics.render.notes import notes
from irexec.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


_SPECIAL = re.compile(r"[{}\[\]\\]")
ADDRESS = "https://github.com/irexec/irexec"
"""The project's address, as its package states it."""


def chunks(report: Report, *, color: bool = False) -> Iterator[str]:
    """Yield the pieces of the SARIF log; `color` is ignored."""
    yield json.dumps(_log(report), indent=2)
    yield "\n"


def _log(report: Report) -> dict[str, Any]:
    codes = sorted({diagnostic.code for diagnostic in report})
    rank = {code: index for index, code in enumerate(codes)}
    run: dict[str, Any] = {
        "tool": {"driver": _driver(codes)},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(diagnostic, rank[diagnostic.code], fingerprint)
            for diagnostic, fingerprint in zip(report, _fingerprints(report), strict=True)
        ],
    }
    if report.left_out:
        run["properties"] = {"leftOut": {code: count for (_, code), count in sorted(report.left_out.items())}}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(codes: list[str]) -> dict[str, Any]:
    return {
        "name": "irexec",
        "version": __version__,
        "informationUri": ADDRESS,
        "rules": [_rule(code) for code in codes],
    }


def _fingerprints(report: Report) -> Iterator[str]:
    """Yield a text for each finding that stays the same when lines move, to distinguish new from known findings."""
    seen: Counter[str] = Counter()
    for found in report:
        layer = found.layer.name if found.layer is not None else ""
        file = None if found.file is None else _seen_from_here(found.file).as_posix()
        parts = (found.code, file, layer, found.port, found.attribute, found.found)
        digest = sha256("\0".join(part or "" for part in parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        seen[digest] += 1
        yield f"{digest}:{seen[digest]}"


def _rule(code: str) -> dict[str, Any]:
    info = CODES[code]
    openvino = f" OpenVINO: {info.openvino}." if info.openvino else ""
    return {
        "id": code,
        "shortDescription": _text(info.title),
        "fullDescription": _text(f"{info.title[0].upper()}{info.title[1:]}.{openvino}"),
        "helpUri": f"{ADDRESS}/blob/main/docs/codes/{code}.md",
        "help": _text(f"{info.title}.{openvino} `irexec explain {code}` shows details and an example."),
        "defaultConfiguration": {"level": str(info.severity)},
    }


def _result(diagnostic: Diagnostic, rule_index: int, fingerprint: str) -> dict[str, Any]:
    lines = [diagnostic.message, *(f"{label}: {text}" for label, text in notes(diagnostic))]
    location = _location(diagnostic.place)
    if diagnostic.layer is not None:
        location["logicalLocations"] = [{"name": diagnostic.layer.name, "kind": "element"}]
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule_index,
        "level": str(diagnostic.severity),
        "message": _text("\n".join(lines)),
        "locations": [location] if location else [],
        "partialFingerprints": {"irexec/v1": fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": index, "message": _text(related.message), **_location(related.place)}
            for index, related in enumerate(diagnostic.related)
        ]
    if diagnostic.fixes and diagnostic.place.file is not None:
        result["fixes"] = [_fix(fix, diagnostic.place.file) for fix in diagnostic.fixes]
    return result


def _fix(fix: Fix, file: str) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": edit.begin[0],
                "startColumn": edit.begin[1],
                "endLine": edit.end[0],
                "endColumn": edit.end[1],
            },
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    change = {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
    return {"description": _text(f"{fix.title} ({fix.safety})"), "artifactChanges": [change]}


def _location(place: Place) -> dict[str, Any]:
    if place.file is None:
        return {}
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line is not None:
        region: dict[str, Any] = {"startLine": place.line}
        if place.column is not None:
            region |= {"startColumn": place.column, "endColumn": place.column + max(place.length, 1)}
        physical["region"] = region
    return {"physicalLocation": physical}


def _text(text: str) -> dict[str, str]:
    """Return a message in which no text is a placeholder (section 3.11.5: braces are doubled) or a link (section
    3.11.6: brackets and backslashes are escaped).
    """
    return {"text": _SPECIAL.sub(lambda found: found[0] * 2 if found[0] in "{}" else f"\\{found[0]}", text)}


def _uri(file: str) -> str:
    """Return a path as a URI: a relative reference for a file below the current folder, from which services find it in
    their own checkout, and otherwise an absolute path with the scheme `file`.
    """
    path = _seen_from_here(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix().encode("utf-8", "surrogateescape"))


def _seen_from_here(file: str) -> Path:
    """Return a path relative to the current folder if the file is below it."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
