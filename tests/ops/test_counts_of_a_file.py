"""Shape rules do no work for lists whose length only a file declares, however long they are."""

from __future__ import annotations

import pytest

import irexec

LAYER = """<layer id="1" name="n" type="{type}" version="{version}">{data}<input>
<port id="0" precision="FP32"><dim>5</dim></port>{ports}</input>
<output><port id="9" precision="FP32"><dim>5</dim></port></output></layer>"""


@pytest.mark.parametrize("count", [300_000_000, 2**32, 2**63 - 1])
@pytest.mark.parametrize(
    ("type", "version", "data", "kinds", "codes"),
    [
        ("SliceScatter", "opset15", "", ["FP32", "I64", "I64", "I64"], ["O001"]),
        ("StridedSlice", "opset1", '<data begin_mask="" end_mask=""/>', ["I64", "I64", "I64"], ["O001"]),
        ("Slice", "opset8", "", ["I64", "I64", "I64"], ["O001"]),
        ("Tile", "opset1", "", ["I64"], []),
    ],
)
def test_a_list_of_any_length_is_checked(
    type: str, version: str, data: str, kinds: list[str], codes: list[str], count: int
) -> None:
    ports = "".join(
        f'<port id="{n}" precision="{kind}"><dim>{5 if kind == "FP32" else count}</dim></port>'
        for n, kind in enumerate(kinds, 1)
    )
    report = irexec.validate(LAYER.format(type=type, version=version, data=data, ports=ports).encode())
    assert [finding.code for finding in report if finding.code[0] == "O"] == codes
