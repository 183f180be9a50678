"""Transformations of whole models that tools apply before they save them.

irexec runs layers unchanged: transformations that only prepare a model for another device's kernels have no effect.
"""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.core import get_version
from irexec.api.openvino.editing import changed, checked_model, current
from irexec.api.openvino.exceptions import NotOffered
from irexec.api.openvino.passes import ConstantFolding, LowLatency2, MakeStateful
from irexec.api.openvino.passes.identities import remove_identities
from irexec.api.openvino.passes.stateful import Pairs
from irexec.api.openvino.quantization import compress_quantized_weights
from irexec.api.openvino.saving import compress

__version__ = get_version()


def apply_moc_transformations(model: Any, cf: bool, smart_reshape: bool = False) -> None:
    """Fold constants and remove layers that return an input unchanged; `cf` makes no difference, as in OpenVINO.

    Fusions, which do not change the results, are not applied.
    """
    ConstantFolding().run_on_model(model)
    remove_identities(model)


def apply_moc_legacy_transformations(model: Any, params_with_custom_types: Any) -> None:
    """Do nothing: irexec needs no legacy transformations."""
    checked_model(model)


def apply_make_stateful_transformation(model: Any, param_res_names: Pairs | None = None, **named: Any) -> None:
    """Apply passes.MakeStateful; `pairs_to_replace` is another name of `param_res_names`."""
    pairs = named.pop("pairs_to_replace") if param_res_names is None else param_res_names
    MakeStateful(pairs).run_on_model(model)


def apply_low_latency_transformation(model: Any, use_const_initializer: bool = True) -> None:
    """Apply passes.LowLatency2."""
    LowLatency2(use_const_initializer).run_on_model(model)


def compress_model_transformation(model: Any) -> None:
    """Convert f32 constants to f16; they are converted back when the model runs."""
    compress(checked_model(model))
    changed(model)


def apply_fused_names_cleanup(model: Any) -> None:
    """Remove the names of the original layers from fused layers."""
    for node in checked_model(model).walk():
        for key in [key for key in node.rt_info if key.startswith("fused_names")]:
            del node.rt_info[key]


def compress_quantize_weights_transformation(model: Any) -> None:
    """Replace quantized weights by integers with a scale: see quantization.py."""
    compress_quantized_weights(current(checked_model(model)))


def _not_offered(what: str) -> Any:
    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise NotOffered(what, "apply it with OpenVINO, and read the model that it saves")

    return refuse


apply_pruning_transformation = _not_offered("pruning")
convert_sequence_to_tensor_iterator_transformation = _not_offered("the conversion of sequences to TensorIterator")
paged_attention_transformation = _not_offered("paged attention")
stateful_to_stateless_transformation = _not_offered("the removal of state from models")
