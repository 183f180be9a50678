"""Deadlines: work stops at a check, with the findings so far and one finding about the progress."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from support.clock import Clock
from support.waiting import PATIENCE

import irexec
from irexec.core.diagnostics.deadline import OutOfTime, ask, seconds_left, time_limit, watched
from irexec.tools.doctest.doctest import check_page
from irexec.tools.fixes.applying import apply_fixes

SAMPLES = Path(__file__).parents[3] / "samples"


def chain(count: int, type: str = "ReLU") -> bytes:
    """Return layers in a row; each unknown type is a finding."""
    port = '<port id="{}" precision="FP32"><dim>2</dim></port>'
    layers = '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/><output>'
    layers += port.format(1) + "</output></layer>"
    for n in range(1, count):
        layers += f'<layer id="{n}" name="n{n}" type="{type}" version="opset1"><input>{port.format(0)}</input>'
        layers += f"<output>{port.format(1)}</output></layer>"
    layers += f'<layer id="{count}" name="y" type="Result" version="opset1"><input>{port.format(0)}</input></layer>'
    edges = "".join(f'<edge from-layer="{n}" from-port="1" to-layer="{n + 1}" to-port="0"/>' for n in range(count))
    return f'<net name="m" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>'.encode()


def onnx_chain(count: int) -> bytes:
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [3]) for name in ("v0", f"v{count}")]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    data: bytes = model.SerializeToString()
    return data


LOOSE = b"".join(
    b'<layer type="Relu" version="opset1"><input><port id="0"><dim>3</dim></port></input>'
    b'<output><port id="1"><dim>3</dim></port></output></layer>\n'
    for _ in range(6)
)


def test_without_a_deadline_items_are_themselves() -> None:
    items = [1, 2, 3]
    assert watched(items, "counting") is items
    ask("counting")
    assert seconds_left(7) == 7
    for none in (None, 0):
        with time_limit(none):
            assert watched(items, "counting") is items


def test_what_is_passed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    done = []
    with pytest.raises(irexec.IRError) as caught, time_limit(3):
        done += watched(range(5000), "counting", "numbers")
    (finding,) = caught.value.report
    assert (finding.code, str(finding.severity)) == ("U009", "error")
    assert finding.message == "stopped after 3 s, while counting; 2 of 5,000 numbers completed"


def test_of_several_deadlines_the_nearest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    with pytest.raises(irexec.IRError, match="stopped after 5 s"), time_limit(5):
        try:
            with time_limit(100):
                list(watched(range(50), "counting"))
        except irexec.IRError:
            pytest.fail("the outer deadline is not the inner one's")
    with time_limit(1000):
        with pytest.raises(irexec.IRError, match="stopped after 5 s"), time_limit(5):
            list(watched(range(50), "counting"))
        # Outside of the block there is no deadline.
        ask("counting")


def test_nobody_takes_it_for_the_failure_of_a_layer() -> None:
    assert not issubclass(OutOfTime, Exception)


def test_a_deadline_is_of_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    failed: list[BaseException] = []

    def other() -> None:
        try:
            list(watched(range(50), "counting"))
        except BaseException as error:
            failed.append(error)

    with time_limit(1):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(PATIENCE)
    assert not failed


@pytest.mark.parametrize("data", [chain(8), chain(8, "Unheard"), onnx_chain(6), LOOSE])
def test_validating_stops_wherever_it_is(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any limit: no exception, at most one finding about the limit, and no finding that the file does not have."""
    clock = Clock(monkeypatch)
    whole = {(finding.code, finding.layer) for finding in irexec.validate(data)}
    stages, found = set(), set()
    for limit in range(1, 1000):
        with time_limit(limit):
            before = clock.looks
            report = irexec.validate(data)
            looks = clock.looks - before
        stops = [finding for finding in report if finding.code == "U009"]
        if not stops:
            assert looks <= limit
            break
        (stop,) = stops
        stages.add(stop.message.split("while ")[1].split(";")[0])
        found.add(len(report))
        assert {(finding.code, finding.layer) for finding in report} - whole == {(stop.code, stop.layer)}
    assert len(stages) >= 1 and limit > 5
    # More time gives more findings.
    assert len(found) > 1 or len(whole) == 0


