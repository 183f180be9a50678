"""Inference: what is known of every value of a model for given inputs, and what is wrong; it changes nothing."""

from irexec.inference.infer import infer, infer_node, set_types
from irexec.inference.inference import Inference

__all__ = ["Inference", "infer", "infer_node", "set_types"]
