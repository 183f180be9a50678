"""The inputs of a language model for a text, as the programs give them that run its exports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.tools.language.decoder import Decoder
from irexec.tools.language.folder import Folder

L = np.int64


@pytest.mark.parametrize(("config", "first", "seen"), [({"conv_kernel": 4}, 4, 1), ({}, 6, 7)])
def test_positions_and_mask(config: dict[str, int], first: int, seen: int, tmp_path: Path) -> None:
    """Exports of Mamba are given positions in the window of the convolution, and of a later call only its own mask."""
    given = {
        name: ops.parameter(shape, L, name=name)
        for name, shape in (("input_ids", [-1, -1]), ("attention_mask", [-1, -1]), ("cache_position", [-1]))
    }
    for name, port in given.items():
        port.output(0).names = {name}
    logits = ops.one_hot(given["input_ids"], np.array(8, L), np.float32(1), np.float32(0), axis=-1)
    irexec.save_model(irexec.Model([logits], [*given.values()]), tmp_path / "openvino_model.xml")
    (tmp_path / "config.json").write_text(json.dumps(config))
    decoder = Decoder(Folder(tmp_path), np.arange(6, dtype=L)[None])
    tokens, mask, position = decoder.inputs(decoder.start, 0)
    assert (tokens.shape, mask.shape, position.tolist()) == ((1, 6), (1, 6), [*range(first)])
    tokens, mask, position = decoder.inputs(np.array([[3]], L), 6)
    assert (tokens.shape, mask.shape, position.tolist()) == ((1, 1), (1, seen), [6])
