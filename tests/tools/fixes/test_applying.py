"""Fixes: the page of every code with a fix is corrected, results stay the same, and so does the rest of the file."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from support.amounts import amount
from support.mutants import mutant
from support.nets import iterating, two_inputs
from support.results import computed, same
from support.slips import slipped
from support.transcripts import blocks

import irexec
from irexec.core.diagnostics import Safety
from irexec.ops.spec.contents import CONTENTS
from irexec.tools.fixes.applying import apply_fixes, examine
from irexec.tools.fixes.table import FIXERS

ROOT = Path(__file__).parents[3]
SAMPLES = [ROOT / "samples" / name / "model.xml" for name in ("classifier", "transformer")]
MODELS = [(path.read_bytes(), path) for path in SAMPLES]
MODELS += [(net.text.encode(), None) for net in (two_inputs(), iterating())]


# The examples of these pages need a person: the intended name is also present, or no known name is similar.
OPEN = {"N002", "N004", "N005", "N007", "N008", "L001", "L002", "L004", "L005", "P007", "E003", "E006"}
OPEN |= {"D001", "D006", "D010", "S006"}
NET = two_inputs().text.replace('auto_broadcast="numpy"', 'auto_broadcast="none"')
# (code, intended text, written text)
MISSPELT = [
    ("N004", "edges>", "egdes>"),
    ("N005", ' name="product"', ' nmae="product"'),
    ("L004", ' type="Multiply"', ' type="Multipy"'),
    ("L005", ' type="ReLU" version="opset1"', ' type="ReLU" version="Opset1"'),
    ("D001", ' auto_broadcast="none"', ' auto_brodcast="none"'),
]


def page(code: str) -> bytes:
    """Return the failing example of a code's page."""
    return next(b.text for b in blocks(ROOT / "docs" / "codes" / f"{code}.md") if b.language == "xml").encode()


@pytest.mark.parametrize("code", [code for code in FIXERS if code not in OPEN])
def test_the_example_of_the_page_is_fixed(code: str) -> None:
    before = examine(page(code)).report
    assert code in {finding.code for finding in before}
    after = apply_fixes(page(code), unsafe=True).report
    assert code not in {finding.code for finding in after}
    assert len(after.errors) <= len(before.errors)


@pytest.mark.parametrize("code", sorted(OPEN))
def test_what_only_a_person_can_decide_stays(code: str) -> None:
    assert apply_fixes(page(code), unsafe=True).data == page(code)


@pytest.mark.parametrize(("code", "meant", "written"), MISSPELT, ids=[code for code, *_ in MISSPELT])
def test_a_misspelling_of_one_name_is_fixed(code: str, meant: str, written: str) -> None:
    assert meant in NET
    wrong = NET.replace(meant, written).encode()
    assert code in {finding.code for finding in examine(wrong).report}
    assert apply_fixes(wrong).data == wrong
    assert apply_fixes(wrong, unsafe=True).data.decode() == NET


def test_a_list_loses_its_last_comma() -> None:
    text = SAMPLES[0].read_text("utf-8")
    wrong = text.replace('strides="1, 1"', 'strides="1, 1,"', 1)
    assert apply_fixes(wrong.encode(), SAMPLES[0]).data.decode() == text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_a_valid_file_stays_as_it_is(path: Path) -> None:
    data = path.read_bytes()
    fixed = apply_fixes(data, path, unsafe=True)
    assert fixed.data == data
    assert not fixed.made


@pytest.mark.by_hand(0)
def test_slips_are_fixed_and_the_results_stay() -> None:
    expected = [computed(data, path) for data, path in MODELS]
    changed = 0
    count = amount(60, 30)
    for number in range(count):
        rng = random.Random(number)
        which = rng.choice([0, 1, 2, 2, 2, 3, 3, 3])
        data, path = MODELS[which]
        wrong = slipped(data.decode(), rng).encode()
        fixed = apply_fixes(wrong, path)
        assert fixed.report.ok, (number, [str(finding) for finding in fixed.report])
        assert same(computed(fixed.data, path), expected[which]), number
        changed += bool(fixed.made)
    assert changed > 2 * count // 3


@pytest.mark.by_hand(0)
def test_what_a_safe_fix_leaves_computes_what_the_file_computed() -> None:
    ran = 0
    for number in range(amount(200, 60)):
        rng = random.Random(f"mutant {number}")
        data, path = MODELS[rng.choice([0, 2, 2, 3, 3])]
        wrong = mutant(data.decode(), rng, list(CONTENTS)).encode("utf-8", "surrogatepass")
        fixed = apply_fixes(wrong, path)
        assert len(fixed.report.errors) <= len(examine(wrong, path).report.errors) or fixed.made
        try:
            expected = computed(wrong, path)
        except irexec.IRError:
            continue
        ran += 1
        assert same(computed(fixed.data, path), expected), number
    assert ran > amount(20, 6)


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encoding_line_ends_and_comments_stay(codec: str, end: str) -> None:
    text = two_inputs().text.replace("<net", "<!-- é, ü -->\n<net").replace('"positive"', '"größer"')
    if codec == "latin-1":
        text = '<?xml version="1.0" encoding="iso-8859-1"?>\n' + text
    text = text.replace("\n", end)
    wrong = text.replace('type="ReLU"', 'type="relu"').replace('"numpy"', '"NUMPY"')
    fixed = apply_fixes(wrong.encode(codec))
    assert [finding.code for finding, _ in fixed.made] == ["L009", "D008"]
    assert fixed.data == text.encode(codec)