def test_the_stage_and_the_layer_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    messages = []
    for limit in range(1, 60):
        with time_limit(limit):
            messages += [finding.message for finding in irexec.validate(chain(8)) if finding.code == "U009"]
    assert any("in layer 'n3' (ReLU), while inferring types; 3 of 9 layers completed" in text for text in messages)
    stages = {text.split("while ")[1].split(";")[0] for text in messages}
    assert {"reading", "checking the grammar", "checking edges", "building the model", "inferring types"} <= stages


def test_reading_that_gives_no_report_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    with time_limit(5), pytest.raises(irexec.IRError, match="U009"):
        irexec.read_model(chain(8))


def test_compiling_and_running_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    model = irexec.read_model(chain(30))
    x = np.zeros(2, np.float32)
    compiled = irexec.compile_model(model)
    assert compiled(x)[0].tolist() == [0, 0]
    Clock(monkeypatch)
    with pytest.raises(irexec.IRError, match=r"in layer 'n10' .*while running"), time_limit(10):
        compiled(x)
    # The model still works afterwards.
    assert compiled(x)[0].tolist() == [0, 0]
    with pytest.raises(irexec.IRError, match="while planning"), time_limit(10):
        irexec.compile_model(model)(x)


@pytest.mark.parametrize("trips", [2**62, -1])
def test_a_loop_that_does_not_end(trips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body does nothing, in an endless loop."""
    Clock(monkeypatch)
    model = endless(trips)
    with time_limit(50):
        assert irexec.validate(model).ok
    with pytest.raises(irexec.IRError, match="U009"), time_limit(500):
        irexec.compile_model(model)(np.zeros(2, np.float32))


def endless(trips: int) -> irexec.Model:
    onnx = pytest.importorskip("onnx")
    info, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    same = [node("Identity", ["go"], ["goes"]), node("Identity", ["v"], ["w"])]
    body = onnx.helper.make_graph(
        same, "body", [info("i", 7, []), info("go", 9, []), info("v", 1, [2])], [info("goes", 9, []), info("w", 1, [2])]
    )
    stored = [onnx.numpy_helper.from_array(np.array(trips), "n"), onnx.numpy_helper.from_array(np.array(True), "yes")]
    loop = node("Loop", ["n", "yes", "x"], ["y"], body=body)
    graph = onnx.helper.make_graph([loop], "g", [info("x", 1, [2])], [info("y", 1, [2])], stored)
    data = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString()
    return irexec.read_model(data)


@pytest.mark.parametrize("limit", [1, 3, 10, 30, 100, 1000])
def test_a_fix_is_made_whole_or_not(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped check has fewer findings, which must not make a fix appear good."""
    data = (SAMPLES / "wrong.xml").read_bytes()
    whole = apply_fixes(data, unsafe=True)
    assert whole.data != data
    Clock(monkeypatch)
    try:
        with time_limit(limit):
            made = apply_fixes(data, unsafe=True)
    except irexec.IRError as error:
        assert [finding.code for finding in error.report] == ["U009"] and limit < 1000
    else:
        assert made.data == whole.data and limit > 10


@pytest.mark.by_hand(0)
def test_a_page_keeps_the_examples_that_were_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("".join(f"# Relu\n\n```xml\n{LOOSE.splitlines()[0].decode()}\n```\n\n" for _ in range(5)))
    Clock(monkeypatch)
    counts = set()
    for limit in range(1, 400, 3):
        with time_limit(limit):
            checked = check_page(page)
        counts.add(len(checked.examples))
        assert (checked.stopped is None) == (len(checked.examples) == 5)
        assert ("U009" in {finding.code for finding in checked.report}) == (checked.stopped is not None)
        if checked.stopped is None:
            break
    assert counts >= {1, 2, 3, 4, 5}
