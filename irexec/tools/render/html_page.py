"""The frame of every HTML page: a head with a policy that forbids other files, and the style of pages of tables."""

from __future__ import annotations

import base64
import hashlib
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


def html_page(title: str, body: str, *, style: str = _STYLE, script: str = "") -> str:
    """Return a page with a title; `body` is HTML. Its security policy allows the script that it contains and no other.

    `style`: the style sheet, by default that of a page of tables.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src blob:; base-uri 'none'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="irexec">\n'
        f"<title>{escape(title)} · irexec</title>\n<style>{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
