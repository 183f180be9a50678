"""Fixed pages: errata become corrections of the text, and everything else stays the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.amounts import amount
from support.seed_pages import PAGES

from irexec.tools.doctest.doctest import check_page
from irexec.tools.fixes.applying import Examined
from irexec.tools.fixes.pages import fix_page

ABS = """A page, *kept* as it is.\r
\r
**Versioned name**: *Abs-1*\r
\r
.. code-block:: xml\r
\r
   <layer ... type="Abs">\r
       <input>\r
           <port id="0" precision="I32">   <!-- data -->\r
               <dim>3</dim> <!-- values: [-1, 2, -3] -->\r
           </port>\r
       </input>\r
       <output>\r
           <port id="1" precision="I32">\r
               <dim>3</dim> <!-- values: [1, 2, 3] -->\r
           </port>\r
       </output>\r
   </layer>\r
\r
Ünïcode ends it.\r
"""


def fixed(tmp_path: Path, text: str | bytes, *, name: str = "page.rst", unsafe: bool = False) -> str:
    """Return the text of a page after its corrections."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before, after = fix_page(path, unsafe=unsafe)
    assert path.read_bytes() == after.data
    assert before == (text if isinstance(text, bytes) else text.encode())
    return after.data.decode()


# Wrong text → the correct text in its place, in the page above.
SAFE = [
    ("[1, 2, 7]", "[1, 2, 3]"),
    ("<dim>4</dim> <!-- values: [1, 2, 3]", "<dim>3</dim> <!-- values: [1, 2, 3]"),
    ('<port id="1" precision="FP32">', '<port id="1" precision="I32">'),
    ('<port id="1" precision="INT32">', '<port id="1" precision="I32">'),
    ('<port id="1" precision=I32>', '<port id="1" precision="I32">'),
    ("<port id=“1” precision=”I32”>", '<port id="1" precision="I32">'),
    ('<port id="1", precision="I32">', '<port id="1" precision="I32">'),
    ('<port id="1" , precision="I32">', '<port id="1" precision="I32">'),
    ('<port id="1" precision "I32">', '<port id="1" precision="I32">'),
    ('<port id="1" precision="I32>', '<port id="1" precision="I32">'),
    ('<port id="1" precision="I32">>', '<port id="1" precision="I32">'),
    ('<port id="1" precision="I32"/>', '<port id="1" precision="I32">'),
    ('<layer ... type="abs">', '<layer ... type="Abs">'),
    ("           </port>\r\n       </input>\r\n       <output>", "           </port>\r\n       <output>"),
    ("       <input>\r\n       <output>", "       </input>\r\n       <output>"),
    ("       </output>\r\n   </port>\r\n   </layer>", "       </output>\r\n   </layer>"),
    ("<dim>3/dim> <!-- values: [1,", "<dim>3</dim> <!-- values: [1,"),
    ("<dim>3</xdim> <!-- values: [1,", "<dim>3</dim> <!-- values: [1,"),
    ("<dim>3<dim> <!-- values: [1,", "<dim>3</dim> <!-- values: [1,"),
    ("<dim>3 <!-- values: [1,", "<dim>3</dim> <!-- values: [1,"),
    ("< !-- data -->", "<!-- data -->"),
]


@pytest.mark.parametrize(("wrong", "right"), SAFE)
def test_a_slip_becomes_right_and_nothing_else_changes(tmp_path: Path, wrong: str, right: str) -> None:
    if right not in ABS:  # The missing end tag.
        wrong, right = right, wrong
    text = ABS.replace(right, wrong)
    assert text != ABS
    assert fixed(tmp_path, text) == ABS


def test_a_page_that_is_right_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "page.rst"
    path.write_bytes(ABS.encode())
    path.chmod(0o444)
    assert fix_page(path)[1].made == []


def test_other_encodings(tmp_path: Path) -> None:
    wrong = ABS.replace("[1, 2, 3]", "[1, 2, 7]")
    path = tmp_path / "page.rst"
    path.write_bytes("\ufeff".encode() + wrong.encode())
    assert fix_page(path)[1].data.decode() == "\ufeff" + ABS
    path.write_bytes("\ufeff".encode("utf-16-le") + wrong.encode("utf-16-le"))
    assert fix_page(path)[1].data.decode("utf-16") == ABS


def test_attributes_of_a_layer_move_to_its_data(tmp_path: Path) -> None:
    text = (
        '<layer id="0" reverse="true" exclusive="false" name="a" type="CumSum" version="opset3">\n'
        '    <input>\n        <port id="0" precision="FP32"><dim>2</dim></port>\n'
        '        <port id="1" precision="I32"/>\n    </input>\n'
        '    <output>\n        <port id="2" precision="FP32"><dim>2</dim></port>\n    </output>\n</layer>\n'
    )
    wanted = text.replace(' reverse="true" exclusive="false"', "").replace(
        "\n    <input>", '\n    <data reverse="true" exclusive="false"/>\n    <input>'
    )
    assert fixed(tmp_path, text, name="snippet.xml") == wanted


def test_data_without_an_end_and_sections_that_go_on(tmp_path: Path) -> None:
    text = (
        '<layer ... type="Range" version="opset4">\n    <data output_type="i32">\n    <input>\n'
        '        <port id="0"></port> <!-- start value: 2 -->\n    </input>\n    <input>\n'
        '        <port id="1"></port> <!-- stop value: 8 -->\n        <port id="2"></port> <!-- step value: 3 -->\n'
        '    </input>\n    <output>\n        <port id="3">\n            <dim>2</dim> <!-- values: [2, 4] -->\n'
        "        </port>\n    </output>\n</layer>\n"
    )
    wanted = text.replace('"i32">', '"i32"/>').replace("    </input>\n    <input>\n", "").replace("[2, 4]", "[2, 5]")
    assert fixed(tmp_path, text, name="range.md") == wanted


