"""Masks of StridedSlice of which OpenVINO refuses the lengths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.tools.fixes.applying import apply_fixes

HOME = Path(__file__).parents[3]


def with_masks(**masks: str) -> str:
    """Return a model of one StridedSlice with these masks, as text."""
    page = (HOME / "docs" / "codes" / "D012.md").read_text()
    model = page.split("```xml\n")[1].split("```")[0]
    return model.replace('begin_mask="1,1" end_mask="1"', " ".join(f'{name}="{mask}"' for name, mask in masks.items()))


@pytest.mark.parametrize(
    ("masks", "found"),
    [
        ({"begin_mask": "0,1", "end_mask": "0,0"}, []),
        ({"begin_mask": "0,1", "end_mask": "0,0", "ellipsis_mask": ""}, []),
        ({"begin_mask": "0,1", "end_mask": "0,0", "new_axis_mask": "0"}, ["new_axis_mask"]),
        ({"begin_mask": "0,1,0", "end_mask": "0,0", "new_axis_mask": "0"}, ["end_mask", "new_axis_mask"]),
        ({"begin_mask": "", "end_mask": "0,0"}, ["begin_mask"]),
        ({"begin_mask": "", "end_mask": "", "new_axis_mask": "0,0"}, ["begin_mask"]),
        ({"end_mask": "0,0"}, ["begin_mask"]),
    ],
)
def test_masks_of_several_lengths_are_found_where_openvino_refuses_them(masks: dict, found: list, tmp_path) -> None:
    """The page allows each mask its own length, and defines missing items: the model runs, and the fix is safe."""
    ov = pytest.importorskip("openvino")
    path = tmp_path / "m.xml"
    path.write_text(with_masks(**masks))
    report = irexec.validate(path)
    assert [(finding.code, finding.attribute) for finding in report] == [("D012", name) for name in found]
    if found:
        with pytest.raises(RuntimeError, match="are_attr_sizes_eq"):
            ov.Core().read_model(path)
        with pytest.warns(UserWarning, match="irexec.validate reports"):
            model = irexec.read_model(path)
        compiled = irexec.compile_model(model)
        before = compiled([np.arange(6, dtype=np.float32).reshape(2, 3), np.int64([0, 1])])[0]
        fixed = apply_fixes(path.read_bytes(), path)
        assert fixed.report.ok
        path.write_bytes(fixed.data)
        after = ov.Core().compile_model(path, "CPU")
        np.testing.assert_array_equal(
            after([np.arange(6, dtype=np.float32).reshape(2, 3), np.int64([0, 1])])[0], before
        )
    else:
        ov.Core().read_model(path)
