"""Memory after reading: a model remains, and no part of the text from which it was read."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.core import collector
from irexec.core.collector import no_collection
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.reading import read
from irexec.ir.reader import read_document
from irexec.ir.xml.source import Source

MODEL = Path(__file__).parents[2] / "samples" / "classifier" / "model.xml"


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Prevent the process from freezing objects, as the process of the tests does otherwise."""
    monkeypatch.setattr(collector, "_pauses", collector._Pauses())
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.mark.by_hand(0)
def test_what_is_made_to_stay_is_not_searched(nothing_frozen: None) -> None:
    looks: list[int] = []
    gc.collect()  # Collect the garbage of earlier tests, so that no collection is due.
    gc.callbacks.append(lambda phase, found: looks.append(found["generation"]))
    try:
        with no_collection(to_stay=True):
            made = [[number] for number in range(10 * gc.get_threshold()[0])]
        one = [made]
        is_on = gc.isenabled()
        gc.disable()
        old = {id(each) for each in gc.get_objects(generation=2)}
    finally:
        gc.enable()
        gc.callbacks.pop()
    assert not looks
    assert is_on and gc.get_freeze_count() < 1000
    assert id(made) in old and id(one) not in old


def test_what_a_program_froze_stays_frozen_and_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_pauses", collector._Pauses())
    own: list[list[int]] = [[]]
    gc.freeze()
    counted = []
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(count()) or counted[-1])
    for _ in range(3):
        with no_collection(to_stay=True):
            made = [[number] for number in range(10)]
        # The collector does not list frozen objects.
        assert made and not any(each is own for each in gc.get_objects())
    assert len(counted) == 1 and counted[0] > 1000


def test_pauses_nest_and_overlap_between_threads(without_pauses: None) -> None:
    inside, go_on, states = threading.Event(), threading.Event(), []

    def other() -> None:
        with no_collection():
            inside.set()
            go_on.wait(PATIENCE)
            states.append(gc.isenabled())

    thread = threading.Thread(target=other)
    with no_collection():
        thread.start()
        assert inside.wait(PATIENCE)
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    # The collector of the other thread stays enabled.
    assert not gc.isenabled()
    go_on.set()
    thread.join(PATIENCE)
    assert states == [False] and gc.isenabled()


def test_a_pause_ends_with_an_error(without_pauses: None) -> None:
    with pytest.raises(ValueError, match="inside"), no_collection(to_stay=True), no_collection():
        raise ValueError("inside")
    assert gc.isenabled()


def test_a_collector_that_a_program_switched_off_stays_off(without_collector: None) -> None:
    with no_collection(to_stay=True):
        pass
    assert not gc.isenabled()


@pytest.fixture
def without_pauses() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


@pytest.fixture
def searches() -> Iterator[list[int]]:
    """The collections from now on, by their generation."""
    found: list[int] = []
    gc.collect()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


READERS: list[Callable[[bytes], object]] = [irexec.read_model, read, irexec.Core().read_model]


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("read", READERS)
def test_the_collector_rests_while_models_are_read(
    read: Callable[[bytes], object], nothing_frozen: None, searches: list[int]
) -> None:
    text = chain(2000)
    models = [read(text) for _ in range(4)]
    assert len(models) == 4 and searches == []


@pytest.mark.by_hand(0)
def test_the_collector_rests_while_onnx_models_are_read(nothing_frozen: None, searches: list[int]) -> None:
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(500)]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [3]) for name in ("v0", "v500")]
    opsets = [onnx.helper.make_opsetid("", 17)]
    data = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=opsets)
    irexec.read_model(data.SerializeToString())
    searches.clear()
    model = irexec.read_model(data.SerializeToString())
    assert len(model.nodes) > 500 and searches == []


def test_a_dropped_model_is_freed_by_the_next_collection() -> None:
    model = irexec.read_model(chain(50))
    parts = [weakref.ref(model), *map(weakref.ref, model.nodes), weakref.ref(model.inputs[0])]
    del model
    gc.collect()
    assert [part() for part in parts if part() is not None] == []


def test_a_dropped_document_is_freed_immediately(without_collector: None) -> None:
    gc.collect()
    source = Source.from_bytes(chain(500))
    text = weakref.ref(source)
    document = read_document(source, Findings(source.locate))
    assert document is not None and len(document.net.layers) == 501
    del document, source
    # No object of a layer remains to be found.
    assert text() is None and gc.collect() < 500


@pytest.mark.by_hand(0)
def test_models_that_are_dropped_one_after_the_other_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test does not call the collector, and Python's own thresholds do not count the objects of a reading."""
    monkeypatch.setattr(collector, "_MANY_LAYERS", 1000)
    monkeypatch.setattr(collector, "_SECONDS_PER_LAYER", 1e9)
    text, living, most = chain(200), [], 0
    for _ in range(30):
        model = irexec.read_model(text)
        living = [node for node in living if node() is not None] + [weakref.ref(model.nodes[1])]
        del model
        most = max(most, sum(node() is not None for node in living))
    assert 1 < most <= 6


def test_a_search_that_takes_longer_than_reading_did_waits_for_more(
    monkeypatch: pytest.MonkeyPatch, searches: list[int]
) -> None:
    """The program has many objects of its own."""
    pauses = collector._Pauses()
    clock = iter(range(0, 100, 4))
    monkeypatch.setattr(collector.time, "monotonic", lambda: float(next(clock)))
    counts = []
    for _ in range(10):
        pauses.dropped(100_000)
        counts.append(searches.count(2))
    # A collection takes 4 s, in which 200,000 layers are read.
    assert counts == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def chain(count: int) -> bytes:
    """Return this number of layers in a row, written as converters do."""
    port = '<port id="{}" precision="FP32"><dim>1</dim><dim>4</dim><dim>4</dim><dim>4</dim></port>'
    taken, made = port.format(0), port.format(1)
    layers = '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4,4,4" element_type="f32"/>'
    layers += f"<output>{taken}</output></layer>"
    edges = ""
    for n in range(1, count + 1):
        output = "" if n == count else f"<output>{made}</output>"
        type = "Result" if n == count else "ReLU"
        layers += (
            f'<layer id="{n}" name="layer/{n}" type="{type}" version="opset1"><input>{taken}</input>{output}</layer>'
        )
        edges += f'<edge from-layer="{n - 1}" from-port="{int(n > 1)}" to-layer="{n}" to-port="0"/>'
    return f'<net name="m" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>'.encode()


@pytest.mark.by_hand(0)
def test_a_layer_that_was_read_takes_less_than_5_kilobytes() -> None:
    texts = chain(200), chain(1200)
    read(texts[0])
    taken, most = [], []
    for text in texts:
        tracemalloc.start()
        reading = read(text)
        assert reading.model is not None and reading.report.ok
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        taken.append(now)
        most.append(peak)
    # In addition to Python's objects, libxml2 must not have a tree of the text.
    assert (taken[1] - taken[0]) / 1000 < 5000
    assert (most[1] - most[0]) / 1000 < 5000


def test_nothing_is_counted_while_python_exits() -> None:
    pauses = collector._Pauses()
    pauses.dropped(5, is_finalizing=lambda: True)
    assert pauses.waiting == 0
    pauses.dropped(5)
    assert pauses.waiting == 5
