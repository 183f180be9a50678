"""What reading leaves behind: a model, and nothing of the text that it was read from."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import irexec.api
from irexec.ir.memory import no_collection
from irexec.ir.xml.source import Source

MODEL = Path(__file__).parents[2] / "samples" / "classifier" / "model.xml"


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_model_from_a_file_does_not_hold_its_text(monkeypatch: pytest.MonkeyPatch, without_collector: None) -> None:
    sources: list[weakref.ref[Source]] = []
    from_path = Source.from_path

    def noting(path: str) -> Source:
        source = from_path(path)
        sources.append(weakref.ref(source))
        return source

    monkeypatch.setattr(Source, "from_path", noting)
    model, report = irexec.api.load(MODEL)
    assert model is not None and report.ok
    assert [source() for source in sources] == [None]


def test_what_is_made_to_stay_is_not_searched() -> None:
    looks: list[int] = []
    gc.callbacks.append(lambda phase, found: looks.append(found["generation"]))
    try:
        with no_collection(to_stay=True):
            made = [[number] for number in range(10 * gc.get_threshold()[0])]
        one = [made]
    finally:
        gc.callbacks.pop()
    assert not looks
    assert gc.isenabled() and not gc.get_freeze_count()
    assert any(each is made for each in gc.get_objects(generation=2))
    assert not any(each is one for each in gc.get_objects(generation=2))


def test_what_a_program_froze_stays_frozen() -> None:
    own: list[list[int]] = [[]]
    gc.freeze()
    try:
        with no_collection(to_stay=True):
            made = [[number] for number in range(10)]
        # The collector does not show what is frozen.
        assert made and not any(each is own for each in gc.get_objects())
    finally:
        gc.unfreeze()


def chain(count: int) -> bytes:
    """So many layers in a row, written as converters do."""
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


def test_a_layer_that_was_read_takes_less_than_5_kilobytes() -> None:
    texts = chain(200), chain(1200)
    irexec.api.load(texts[0])
    taken, most = [], []
    for text in texts:
        tracemalloc.start()
        model, report = irexec.api.load(text)
        assert model is not None and report.ok
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        taken.append(now)
        most.append(peak)
    # Beside Python's objects, libxml2 has no tree of the text that would have to be counted.
    assert (taken[1] - taken[0]) / 1000 < 5000
    assert (most[1] - most[0]) / 1000 < 5000
