"""The report as a text: what is in it, how large it is, and that nothing of a model is markup or script in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.drawable import HOSTILE, stacked

from irexec.cli.main import main
from irexec.show.report.data import Texts, script_text
from irexec.show.report.page import report_page
from irexec.survey.survey import survey

SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = SAMPLES / "classifier" / "model.xml"


class Reader(HTMLParser):
    """The elements of a page as a browser finds them: tags, attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.policy = ""
        self._script: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        given = dict(attributes)
        if tag == "script":
            self._script = given
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts.append((self._script, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    @property
    def data(self) -> dict:
        return next(json.loads(text) for given, text in self.scripts if given.get("type") == "application/json")


def test_the_file_needs_nothing_else_and_runs_only_its_own_script() -> None:
    page = Reader(report_page(survey(stacked(12))))
    assert "link" not in page.tags and "img" not in page.tags and "iframe" not in page.tags
    assert not {"src", "onclick", "onload", "style"} & page.attributes
    script = next(text for given, text in page.scripts if not given)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_texts(name: str) -> None:
    usual = Reader(report_page(survey(stacked(8, "plain"))))
    page = Reader(report_page(survey(stacked(8, name))))
    assert page.tags == usual.tags
    assert page.attributes == usual.attributes
    assert [layer["n"] for layer in page.data["layers"] if layer["n"].endswith("relu")] == [name + "relu"] * 8


def test_the_script_never_makes_markup_of_a_text() -> None:
    script = (Path(report_page.__code__.co_filename).parent / "model.js").read_text("utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\.href\s*=", script
    )


def test_json_in_a_script_cannot_end_it() -> None:
    text = script_text({"x": "</script><!--&\u2028"})
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == {"x": "</script><!--&\u2028"}


def test_texts_that_repeat_stand_once() -> None:
    texts = Texts()
    assert [texts("a"), texts("b"), texts("a")] == [0, 1, 0]
    assert texts.table == ["a", "b"]


def test_five_thousand_layers_fit_into_three_megabytes() -> None:
    found = survey(stacked(500, "model/decoder/layers.{}/mlp/"))
    assert len(found.layers) > 5000
    text = report_page(found)
    assert len(text.encode()) < 3e6
    assert len({layer["n"] for layer in Reader(text).data["layers"]}) > 3500


def test_the_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.html"
    assert main(["report", str(MODEL), "-o", str(output)]) == 0
    assert capsys.readouterr().out.startswith(str(output))
    data = Reader(output.read_text("utf-8")).data
    assert data["name"] == "classifier"
    assert data["described"]["SoftMax-8"][1].endswith("/activation/softmax-8.html")


def test_what_was_observed_is_laid_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(MODEL), "--trace", "--json"]) == 0
    trace, compare, diff = (tmp_path / f"{name}.json" for name in ("trace", "compare", "diff"))
    trace.write_text(capsys.readouterr().out)
    layers = [
        {"name": "head", "type": "MatMul", "agrees": False, "own": {"ulp": 12.0}, "total": {"ulp": 40.0}},
        {"name": "mean", "type": "ReduceMean", "agrees": True, "own": {"ulp": 1.0}},
    ]
    compare.write_text(
        json.dumps({"kind": "compare", "other": "openvino", "verdict": "head differs", "layers": layers})
    )
    changes = [{"change": "attribute", "a": "mean", "b": "mean", "text": "keep_dims: false, true"}]
    diff.write_text(json.dumps({"kind": "diff", "a": "a.xml", "b": "b.xml", "changes": changes}))
    output = tmp_path / "out.html"
    options = ["--trace", str(trace), "--compare", str(compare), "--diff", str(diff)]
    assert main(["report", str(MODEL), "-o", str(output), *options]) == 0
    data = Reader(output.read_text("utf-8")).data
    found = {overlay["key"]: overlay for overlay in data["overlays"]}
    assert {"memory", "time", "magnitude", "error", "diff"} <= {"memory"} | found.keys()
    index = {layer["n"]: str(number) for number, layer in enumerate(data["layers"])}
    assert found["error"]["marks"][index["head"]] == [1.0, "own 12 ulp, total 40 ulp", "✖"]
    assert found["diff"]["marks"][index["mean"]][1:] == ["keep_dims: false, true", "±"]
    assert len(found["time"]["marks"]) > 15
    assert "head differs" in data["told"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is no JSON"),
        ('{"kind": "model"}', "it holds no trace"),
        ("[1]", "it is not what"),
        ('{"kind": "diff", "a": "x"}', "b: Field required"),
    ],
)
def test_a_file_that_was_not_printed_by_a_command_is_refused(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert main(["report", str(MODEL), "-o", str(tmp_path / "out.html"), "--trace", str(path)]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


def test_a_file_that_cannot_be_written_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(MODEL), "-o", str(tmp_path / "no" / "out.html")]) == 2
    assert "U007" in capsys.readouterr().err
