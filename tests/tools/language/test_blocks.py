"""The blocks of a language model by the names of its modules."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.tools.language.blocks import blocks_of

F = np.float32


@pytest.mark.parametrize("head", ["lm_head", "proj_out", "embed_out", "output"])
def test_a_module_from_which_no_block_is_computed_is_the_head(head: str) -> None:
    x = ops.parameter([1, 4], F, name="x")
    first, middle, last = np.eye(4, dtype=F)[None].repeat(3, 0)
    embedded = ops.matmul(x, first, False, False, name="__module.decoder.embed_positions/aten::linear/MatMul")
    inner = ops.matmul(embedded, middle, False, False, name="__module.decoder.layers.0.mlp/aten::linear/MatMul")
    logits = ops.matmul(inner, last, False, False, name=f"__module.{head}/aten::linear/MatMul")
    found = blocks_of(irexec.Model([logits], [x]))
    assert {node.friendly_name: str(found[node]) for node in found if node.type == "MatMul"} == {
        "__module.decoder.embed_positions/aten::linear/MatMul": "embedding",
        "__module.decoder.layers.0.mlp/aten::linear/MatMul": "block 0, MLP",
        f"__module.{head}/aten::linear/MatMul": "head",
    }
