"""The report as a text: its content, its size, and that no text of a model becomes markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.drawable import HOSTILE, altered, stacked

from irexec.cli.main import main
from irexec.tools.inspect.observed import Comparison, Trace
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.report.data import Texts, packed
from irexec.tools.render.report.page import report_page

SAMPLES = Path(__file__).parents[3] / "samples"
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
        return unpacked(next(text for given, text in self.scripts if given.get("type") == "text/plain"))


def unpacked(text: str) -> dict:
    """Return the data that the page's script reads."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_the_file_needs_nothing_else_and_runs_only_its_own_script() -> None:
    page = Reader(report_page([summarize(stacked(12))]))
    assert "link" not in page.tags and "img" not in page.tags and "iframe" not in page.tags
    assert not {"src", "onclick", "onload", "style"} & page.attributes
    script = next(text for given, text in page.scripts if not given)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")


def test_layers_are_there_in_the_text_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(MODEL), "-o", str(tmp_path / "page.html")]) == 0
    layers = Reader((tmp_path / "page.html").read_text("utf-8")).data["layers"]
    capsys.readouterr()
    assert main(["show", str(MODEL), *(word for layer in layers for word in ("--layer", layer["n"]))]) == 0
    assert sorted(layer["x"] for layer in layers) == sorted(capsys.readouterr().out.splitlines())


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_texts(name: str) -> None:
    usual = Reader(report_page([summarize(stacked(8, "plain"))]))
    page = Reader(report_page([summarize(stacked(8, name))]))
    assert page.tags == usual.tags
    assert page.attributes == usual.attributes
    assert [layer["n"] for layer in page.data["layers"] if layer["n"].endswith("relu")] == [name + "relu"] * 8


def test_the_script_never_makes_markup_of_a_text() -> None:
    scripts = list(Path(report_page.__code__.co_filename).parent.glob("*.js"))
    assert len(scripts) > 3
    for script in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|\.href\s*=",
            script.read_text("utf-8"),
        )


def test_facts_in_the_page_cannot_be_markup() -> None:
    facts = {"x": "</script><!--&\u2028"}
    text = packed(facts)
    assert re.fullmatch("[A-Za-z0-9+/=]+", text)
    assert unpacked(text) == facts


def test_repeated_texts_are_stored_once() -> None:
    texts = Texts()
    assert [texts("a"), texts("b"), texts("a")] == [0, 1, 0]
    assert texts.table == ["a", "b"]


@pytest.mark.in_ci("lays out 5,000 layers")
def test_five_thousand_layers_fit_into_three_megabytes() -> None:
    found = summarize(stacked(500, "model/decoder/layers.{}/mlp/"))
    assert len(found.layers) > 5000
    histogram = {"edges": [n / 32 for n in range(33)], "counts": [n * 7919 % 4001 for n in range(32)]}
    output = {"element_type": "f32", "shape": [1, 8], "min": 0.1234567, "max": 0.7654321, "histogram": histogram}
    names = [(n, layer.name) for n, layer in enumerate(found.layers)]
    rows = [{"name": name, "type": "", "seconds": 1.0001**n * 1e-6, "outputs": [output]} for n, name in names]
    errors = [{"name": name, "type": "", "agrees": n % 3 > 0, "own": {"ulp": n / 7}} for n, name in names]
    observed = [Trace(kind="model", trace=rows), Comparison(kind="compare", layers=errors)]
    text = report_page([found], observed)
    assert len(text.encode()) < 3e6
    assert {o["key"] for o in Reader(text).data["overlays"]} == {"work", "memory", "time", "magnitude", "error"}
    assert len({layer["n"] for layer in Reader(text).data["layers"]}) > 3500


def test_the_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.html"
    assert main(["report", str(MODEL), "-o", str(output)]) == 0
    assert capsys.readouterr().out.startswith(str(output))
    data = Reader(output.read_text("utf-8")).data
    assert data["models"][0]["name"] == "classifier"
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
    assert "head differs" in data["descriptions"]


def index_of(data: dict, name: str, model: int = 0) -> int:
    start = data["models"][model]["start"]
    return next(n for n, layer in enumerate(data["layers"]) if n >= start and layer["n"] == name)


def written(tmp_path: Path, *arguments: str) -> dict:
    """Return the data of the report that the command writes."""
    output = tmp_path / "out.html"
    assert main(["report", *arguments, "-o", str(output)]) == 0
    return Reader(output.read_text("utf-8")).data


def test_what_quantizers_cost_is_laid_over_with_the_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sensitivity", str(MODEL), "--as", "int4-weights", "--format", "json"]) == 0
    printed = capsys.readouterr().out
    (tmp_path / "costs.json").write_text(printed)
    data = written(tmp_path, str(MODEL), "--sensitivity", str(tmp_path / "costs.json"))
    known, curve = json.loads(printed), data["curves"][0]
    assert [point[0] for point in curve["points"]] == [step["count"] for step in known["curve"]]
    assert curve["points"][0][2] == 0 and curve["points"][-1][2] == 1
    assert [data["layers"][index]["n"] for index in curve["layers"]] == known["layers"]
    marks = next(overlay["marks"] for overlay in data["overlays"] if overlay["key"] == "sensitivity")
    most = max(known["single"], key=lambda step: step["recovered"])
    strength, words, sign = marks[str(index_of(data, most["layers"][0]))]
    assert strength == pytest.approx(most["recovered"], abs=1e-3) and sign == "●"
    assert words.startswith(f"recovers {100 * most['recovered']:.3g} %, own SNR ")
    assert "loss of accuracy of int4-weights, target 90%: exclude" in data["descriptions"][0]


