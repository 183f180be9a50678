"""What assistants read: `SKILL.md` names every command with options that it has, and `llms.txt` points to pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irexec.cli.main import COMMANDS, command_parsers

ROOT = Path(__file__).parents[2]
SKILL = (ROOT / "SKILL.md").read_text("utf-8")
SHOWN = [text.split() for text in re.findall(r"`irexec ([a-z][^`]*)`", SKILL)]


def test_the_skill_names_every_command() -> None:
    assert {words[0] for words in SHOWN} == COMMANDS.keys()


@pytest.mark.parametrize("row", [line for line in SKILL.splitlines() if "`irexec " in line], ids=str)
def test_the_options_of_a_row_are_options_of_its_commands(row: str) -> None:
    helps = "".join(command_parsers([name])[1][name].format_help() for name in re.findall(r"`irexec (\w+)", row))
    assert {*re.findall(r"--[\w-]+", row)} <= {*re.findall(r"--[\w-]+", helps)}


def test_every_link_of_llms_txt_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "llms.txt").read_text("utf-8"))
    assert len(links) > 10 and all((ROOT / link).is_file() for link in links)
