"""What reading leaves behind: a model, and nothing of the text and the tree that it was read from."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import irexec.api
from irexec.ir.memory import give_back, no_collection
from irexec.ir.xml.source import Source

MODEL = Path(__file__).parents[2] / "samples" / "classifier" / "model.xml"


def test_a_model_from_a_file_does_not_hold_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[weakref.ref[Source]] = []
    from_path = Source.from_path

    def noting(path: str) -> Source:
        source = from_path(path)
        sources.append(weakref.ref(source))
        return source

    alive: list[bool] = []
    monkeypatch.setattr(Source, "from_path", noting)
    monkeypatch.setattr(irexec.api, "give_back", lambda size: alive.append(sources[0]() is not None))
    model, report = irexec.api.load(MODEL)
    assert model is not None and report.ok
    assert alive == [False]


def test_little_is_not_given_back() -> None:
    assert not give_back(1000)
    assert give_back(1 << 20) in (True, False)


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
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_collection(to_stay=True):
            made = [[number] for number in range(10)]
        assert made and gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