@pytest.mark.by_hand(0)
def test_the_steps_of_a_prompt_are_a_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("regex")
    folder = SAMPLES / "text_to_text" / "model"
    words = ["compare", str(folder), "--prompt", "The sky", "--tokens", "3", "--with", str(folder), "--format", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    for step, divergence in zip(found["steps"], (0.0, 1e-3, "Infinity"), strict=True):
        step["divergence"] = divergence
    found["steps"][2]["theirs"] = [7, "other", 0.1, 0.9]
    (tmp_path / "found.json").write_text(json.dumps(found))
    data = written(tmp_path, str(folder / "openvino_model.xml"), "--compare", str(tmp_path / "found.json"))
    (curve,) = data["curves"]
    assert curve["heads"] == ["step", "", "KL", "tokens"]
    title = f"distributions of the next token; tokens of irexec / of {found['other']} where they differ"
    assert curve["title"] == title
    assert [(point[0], point[2], point[3]) for point in curve["points"]] == [
        (0, 0, "0"),
        (1, 1, "0.001"),
        (2, 1, "inf"),
    ]
    assert [" / " in point[1] for point in curve["points"]] == [False, False, True]
    assert data["descriptions"] == [*found["lines"], found["verdict"]]


@pytest.mark.by_hand(0)
def test_another_model_is_shown_next_to_it_with_the_changes_that_diff_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = altered(tmp_path)
    data = written(tmp_path, str(a), "--diff", str(b))
    capsys.readouterr()
    assert main(["diff", str(a), str(b), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)["changes"]
    assert [(row[0], row[1]) for row in data["changes"]] == [(c["change"], c["text"]) for c in printed]
    assert {row[0] for row in data["changes"]} == {"removed", "replaced", "renamed", "attribute", "constant"}
    for change, (_, _, [(ours, theirs)]) in zip(printed, data["changes"], strict=True):
        for name, index, model in ((change["a"], ours, 0), (change["b"], theirs, 1)):
            assert index == (-1 if name is None else index_of(data, name, model))
    marks = next(overlay for overlay in data["overlays"] if overlay["key"] == "diff")["marks"]
    assert marks[str(index_of(data, "block2/depthwise/relu"))][2] == "−"
    assert marks[str(index_of(data, "largest", 1))][1:] == ["pool became largest", "±"]
    text = tmp_path / "changes.json"
    text.write_text(json.dumps({"kind": "diff", "a": str(a), "b": str(b), "changes": printed}))
    alone = written(tmp_path, str(a), "--diff", str(text))
    assert len(alone["models"]) == 1
    assert [row[2][0][0] for row in alone["changes"]] == [row[2][0][0] for row in data["changes"]]


@pytest.mark.by_hand(0)
def test_a_run_gives_times_numbers_and_histograms(tmp_path: Path) -> None:
    a, b = altered(tmp_path)
    data = written(tmp_path, str(a), "--diff", str(b), "--run", "--shape", "image=1,3,32,32")
    found = {overlay["key"]: overlay["marks"] for overlay in data["overlays"]}
    for model in (0, 1):
        index = index_of(data, "head", model)
        ((low, high, counts),) = data["layers"][index]["h"]
        assert low < high and sum(counts) == 10
        assert str(index) in found["time"] and str(index) in found["magnitude"]
    assert found["error"][str(index_of(data, "stem/norm"))][2] == "✖"


@pytest.mark.by_hand(0)
def test_dumped_arrays_give_numbers_and_histograms_too(tmp_path: Path) -> None:
    # Without inputs, a report chooses values that are typical for the model, and a run random values.
    folder, given = tmp_path / "dump", f"image={MODEL.with_name('image.npy')}"
    assert main(["run", str(MODEL), "--input", given, "--dump", str(folder)]) == 0
    dumped = written(tmp_path, str(MODEL), "--dump", str(folder))
    traced = written(tmp_path, str(MODEL), "--run", "--input", given)
    assert [layer.get("h") for layer in dumped["layers"]] == [layer.get("h") for layer in traced["layers"]]
    overlays = [{o["key"]: o for o in data["overlays"]} for data in (dumped, traced)]
    assert overlays[0]["magnitude"] == overlays[1]["magnitude"]
    assert "time" not in overlays[0]


@pytest.mark.parametrize("text", [None, "{", "[]", '{"tensors": [{}]}', '{"tensors": 3}'])
def test_a_folder_that_holds_no_dump_is_refused(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "index.json").write_text(text)
    assert main(["report", str(MODEL), "-o", str(tmp_path / "out.html"), "--dump", str(tmp_path)]) == 2
    assert "error[U0" in capsys.readouterr().err


def test_a_model_that_cannot_be_compared_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = SAMPLES / "transformer" / "model.xml"
    assert main(["report", str(MODEL), "--diff", str(other), "--run", "-o", str(tmp_path / "out.html")]) == 2
    assert "input 'words'" in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "the file is not JSON"),
        ('{"kind": "model"}', "the file contains no trace"),
        ("[1]", "the file is not the output of"),
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
