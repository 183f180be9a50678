"""`irexec completion`: what the shells do with it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from irexec.cli.completion import bash_script, commands, fish_script, zsh_script
from irexec.cli.main import COMMANDS, main


def completed(*words: str) -> set[str]:
    """What bash offers for the last of the words."""
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{bash_script()}COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _irexec; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes() -> None:
    assert completed("irexec", "va") == {"validate"}
    assert completed("irexec", "") == set(COMMANDS)
    assert completed("irexec", "validate", "--sta") == {"--statistics"}
    assert completed("irexec", "validate", "--format", "") >= {"text", "concise", "json"}
    assert completed("irexec", "run", "--mode", "s") == {"strict"}


def test_every_command_and_option_is_known() -> None:
    known = commands()
    assert set(known) == set(COMMANDS)
    fish = fish_script()
    for name, (_, options) in known.items():
        for option in options:
            assert all(f"-l {spelling[2:]}" in fish for spelling in option.names), (name, option)
    assert zsh_script().endswith(bash_script())


def test_a_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == bash_script()
