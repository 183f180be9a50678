"""irexec.sensitivity on ten kinds of networks in int8: a damaged quantizer is ranked first, and few layers
correct it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import spoilt
from support.spoilt import NETWORKS, quantized, samples

import irexec

pytestmark = pytest.mark.any_python

Spoil = Callable[[Any], None]
# The kind of damage, and the position among the quantizers of activations, or of weights.
CASES: dict[str, tuple[Spoil, int]] = {
    "vgg": (spoilt.weights_clipped, 2),
    "resnet": (spoilt.too_small, 9),
    "mobilenet": (spoilt.few_levels, 14),
    "densenet": (spoilt.weights_per_tensor, 3),
    "inception": (spoilt.too_small, 6),
    "unet": (spoilt.shifted, 4),
    "transformer": (spoilt.too_large, 14),
    "vision_transformer": (spoilt.scaled, 20),
    "mixer": (spoilt.weights_shifted, 9),
    "shufflenet": (spoilt.too_small, 7),
}


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_spoilt_quantizer_is_first_and_its_layers_are_the_scope(name: str) -> None:
    model = NETWORKS[name]()
    given = samples(model, 2)
    other = quantized(model, given)
    spoil, place = CASES[name]
    is_weights = spoil in spoilt.WEIGHTS
    node = (spoilt.weight_quantizers if is_weights else spoilt.activation_quantizers)(other)[place]
    spoil(node)
    found = irexec.sensitivity(model, other, given)
    first = found.rows[0]
    assert first.name == node.friendly_name
    assert found.recovered >= 0.9
    assert found.layers and {*found.layers} <= {*first.layers}
    layers = [n for n in model.nodes if n.type not in ("Const", "Parameter", "Result")]
    assert len(found.layers) <= max(1, 0.05 * len(layers))