def test_words_of_a_program(tmp_path: Path) -> None:
    text = "Versioned name: Abs-1\n\n```\ndata = [-1.5, 2]   # given\noutput = [1.0, 2.0]   # made\n```\n"
    assert fixed(tmp_path, text, name="page.md") == text.replace("[1.0,", "[1.5,")


def test_where_two_things_may_be_wrong_a_person_decides(tmp_path: Path) -> None:
    text = ABS.replace("<!-- values: [1, 2, 3] -->", "").replace("[-1, 2, -3]", "[-1, 2]")
    assert fixed(tmp_path, text) == text
    assert fixed(tmp_path, text, unsafe=True) == text.replace("<dim>3</dim>", "<dim>2</dim>")
    both = ABS.replace("<dim>3</dim>", "<dim>4</dim>", 1)
    assert fixed(tmp_path, both) == ABS  # The values give the documented result.


def test_the_page_in_html_is_corrected_where_it_is_plain_text(tmp_path: Path) -> None:
    text = "<h1>Versioned name: Abs-1</h1><pre>data = [-1, 2]\noutput = [1, 3]</pre>"
    assert fixed(tmp_path, text, name="page.html") == text.replace("3", "2")
    escaped = f"<pre>{ABS.replace('[1, 2, 3]', '[1, 2, 7]').replace('<', '&lt;').replace('>', '&gt;')}</pre>"
    assert fixed(tmp_path, escaped, name="page.html") == escaped.replace("7", "3")
    dims = escaped.replace("[1, 2, 7]", "[1, 2, 3]").replace('I32"', 'FP32"', 2).replace('FP32"', 'I32"', 1)
    assert fixed(tmp_path, dims, name="page.html") == dims  # Markup of the page is not changed.


FAULTY = ["slice-scatter-15.page.txt", "onnx-scatter-nd.page.txt", "scatter-nd-update-15.rst"]


@pytest.mark.parametrize("name", FAULTY[: amount(3, 2)])
def test_the_errata_of_a_page_are_gone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    shutil.copyfile(PAGES / name, path)
    path.chmod(0o644)
    assert check_page(path).errata
    _, safe = fix_page(path)
    # Two results are possible for updates of one position in an undefined order, and either may be printed.
    assert {finding.message.partition(":")[2][:12] for finding in safe.report.errors} <= {" no order of"}
    _, after = fix_page(path, unsafe=True)
    assert not check_page(path).errata
    assert not after.report.errors
    assert fix_page(path, unsafe=True)[1].made == []


def test_somebody_else_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irexec.tools.fixes import pages
    from irexec.tools.fixes.replacing import FileChanged

    path = tmp_path / "page.rst"
    path.write_bytes(ABS.replace("[1, 2, 3]", "[1, 2, 7]").encode())
    examine_page = pages.examine_page

    def slow(data: bytes, path: Path) -> Examined:
        path.write_text("theirs")
        return examine_page(data, path)

    monkeypatch.setattr(pages, "examine_page", slow)
    with pytest.raises(FileChanged):
        fix_page(path)
    assert path.read_text() == "theirs"


GATHER = """# Gather

```xml
<layer id="1" type="Gather" version="opset8">
    <data {attribute}="1"/>
    <input>
        <port id="0" precision="I32"><dim>2</dim><dim>5</dim></port> <!-- [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]] -->
        <port id="1" precision="I32"><dim>2</dim><dim>3</dim></port> <!-- [[0, 0, 4], [4, 0, 0]] -->
        <port id="2" precision="I32"/> <!-- 1 -->
    </input>
    <output>
        <port id="3" precision="I32"><dim>2</dim><dim>{last}</dim></port> <!-- [[1, 1, 5], [10, 6, 6]] -->
    </output>
</layer>
```
"""


def test_a_cause_is_corrected_before_its_consequences(tmp_path: Path) -> None:
    """Without the intended attribute, the result would have three dims."""
    path = tmp_path / "page.md"
    path.write_text(GATHER.format(attribute="batch_dim", last=4))
    assert fix_page(path)[1].made == [], "which of the two is wrong is not certain"
    _, result = fix_page(path, unsafe=True)
    assert path.read_text() == GATHER.format(attribute="batch_dims", last=3)
    assert [finding.code for finding, _ in result.made] == ["D001", "T002"]
    assert result.report.ok


def test_no_correction_contradicts_documented_values(tmp_path: Path) -> None:
    """The attribute is unknown, so the dims that the operator produces without it do not fit the values."""
    path = tmp_path / "page.md"
    text = GATHER.format(attribute="zzzzzz", last=4)
    path.write_text(text)
    _, result = fix_page(path, unsafe=True)
    assert path.read_text() == text and result.made == []
    assert {finding.code for finding in result.report.errors} == {"D001", "P005"}


def test_a_cause_whose_correction_does_not_help_is_left_alone(tmp_path: Path) -> None:
    """The values are those of batch_dims 0, so the attribute is not the error."""
    path = tmp_path / "page.md"
    values = "[[[1, 1, 5], [5, 1, 1]], [[6, 6, 10], [10, 6, 6]]]"
    text = GATHER.format(attribute="batch_dim", last="2</dim><dim>3").replace("[[1, 1, 5], [10, 6, 6]]", values)
    path.write_text(text)
    _, result = fix_page(path, unsafe=True)
    assert path.read_text() == text and result.made == []
