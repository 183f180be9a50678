"""Packing of elements narrower than 8 bits: `pack_data` and `unpack_data`."""

from __future__ import annotations

from irexec.api.openvino.helpers.packing import pack_data, unpack_data

__all__ = ["pack_data", "unpack_data"]
