"""The cost of creating fixes is proportional to the file, for any number and kind of fixes: counted, not timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from support.nets import Net
from support.work import MOST, Work

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Report, Safety, Severity
from irexec.core.diagnostics.diagnostic import MAX_PER_CODE
from irexec.ir.xml.source import Source
from irexec.tools.fixes import absent, applying, joins, spelling
from irexec.tools.fixes.applying import Examined, FixResult, apply_fixes, examine, improve

pytestmark = pytest.mark.in_ci("counts the work of fixes")

SIZE = 32


def chain(count: int, data: str = "") -> str:
    net = Net()
    last = net.parameter("x", "2,3")
    for _ in range(count):
        last = net.layer("Elu", [last], "2,3", data=data)
    net.result(last)
    return net.text


def precisions(count: int) -> str:
    """Return a file whose ports declare unknown precisions: two findings for each layer, and all edits on a few
    lines.
    """
    return chain(count, 'alpha="1"').replace("FP32", "FP3").replace("\n", "")


def lines(count: int) -> str:
    return precisions(count).replace("><", ">\n<")


def in_rounds(count: int) -> str:
    """Return a file in which types must be correct before attributes are read, and these before shapes are inferred."""
    return chain(count, 'alhpa="1"').replace('"Elu"', '"ELU"').replace("<dim>3<", "<dim>4<", count)


def wide(count: int) -> str:
    """Return a file with one layer that reads the results of all others."""
    net = Net()
    x = net.parameter("x", "2,3")
    taken = [net.layer("ReLU", [x], "2,3") for _ in range(count)]
    net.result(net.layer("Concat", taken, f"{2 * count},3", data='axis="0"'))
    return net.text


def many_inputs(count: int) -> str:
    net = Net()
    last = net.parameter("x0", "2,3")
    for number in range(1, count):
        last = net.layer("Add", [last, net.parameter(f"x{number}", "2,3")], "2,3")
    net.result(last)
    return net.text


def written_twice(count: int) -> str:
    return chain(count, 'alpha="1" alpha="1"')


def no_port_ids(count: int) -> str:
    return re.sub(r'<port id="\d+"', "<port", wide(count))


def one_port_id(count: int) -> str:
    return re.sub(r'<port id="\d+"', '<port id="0"', wide(count))


def one_layer_id(count: int) -> str:
    """Return a file in which all layers but one have the same id, and edges name an id that no layer has."""
    lost = '<edges><edge from-layer="9999999" from-port="1" to-layer="1" to-port="0"/>'
    return re.sub(r'<layer id="\d*[1-9]" name="Elu', '<layer id="1" name="Elu', chain(count)).replace("<edges>", lost)


def counted_from_one(count: int) -> str:
    return re.sub(r'to-port="(\d+)"', lambda match: f'to-port="{int(match[1]) + 1}"', many_inputs(count))


def ports_that_are_not_there(count: int) -> str:
    return re.sub(r'to-port="([1-9]\d*)"', lambda match: f'to-port="{int(match[1]) + 2 * count}"', wide(count))


def layers_that_are_not_there(count: int) -> str:
    text = re.sub(r'to-layer="(\d+)"', lambda match: f'to-layer="{int(match[1]) + 2 * count}"', chain(count))
    return re.sub(r'from-layer="(\d*[1-9])"', lambda match: f'from-layer="{int(match[1]) + 2 * count}"', text)


def no_edges(count: int) -> str:
    return re.sub("<edges>.*</edges>", "", many_inputs(count))


def no_output(count: int) -> str:
    """Return a file with a layer without outputs, at which all edges to other layers start."""
    net = Net()
    last = net.layer("Concat", [net.parameter(f"x{number}", "2,3") for number in range(count)], "2,3", data='axis="0"')
    for _ in range(count):
        net.result(net.layer("ReLU", [last], "2,3"))
    return re.sub(f'<output><port id="{count}".*?</output>', "", net.text, count=1)


def other_names(count: int) -> str:
    """Return a file in which half of the layers have no name, and the other half the names that these would get."""
    text = re.sub(r'name="Elu_(\d*[02468])"', r'name="Elu_1_\1"', chain(count))
    return re.sub(r'<layer id="\d+" name="Elu_\d*[13579]"', '<layer id="1"', text).replace("_1_2", "_1")


def sizes(count: int) -> str:
    net = Net()
    last = net.parameter("x", "2,3")
    for number in range(count):
        data = f'element_type="f32" shape="2,3" offset="{24 * number}" size="20"'
        last = net.layer("Add", [last, net.layer("Const", [], "2,3", data=data)], "2,3")
    net.result(last)
    return net.text


def ignoring(count: int) -> str:
    """Return a file in which each layer has a comment that ignores findings, none of which is about the layer."""
    return precisions(count).replace("<layer ", "<!-- irexec: ignore D001 --><layer ")


def ignoring_inside(count: int) -> str:
    """Return a file in which one element has this number of comments that ignore findings."""
    comments = "".join(f"<!-- irexec: ignore D{number} -->" for number in range(count))
    return precisions(count).replace("<input>", f"<input>{comments}", 1)


EACH = [precisions, lines, in_rounds, written_twice, sizes, ignoring, ignoring_inside, one_port_id, other_names]
AT_ONCE = [no_port_ids, counted_from_one, no_edges, no_output]
UNKNOWN = [one_layer_id, ports_that_are_not_there, layers_that_are_not_there]
"""Errors with a fix for each, errors that a few fixes correct, and errors without a known fix."""


@pytest.mark.parametrize("fault", [*EACH, *AT_ONCE, *UNKNOWN])
def test_making_fixes(fault: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], FixResult]:
        return partial(apply_fixes, fault(size).encode(), weights=bytes(24 * size), unsafe=True)

    made = task(SIZE)().made
    assert len(made) >= (SIZE // 2 if fault in EACH else fault in AT_ONCE)
    assert Work(monkeypatch, [absent, joins, spelling]).growth(task, SIZE) < MOST


def test_a_fix_of_the_whole_file_is_there_once() -> None:
    """If each of many findings had an edit as long as the file, the report would grow with the square of the file."""
    found = [finding for finding in examine(no_edges(SIZE).encode()).report if finding.code == "E004"]
    assert len(found) >= SIZE
    assert [len(finding.fixes) for finding in found if finding.fixes] == [1]


def test_as_many_fixes_are_made_as_there_are_findings_in_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is limited to a number of findings of one code: reading again for each thousand would be quadratic."""
    read: list[bytes] = []
    examine = applying.examine
    monkeypatch.setattr(applying, "examine", lambda data, *more: read.append(data) or examine(data, *more))
    count = MAX_PER_CODE + 200
    repaired = apply_fixes(chain(count, 'alpha="1"').replace("FP32", "FP16").encode())
    assert len(repaired.made) > count
    assert repaired.report.ok and len(read) == 2


