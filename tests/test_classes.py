"""The classes of irexec are those that their modules define: no import of another module changes one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.layers import LAYER
from support.sources import ROOT, sources
from support.waiting import PATIENCE

pytestmark = pytest.mark.any_python

# Imports the modules in the order given, and compares each class with the one that its module defined.
PROGRAM = """
import importlib, json, sys

def classes(module):
    return [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]

CACHES = ("__abstractmethods__", "_abc_impl", "__doc__", "__pydantic", "__signature__")

def attributes(cls):
    # A record writes its methods when one is first called (irexec/core/records.py): their names stay.
    written_later = hasattr(cls, "_record_fields") or hasattr(cls, "_fields")
    return {n: 0 if written_later else id(value) for n, value in vars(cls).items() if not n.startswith(CACHES)}

defined, missing = {}, []
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # The package of an extra may not be installed.
        if error.name is None or error.name.split(".")[0] == "irexec":
            missing.append(f"{name}: {error}")
    for module in [m for n, m in list(sys.modules.items()) if n.split(".")[0] == "irexec" and n not in defined]:
        defined[module.__name__] = [(cls, attributes(cls)) for cls in classes(module)]
changed = [
    f"{cls.__module__}.{cls.__qualname__}: {sorted(before.items() ^ attributes(cls).items())}"
    for found in defined.values() for cls, before in found if before != attributes(cls)
]
print(json.dumps([sum(map(len, defined.values())), changed, missing]))
"""


def modules_by_layer() -> list[str]:
    """Return all modules, those of lower layers first, so that a class is recorded before a higher one can
    change it.
    """
    found = [source for source in sources("irexec") if source.module != "irexec.__main__"]
    return [source.module for source in sorted(found, key=lambda source: LAYER.get(source.package, -1))]


def test_no_class_changes_after_its_definition() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(modules_by_layer()),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    count, changed, missing = json.loads(run.stdout)
    assert changed == []
    assert missing == []
    assert count > 500
