"""Properties of logging."""

from __future__ import annotations

from irexec.openvino.properties.known import Level
from irexec.openvino.properties.names import Property

level = Property("LOG_LEVEL", Level)

__all__ = ["Level"]
