"""Texts continued by the language models of folders: tokens, chat templates, and folders that cannot be used."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from irexec.cli.main import main

pytest.importorskip("regex")
SAMPLE = Path(__file__).parents[3] / "samples" / "text_to_text" / "model"


def generated(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> dict[str, object]:
    assert main(["generate", str(folder), "--prompt", "The sky", "--format", "json", *options]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> str:
    assert main(["generate", str(folder), "--prompt", "The sky", *options]) == 2
    return capsys.readouterr().err


def test_a_text_ends_with_its_last_token(capsys: pytest.CaptureFixture[str]) -> None:
    found = generated(capsys, SAMPLE)
    assert found["text"] == " is blue and the grass is green."
    assert found["ended"] is True
    assert found["memory"]["weights"] == 42062  # type: ignore[index]
    # Keys and values of one head of 16 numbers in f32, for each token except the last one.
    assert found["memory"]["cache"] == 2 * 16 * 4 * (4 + 17)  # type: ignore[index]


def test_a_text_is_cut_after_some_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    found = generated(capsys, SAMPLE, "--tokens", "3")
    assert len(found["tokens"]) == 3  # type: ignore[arg-type]
    assert found["ended"] is False
    assert main(["generate", str(SAMPLE), "--prompt", "The sky", "--tokens", "3"]) == 0
    assert "tokens per second; the text goes on" in capsys.readouterr().out


TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}{% endfor %}{% if add_generation_prompt %} is{% endif %}"
)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("chat_template.jinja", TEMPLATE),
        ("chat_template.json", json.dumps({"chat_template": TEMPLATE})),
        ("tokenizer_config.json", json.dumps({"chat_template": TEMPLATE})),
        ("tokenizer_config.json", json.dumps({"chat_template": [{"name": "default", "template": TEMPLATE}]})),
    ],
)
def test_a_chat_template_is_applied(file: str, text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    (folder / file).write_text(text)
    assert generated(capsys, folder)["text"] == " blue and the grass is green."
    assert generated(capsys, folder, "--raw")["text"] == " is blue and the grass is green."


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system message') }}",
        "{% if",
        "{{ messages.__class__.__mro__ }}",
        "{{ 1 / 0 }}",
        "{{ nothing.more }}",
        "{{ 'a' * 1000000000000 }}",
        "{{ 9 ** 9999999999 }}",
        "{{ '%9999999999d' % 1 }}",
        "{% for i in range(1000000000) %}a{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}a{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_fails(template: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    (folder / "chat_template.jinja").write_text(template)
    error = refused(capsys, folder)
    assert "error[U012]: the chat template fails" in error
    assert "chat_template.jinja" in error and "--raw" in error


def test_without_jinja2(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "irexec.tools.language.sandbox", raising=False)
    error = refused(capsys, folder)
    assert "error[F001]" in error and "'.[chat]'" in error and "--raw" in error
    assert generated(capsys, folder, "--raw")["text"] == " is blue and the grass is green."


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("openvino_tokenizer.xml", "the folder contains no openvino_tokenizer.xml"),
        ("openvino_model.xml", "the folder contains no model that generates text"),
        ("openvino_model.bin", "openvino_model.bin"),
    ],
)
def test_a_folder_without_a_part(missing: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / missing).unlink()
    assert message in refused(capsys, folder)


def test_without_a_detokenizer_tokens_are_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "openvino_detokenizer.xml").unlink()
    found = generated(capsys, folder, "--tokens", "2")
    assert found["text"] == " ".join(map(str, found["tokens"]))  # type: ignore[call-overload]


def test_there_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "error[U001]: there is no such folder" in refused(capsys, tmp_path / "missing")
    assert "no model that generates text" in refused(
        capsys, Path(shutil.copytree(SAMPLE, tmp_path / "b", ignore=lambda *_: ["openvino_model.xml"]))
    )


@pytest.mark.parametrize("text", ["[]", "{", '{"eos_token_id": "end"}', '{"eos_token_id": [0, "end"]}'])
def test_settings_of_another_form(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "generation_config.json").write_text(text)
    assert generated(capsys, folder, "--tokens", "2")["tokens"]


def test_an_empty_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", str(SAMPLE), "--prompt", ""]) == 2
    assert "error[U006]: the prompt has no tokens" in capsys.readouterr().err


@pytest.mark.by_hand(0)
def test_the_inputs_that_are_chosen_for_a_model_are_a_text_and_then_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(SAMPLE / "openvino_model.xml")
    assert main(["compare", model, "--with", model, "--format", "json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["chosen inputs"]
    assert chosen == (
        "input_ids [1,12], then [1,1]; attention_mask [1,12], then [1,13], then [1,14]; "
        "position_ids [1,12], then [1,1]; beam_idx [1]"
    )
