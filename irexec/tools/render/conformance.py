"""Results of a campaign as text and as HTML: the table, the clusters, the comparison, the scoreboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from irexec.core.diagnostics.render.characters import visible_text
from irexec.model.arrays.brief import plural
from irexec.tools.render.html_page import html_page

Json = Mapping[str, Any]
_FAILED = ("wrong", "shape", "type", "error", "crash", "hang")
_WIDTH, _FEW, _MANY = 150, 5, 20
_LISTED = {"refusals": "refused legal case", "accepted": "accepted forbidden case", "open": "open case"}


def conformance_text(found: Json, *, has_baseline: bool = False) -> str:
    """Return the results for a terminal."""
    totals, coverage = found["totals"], found["coverage"]
    failed = sum(totals.get(word, 0) for word in _FAILED)
    lines = [f"{_title(found)}: {plural(coverage['cases'], 'case')}, seed {found['seed']}"]
    lines += ["", *(f"  {number:>8,}  {word}" for word, number in sorted(totals.items(), key=lambda p: -p[1]))]
    lines += ["", "covered:"]
    lines += [f"  {number:>8,}  {what}" for what, number in coverage.items() if what != "cases"]
    if found["clusters"]:
        lines += ["", f"{plural(failed, 'failure')} in {plural(len(found['clusters']), 'cluster')}:"]
    for cluster in found["clusters"]:
        simplest = cluster["simplest"]
        lines += ["", f"{cluster['title']}: {plural(cluster['count'], 'case')}"]
        lines += [f"  {simplest['case']}", f"  {simplest['detail'][:_WIDTH]}"]
        lines += [f"  {cluster['cause'][:_WIDTH]}"] if "cause" in cluster else []
        if "script" in cluster:
            lines += [f"  reduced to {cluster['reproducer']}", f"  {cluster['script']}"]
    for key, what in _LISTED.items():
        if clusters := found.get(key, []):
            lines += ["", f"{plural(sum(c['count'] for c in clusters), what)} in {plural(len(clusters), 'cluster')}:"]
            largest = sorted(clusters, key=lambda cluster: -cluster["count"])[:_FEW]
            lines += [f"  {cluster['count']:>5,}  {cluster['title']}" for cluster in largest]
            lines += ["         ..."] if len(clusters) > _FEW else []
    if has_baseline and found["unexpected"]:
        lines += ["", f"{plural(len(found['unexpected']), 'failure')} not in the baseline"]
    for entry in found.get("unmet", []):
        lines.append(f"unexpected pass: no failure matches the baseline entry {entry}")
    return "".join(f"{visible_text(line)}\n" for line in lines)


def conformance_page(found: Json) -> str:
    """Return the results as an HTML page: operators by element types and kinds of shapes, and the clusters."""
    members: dict[str, list[Json]] = {}
    for finding in found["findings"]:
        if finding["verdict"] != "open":
            members.setdefault(finding["operator"], []).append(finding)
    cells: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    kinds: list[str] = []
    for cell in found["cells"]:
        cells.setdefault((cell["operator"], cell["type"]), {})[cell["kind"]] = cell["verdicts"]
        kinds += [cell["kind"]] if cell["kind"] not in kinds else []
    kinds.sort()
    rows = [
        f"<tr><td>{_linked(operator, members)}</td><td>{escape(type)}</td>"
        f"{''.join(_cell(own.get(kind)) for kind in kinds)}</tr>"
        for (operator, type), own in sorted(cells.items())
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("operator", "type", *kinds))
    totals = ", ".join(f"{number:,} {escape(word)}" for word, number in found["totals"].items())
    reached = ", ".join(f"{number:,} {escape(what)}" for what, number in found["coverage"].items())
    body = [
        f"<h1>Conformance of {escape(_title(found))}</h1><p>{totals}</p><p>Reached: {reached}</p>",
        "<h2>Clusters of failures</h2>",
        *map(_cluster, found["clusters"]),
        *(
            f"<h2>{escape(what.capitalize())}s</h2>{''.join(map(_cluster, found[key]))}"
            for key, what in _LISTED.items()
            if found.get(key)
        ),
        f'<h2>Operators</h2><div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>',
        "<h2>Cases that did not pass</h2>",
        *(_cases(operator, findings) for operator, findings in sorted(members.items())),
    ]
    return html_page(f"Conformance of {_title(found)}", "".join(body))


def _title(found: Json) -> str:
    return " on ".join(filter(None, (found["runtime"], found["processor"])))


def _linked(operator: str, members: Mapping[str, Sequence[Json]]) -> str:
    """Return the operator, with a link to its cases that did not pass."""
    return f'<a href="#{escape(operator)}">{escape(operator)}</a>' if operator in members else escape(operator)


def _cases(operator: str, findings: Sequence[Json]) -> str:
    """Return the cases of an operator that did not pass, failures first."""
    ranked = sorted(findings, key=lambda finding: (finding["verdict"] not in _FAILED, len(finding["case"])))
    items = "".join(
        f"<li>{escape(f['verdict'])}: <code>{escape(f['case'])}</code><br>{escape(f['detail'][:_WIDTH])}</li>"
        for f in ranked[:_MANY]
    )
    more = f"<p>{len(ranked) - _MANY} more</p>" if len(ranked) > _MANY else ""
    head = f"<summary>{escape(operator)}: {len(ranked)}</summary>"
    return f'<details id="{escape(operator)}">{head}<ul>{items}</ul>{more}</details>'


def _cell(verdicts: Mapping[str, int] | None) -> str:
    if not verdicts:
        return "<td></td>"
    failed, total = sum(verdicts.get(word, 0) for word in _FAILED), sum(verdicts.values())
    kind = "bad" if failed else "mid" if verdicts.get("refused") else "ok"
    title = ", ".join(f"{number} {word}" for word, number in verdicts.items())
    return f'<td class="{kind}" title="{escape(title)}">{total - failed}/{total}</td>'


def _cluster(cluster: Json) -> str:
    simplest = cluster["simplest"]
    script = f"<p>{escape(cluster['cause'])}</p>" if "cause" in cluster else ""
    if "script" in cluster:
        link = f'<a href="{escape(cluster["script"])}">reproducer</a>'
        script += f"<p>{link}: <code>{escape(cluster['reproducer'])}</code></p>"
    return (
        f"<details><summary>{escape(cluster['title'])}: {cluster['count']}</summary>"
        f"<p><code>{escape(simplest['case'])}</code></p><p>{escape(simplest['detail'])}</p>{script}</details>"
    )


def scoreboard_text(table: Json) -> str:
    """Return a table for a terminal: failures of the cases of each operator, by runtime and processor."""
    heads = [("operator", *table["runtimes"]), ("processor", *table["processors"])]
    rows = [*heads, *((operator, *row) for operator, row in table["operators"].items())]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, wide, strict=True)).rstrip() for row in rows)
    return "".join(f"{visible_text(line)}\n" for line in lines)


def scoreboard_page(table: Json) -> str:
    """Return the same table as an HTML page."""
    names, processors, rows = table["runtimes"], table["processors"], table["operators"]
    head = "</tr><tr>".join(
        "".join(f"<th>{escape(name)}</th>" for name in line)
        for line in (("operator", *names), ("processor", *processors))
    )
    body = "".join(
        f"<tr><td>{escape(operator)}</td>"
        + "".join(f'<td class="{"ok" if c.startswith("0/") else "bad" if c else ""}">{escape(c)}</td>' for c in row)
        + "</tr>"
        for operator, row in rows.items()
    )
    return html_page(
        "Conformance", f'<h1>Conformance</h1><div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
    )


def comparison_text(found: Mapping[str, Sequence[str]], tallies: Sequence[Any]) -> str:
    """Return the new and the fixed failures, for a terminal."""
    before, after = (tally.title for tally in tallies)
    lines = [f"{before} compared with {after}"]
    heads = {"broke": "fails only in the second", "mended": "fails only in the first", "both": "fails in both"}
    for key, head in heads.items():
        lines += ["", f"{head}: {len(found[key])}", *(f"  {title}" for title in found[key])]
    return "".join(f"{visible_text(line)}\n" for line in lines)
