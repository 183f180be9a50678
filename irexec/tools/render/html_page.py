"""The frame of an HTML page of tables: its style, and a policy that forbids scripts and other files."""

from __future__ import annotations

from html import escape

_STYLE = """
:root { color-scheme: light dark; --ok: #2a7d3b; --bad: #b3261e; --mid: #8a6100; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.2rem auto; max-width: 76rem; padding: 0 1rem; }
body { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left; white-space: nowrap; }
td.bad { color: var(--bad); font-weight: 600; } td.ok { color: var(--ok); } td.mid { color: var(--mid); }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; } summary { cursor: pointer; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; white-space: normal; }
"""


def html_page(title: str, body: str) -> str:
    """Return a page with a title; `body` is HTML."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )
