"""Old names of modules: they lead to the present module, with a warning at the line that imports it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.api.aliases import _RENAMED


@pytest.mark.parametrize("old", [*_RENAMED, "irexec.mend.replacing", "irexec.trust.diff"])
def test_an_old_name_is_the_present_module(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"^{old} was renamed to irexec") as caught:
        module = importlib.import_module(old)
    assert module.__name__ in str(caught[-1].message)
    assert module is importlib.import_module(module.__name__)


@pytest.mark.parametrize("line", ["from irexec import farm", "import irexec.farm", "from irexec.farm import gather"])
def test_the_warning_names_the_line_of_the_user(line: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import irexec\n{line}\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert f"{script}:2: DeprecationWarning: irexec.farm was renamed to irexec.tools.parallel" in done.stderr


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("irexec.ops.compute.never")
