"""Parameter, Result and Assign in other letter case: irexec finds the same ones as OpenVINO, in the same order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.meanings import Origin, by_irexec, by_openvino, origins
from support.nets import Net

import irexec

pytest.importorskip("openvino")
ASSIGN = 2
"""The position of the Assign among these layers of the stateful model."""
MODELS = {origin.name: origin for origin in origins()}


def respelt(text: str, *places: int) -> str:
    """Return the text with the types at these positions in capitals."""
    for old in ("Parameter", "Result", "Assign", "ReadValue"):
        text = text.replace(f'type="{old}"', f'type="@{old}"')
    parts = text.split('type="@')
    return parts[0] + "".join(
        'type="' + (part.replace(name := part.split('"')[0], name.upper(), 1) if place in places else part)
        for place, part in enumerate(parts[1:])
    )


def ends_of(text: str) -> int:
    return sum(text.count(f'type="{name}"') for name in ("Parameter", "Result", "Assign", "ReadValue"))


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", ["differences", "stateful", "branching", "looping", "iterating"])
def test_what_irexec_runs_means_what_openvino_makes_of_it(name: str) -> None:
    origin = MODELS[name]
    compared = 0
    for places in itertools.chain.from_iterable(
        itertools.combinations(range(ends_of(origin.text)), count) for count in (1, 2)
    ):
        if name == "stateful" and ASSIGN in places:
            continue  # A ReadValue without an Assign: OpenVINO's CPU plugin reads uninitialized memory.
        text = respelt(origin.text, *places).encode()
        theirs, ours = by_openvino(text, origin), by_irexec(text, origin)
        if theirs is not None:
            assert theirs.difference(ours) is None, places
            compared += 1
    assert compared > 3


def test_an_assign_in_other_letter_case_assigns_nothing() -> None:
    origin = MODELS["stateful"]
    text = respelt(origin.text, ASSIGN).encode()
    model = irexec.read_model(text, origin.weights)
    assert not model.sinks
    request = irexec.compile_model(model).create_infer_request()
    x = np.float32([[1, 1]])
    assert [request.infer([x])[0].tolist() for _ in range(2)] == [[[-2, -3]]] * 2


def test_of_several_edges_the_last_in_the_file_is_followed_first() -> None:
    net = Net("three")
    a, b, c = (net.parameter(name, "1,2", tensor=name) for name in "abc")
    joined = net.layer("Concat", [a, b, c], "1,6", data='axis="1"')
    net.result(joined)
    for order in itertools.permutations(range(3)):
        edges = [net.edges[place] for place in order]
        text = net.text.replace("".join(net.edges[:3]), "".join(edges)).replace('type="Parameter"', 'type="parameter"')
        origin = Origin("three", text)
        theirs, ours = by_openvino(text.encode(), origin), by_irexec(text.encode(), origin)
        assert theirs is not None
        assert theirs.difference(ours) is None
        assert [port.names[0] for port in theirs.inputs] == ["abc"[place] for place in reversed(order)]


def test_the_finding_states_what_openvino_does() -> None:
    text = MODELS["stateful"].text
    for type, word in (("Parameter", "after all inputs"), ("Result", "omits"), ("Assign", "not assigned")):
        report = irexec.validate(text.replace(f'type="{type}"', f'type="{type.upper()}"').encode(), weights=bytes(8))
        (finding,) = (found for found in report if found.code == "L009")
        assert word in (finding.openvino or "")


def test_errors_of_a_layer_that_never_runs_are_excused_whatever_opset_it_names() -> None:
    text = MODELS["differences"].text
    idle = '<layer id="50" name="idle" type="abs" version="opset8"><data alpha="1"/></layer></layers>'
    model = irexec.read_model(text.replace("</layers>", idle).encode())
    values = [np.float32([[n, n + 1]]) for n in range(3)]
    assert irexec.compile_model(model)(values)[0].tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    ("meant", "written", "code"),
    [
        ('<layer id="1" name="b" type="PARAMETER"', '<layer id="0" name="b" type="PARAMETER"', "L002"),
        ("</edges>", '<edge from-layer="1" from-port="0" to-layer="2" to-port="0"/></edges>', "E006"),
    ],
)
def test_files_that_are_refused_for_another_reason_are_so_with_findings(meant: str, written: str, code: str) -> None:
    text = respelt(MODELS["differences"].text, 0, 1)
    port = '<layer id="2" name="c" type="Parameter" version="opset1"><input><port id="0"/></input>'
    text = text.replace('<layer id="2" name="c" type="Parameter" version="opset1">', port)
    assert meant in text
    with pytest.raises(irexec.IRError) as caught:
        irexec.read_model(text.replace(meant, written).encode())
    assert code in {finding.code for finding in caught.value.report.errors}
