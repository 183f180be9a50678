"""Validation: shape and type inference over a model, declared against inferred."""

from irexec.inference.infer import infer_model

__all__ = ["infer_model"]
