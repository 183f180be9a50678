"""Provenance: the entries of a model's rt_info, such as the programs, versions and settings that made it.

Secrets are hidden, because summaries are published; paths of machines are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from irexec.tools.inspect.facts import Mark, Provenance

# The forms of access tokens, private keys and addresses with a password.
_SECRET = re.compile(
    r"\b(?:hf_|gh[oprsu]_|github_pat_|glpat-|sk-|xox[abp]-|AKIA|ASIA)[\w-]{16}"
    r"|\beyJ[\w-]{10,99}+\.[\w-]{10}|-----BEGIN |://[^\s/:@]{1,64}+:[^\s/@]{1,64}+@"
)
_NAMES_OF_SECRETS = re.compile(
    r"token|secret|passw(?:or)?d|credentials?"
    r"|(?:.*[_-])?(?:(?:api|access|private|secret|auth)[_-]?key|(?:api|access|auth|hf)[_-]?token|password|secret)",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(r"[\d.]*|true|false|none|null", re.IGNORECASE)
# Layers of ONNX have names such as /model/layers.0/MatMul: a path begins with a folder that machines have.
_PATH = re.compile(
    r"(?<![\w./])/(?:home|Users|root|tmp|mnt|media|opt|srv|usr|var|private|Volumes|workspaces?|nfs|scratch)/[^\s/]"
    r"|(?<!\w)[A-Za-z]:[\\/][^\s\\/]|\\\\\w+\\\w|\bfile://"
)
_SHOWN_OF_SECRET, _LONG_SECRET = 4, 16
"""How many characters of a secret are shown, which name its kind, if it has more characters than the second number."""


def provenance(info: Mapping[str, Any]) -> list[Provenance]:
    """Return the entries of a model's rt_info, in their order."""
    return [_entry(path, str(value)) for path, value in _leaves(info, ())]


def _leaves(info: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in info.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def _entry(path: tuple[str, ...], value: str) -> Provenance:
    if _is_secret(path[-1], value):
        shown = value[:_SHOWN_OF_SECRET] if len(value) > _LONG_SECRET else ""
        return Provenance([*path], f"{shown}...", Mark.SECRET)
    return Provenance([*path], value, Mark.PATH if _PATH.search(value) else None)


def _is_secret(key: str, value: str) -> bool:
    if _NAMES_OF_SECRETS.fullmatch(key) and not _NO_SECRET.fullmatch(value):
        return True
    return _SECRET.search(value) is not None
