"""Objects that can be sent to another process are equal there; others are rejected with an alternative."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec
from irexec.runtime import engine

ops: Any = irexec.opset15
WRONG = b'<net name="n" version="11"><layers><layer id="0" name="a" type="Abs"/></layers></net>'
COMPILE = r"save the model \(irexec.save_model\) and compile it in the other process"
READ = r"\(irexec.save_model\) and read it in the other process"


@pytest.fixture
def model() -> irexec.Model:
    x = ops.parameter([2, 3], np.float32, name="x")
    return irexec.Model([ops.relu(x)], [x], "small")


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "A CompiledModel": (irexec.compile_model, COMPILE),
    "An InferRequest": (lambda model: irexec.compile_model(model).create_infer_request(), COMPILE),
    "An AsyncInferQueue": (lambda model: irexec.AsyncInferQueue(irexec.compile_model(model), 1), COMPILE),
    "A CompiledModel ": (engine.CompiledModel, COMPILE),
    "An InferRequest ": (lambda model: engine.CompiledModel(model).create_infer_request(), COMPILE),
    "A Model": (lambda model: model, READ),
    "A Node": (lambda model: model.get_ops()[0], READ),
    "An Output": (lambda model: model.inputs[0], "give its name"),
    "An Output ": (lambda model: irexec.compile_model(model)([np.ones((2, 3), np.float32)]), "pickle the arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_belongs_to_a_process_is_not_pickled(name: str, model: irexec.Model) -> None:
    make, advice = REFUSED[name]
    with pytest.raises(TypeError, match=f"^{name.strip()} cannot be copied or pickled; .*{advice}"):
        pickle.dumps(make(model))


def test_copies_are_whole_or_refused(model: irexec.Model) -> None:
    for make in (irexec.compile_model, lambda model: irexec.compile_model(model).create_infer_request()):
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=COMPILE):
                copied(make(model))
    other = copy.deepcopy(model)
    array = np.float32([[-1, 0, 1], [2, -3, 4]])
    results = irexec.compile_model(other)([array])
    again = copy.deepcopy(results)
    again[0][...] = 7
    assert np.array_equal(results[0], irexec.compile_model(model)([array])[0])


def found() -> irexec.Report:
    return irexec.validate(WRONG)


SENT: dict[str, Callable[[], Any]] = {
    "report": found,
    "diagnostic": lambda: found().errors[0],
    "error": lambda: irexec.IRError(found()),
    "tensor": lambda: irexec.Tensor(np.arange(3)),
    "type": lambda: irexec.Type.f16,
    "shape": lambda: irexec.PartialShape([1, -1]),
    "layout": lambda: irexec.Layout("NCHW"),
}
RECEIVE = "import pickle, sys\nprint(ascii(str(pickle.load(sys.stdin.buffer))), end='')"


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_to_another_process_is_the_same_there(name: str) -> None:
    thing = SENT[name]()
    done = subprocess.run(
        [sys.executable, "-c", RECEIVE], input=pickle.dumps(thing), capture_output=True, timeout=PATIENCE
    )
    assert done.stdout.decode() == ascii(str(thing)), done.stderr.decode()
