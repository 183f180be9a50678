"""Inference: the type of every value of a model for given inputs, and findings. The model is not changed."""

from irexec.model.inference.infer import infer, infer_node, infer_types, set_types
from irexec.model.inference.inference import Inference

__all__ = ["Inference", "infer", "infer_node", "infer_types", "set_types"]