def test_a_version_of_a_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version is read once for its findings and their fixes, and again only if it has errors, in openvino mode."""
    read: list[object] = []
    plain = Source.elements
    monkeypatch.setattr(Source, "elements", lambda source: read.append(source) or plain(source))
    assert apply_fixes(precisions(2).encode()).made
    assert (len(read), len(set(map(id, read)))) == (3, 2)


def test_a_report_of_what_remains_is_limited() -> None:
    repaired = apply_fixes(chain(MAX_PER_CODE + 200, 'alhpa="1"').encode())
    assert len(repaired.report) == MAX_PER_CODE
    assert repaired.report.left_out.total() == 200


def spoiling(data: bytes, *, count: int) -> Examined:
    """Return a file in which each fix leads to a new error."""
    left = [number for number in range(count) if data[number : number + 1] == b"."]
    found = [Diagnostic("L009", Severity.WARNING, f"fault {number}", attribute=f"{number}") for number in left]
    edits = [Edit(number, number + 1, "!", (1, number + 1), (1, number + 2)) for number in left]
    fixed = [
        Diagnostic(f.code, f.severity, f.message, attribute=f.attribute, fixes=(Fix("write !", Safety.SAFE, (edit,)),))
        for f, edit in zip(found, edits, strict=True)
    ]
    return Examined(data, Report([*fixed, *[Diagnostic("X001", Severity.ERROR, "spoilt")] * (count - len(left))]))


@pytest.mark.parametrize(("count", "most"), [(10, 1000), (1000, applying.LEAST_READS)])
def test_fixes_that_spoil_the_file_are_found_with_a_limited_number_of_readings(
    count: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "MOST_READ", 10_000)
    read: list[bytes] = []

    def look(data: bytes) -> Examined:
        read.append(data)
        return spoiling(data, count=count)

    repaired = improve(b"." * count, look)
    assert repaired.data == b"." * count and not repaired.made
    assert len(read) <= most
