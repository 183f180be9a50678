"""RNNCell and RNNSequence: constraints that all recurrent operators share."""

from __future__ import annotations

import numpy as np
import pytest
from support.recurrent import breaches, cell_shapes, op_of, sequence_arrays, sequence_shapes

from irexec.ops.spec.operator import ConstraintError


def test_c1_number_of_activations() -> None:
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, activations=["tanh", "tanh"]) == {"C1"}
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, activations=[]) == {"C1"}


def test_c2_clip_is_not_negative() -> None:
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, clip=-1.0) == {"C2"}


def test_c4_lengths_beyond_the_sequence() -> None:
    assert breaches("RNNSequence", sequence_shapes("RNN"), [2, 6], hidden_size=4, direction="forward") == {"C4"}
    arrays = sequence_arrays(np.random.default_rng(0), "RNN", 2, 3, 2, 2, 1, [1, 4], 1)
    with pytest.raises(ConstraintError, match="expected 0 to 3"):
        op_of("RNNSequence")(*arrays, hidden_size=2, direction="forward")