def test_an_unsafe_fix_waits_to_be_asked_for() -> None:
    data = NET.replace("auto_broadcast", "auto_brodcast").encode()
    (finding,) = examine(data).report
    assert [(fix.title, fix.safety) for fix in finding.fixes] == [
        ("rename auto_brodcast to auto_broadcast", Safety.UNSAFE)
    ]
    assert apply_fixes(data).data == data
    assert apply_fixes(data, unsafe=True).data == NET.encode()


def test_of_several_choices_none_is_made() -> None:
    data = two_inputs().text.replace('"ReLU"', '"Reduce"').encode()
    (finding, *_) = examine(data).report
    assert len(finding.fixes) > 1
    assert {fix.safety for fix in finding.fixes} == {Safety.SUGGESTION}
    assert apply_fixes(data, unsafe=True).data == data


def test_a_fix_that_leads_to_new_errors_is_not_made() -> None:
    """An unknown section becomes a second known section, which is not read either."""
    data = NET.replace("</net>", "<egdes></egdes></net>").encode()
    (finding,) = examine(data).report
    assert [fix.title for fix in finding.fixes] == ["write <edges>"]
    assert apply_fixes(data, unsafe=True).data == data


def test_findings_can_be_picked() -> None:
    text = two_inputs().text
    wrong = text.replace('type="ReLU"', 'type="relu"').replace('"numpy"', '"NUMPY"').encode()
    fixed = apply_fixes(wrong, wanted=lambda finding: finding.code == "L009")
    assert fixed.data == text.replace('"numpy"', '"NUMPY"').encode()


def test_bytes_that_are_not_text_stay() -> None:
    data = two_inputs().text.replace('type="ReLU"', 'type="relu"').encode().replace(b"positive", b"posi\xfftive")
    assert apply_fixes(data).data == data


def test_a_fix_is_json_with_bytes_and_places() -> None:
    data = ("<!-- ü -->" + two_inputs().text.replace('type="ReLU"', 'type="relu"')).encode()
    (finding,) = examine(data).report
    (fix,) = finding.to_dict()["fixes"]
    (edit,) = fix["edits"]
    assert data[edit["start"] : edit["stop"]] == b"relu"
    line = data.decode().splitlines()[edit["line"] - 1]
    assert line[edit["column"] - 1 : edit["end_column"] - 1] == "relu"
    assert (fix["safety"], edit["text"]) == ("safe", "ReLU")


def test_a_value_that_is_the_default_makes_a_fix_safe() -> None:
    """The attribute had this value all the time, as its default."""
    text = two_inputs().text
    assert apply_fixes(text.replace("auto_broadcast", "auto_brodcast").encode()).data == text.encode()


def test_a_missing_edge_is_drawn_on_a_line_of_its_own() -> None:
    wrong = (Path(__file__).parent / "beginners" / "missing_edge.xml").read_text("utf-8").splitlines()
    fixed = apply_fixes("\n".join(wrong).encode()).data.decode().splitlines()
    assert [line for line in fixed if line not in wrong] == [
        '        <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>'
    ]
    assert len(fixed) == len(wrong) + 1


@pytest.mark.by_hand(0)
def test_mutants_that_validate_after_their_fixes_compute_what_is_meant() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from mutants_fixed import judged

    outcomes = [judged(path, number) for number in range(20) for path in SAMPLES[:1]]
    assert not [note for outcome, note in outcomes if outcome == "wrong"]
    assert sum(outcome == "repaired" for outcome, _ in outcomes) > 3


def test_ir_11_of_an_ir_10_is_unsafe() -> None:
    """Content that only IR 11 reads takes effect then, and is rejected if it is invalid."""
    info = '<rt_info><attribute name="fused_names" version="0" value="a"/></rt_info>'
    new = two_inputs().text.replace("<output>", f"{info}<output>", 1)
    old = new.replace('version="11"', 'version="10"').encode()
    (finding,) = examine(old).report
    assert (finding.code, [fix.safety for fix in finding.fixes]) == ("R007", [Safety.UNSAFE])
    assert apply_fixes(old).data == old
    assert apply_fixes(old, unsafe=True).data.decode() == new
