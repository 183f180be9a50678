"""Properties of logging."""

from __future__ import annotations

from irexec.api.openvino.properties.known import Level
from irexec.api.openvino.properties.names import Property

level = Property("LOG_LEVEL", Level)

__all__ = ["Level"]
