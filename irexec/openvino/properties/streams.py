"""Streams: how many inferences run beside each other."""

from __future__ import annotations

from irexec.openvino.properties.names import Property

num = Property("NUM_STREAMS")
