"""The frontend of JAX, which irexec does not have: OpenVINO converts such models to IR."""

from __future__ import annotations

from irexec.api.openvino.exceptions import missing

Decoder = missing("Decoder", "the conversion of JAX models", "convert the model with OpenVINO")

__all__ = ["Decoder"]
