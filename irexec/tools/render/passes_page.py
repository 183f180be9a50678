"""The passes of OpenVINO's compiler as an HTML page: the model through all passes that changed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape

from irexec.tools.compare.errors import off, shown_part
from irexec.tools.diff.change import Change
from irexec.tools.passes.result import Outcome, Pass, PassesFound
from irexec.tools.render.html_page import html_page

_WORDS: dict[Outcome, tuple[str, str]] = {
    "same": ("ok", "keeps the results"),
    "rounding": ("ok", "other rounding"),
    "precision": ("mid", "other precision"),
    "wrong": ("bad", "wrong"),
    "unknown": ("mid", "not run"),
}


def passes_page(found: PassesFound, layer: str | None = None) -> str:
    """Return the page. `layer`: the layer to follow, by default the first one that a wrong pass changes.

    A layer is followed under the names that passes give it, and until a pass removes it.
    """
    followed = {layer} if layer is not None else _changed(found)
    rows = "".join(_pass(one, followed) for one in found.passes)
    about = f"<p>Layer followed: <code>{escape(', '.join(sorted(followed)))}</code></p>" if followed else ""
    body = (
        f"<h1>{escape(found.verdict)}</h1><p>{escape(found.runtime)}</p><p>{escape(_kernels(found))}</p>{about}{rows}"
    )
    return html_page("Passes", body)


def _changed(found: PassesFound) -> set[str]:
    """Return the name of the first layer that the first wrong pass changes."""
    names = (
        name for one in found.wrong[:1] for change in one.changes for pair in change.pairs for name in pair if name
    )
    return {*list(names)[:1]}


def _pass(one: Pass, followed: set[str]) -> str:
    kind, word = _WORDS[one.outcome]
    error = f", result {one.output} is {off(one.error)}" if one.outcome == "wrong" else ""
    error = f" ({shown_part(one.error)})" if one.outcome in ("rounding", "precision") and one.error else error
    restored = ", restores the results of the model" if one.restored else ""
    reason = f": {one.reason}" if one.reason else ""
    # The name under which a pass leaves the layer is followed in the next ones.
    rows = "".join(_row(change, followed) for change in one.changes)
    is_open = " open" if one.outcome == "wrong" or any(_concerns(change, followed) for change in one.changes) else ""
    table = f"<table><tr><th>before</th><th>after</th><th>change</th></tr>{rows}</table>" if rows else ""
    title = f'{one.number} {escape(one.name)}: <span class="{kind}">{escape(word + error + restored + reason)}</span>'
    return f'<details{is_open}><summary>{title}</summary><div class="scroll">{table}</div></details>'


def _row(change: Change, followed: set[str]) -> str:
    mark = ' class="bad"' if _concerns(change, followed) else ""
    for before, after in change.pairs:
        if before in followed and after is not None:
            followed.add(after)
    names = [", ".join(names) for names in zip(*_shown(change), strict=True)]
    cells = "".join(f"<td{mark}>{escape(text)}</td>" for text in (*names, change.text))
    return f"<tr>{cells}</tr>"


def _concerns(change: Change, followed: Collection[str]) -> bool:
    return any(name in followed for pair in change.pairs for name in pair)


_FEW = 8


def _shown(change: Change) -> Iterator[tuple[str, str]]:
    for before, after in change.pairs[:_FEW]:
        yield before or "", after or ""


def _kernels(found: PassesFound) -> str:
    agrees = found.kernels.agrees
    if agrees is None:
        return f"The kernels were not judged: {found.kernels.reason}"
    what = found.kernels.reason or off(found.kernels.error)
    return "The kernels agree with the last graph." if agrees else f"The kernels are wrong: {what}."
