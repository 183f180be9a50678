"""Tensors of an ONNX file as arrays: data in the file, and external data in files beside it."""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np

from irexec.core.types import BOOLEAN, STRING, Array, ElementType, is_numpys
from irexec.frontends.onnx.errors import MissingData, Refused, TooLarge
from irexec.frontends.onnx.kinds import element_type
from irexec.frontends.onnx.messages import onnx
from irexec.ir.io.files import open_regular
from irexec.ir.weights.file import POINTER, misplaced

# Element type → the field of elements that are not stored as raw bytes; other types use int32_data.
_FIELDS = {"f32": "float_data", "c64": "float_data", "f64": "double_data", "c128": "double_data"}
_FIELDS |= {"i64": "int64_data", "u64": "uint64_data", "u32": "uint64_data", "string": "string_data"}

_ITEMS = {"float_data": np.float32, "double_data": np.float64, "int64_data": np.int64, "uint64_data": np.uint64}
_ITEMS |= {"int32_data": np.int32}

# The maximum rank of a NumPy array.
_MAX_RANK = 64
_MAX_EXTENT = 1 << 48
# The maximum number of zeros in a dense copy of a sparse tensor.
_MOST_ZEROS = 1 << 24


_mapped: WeakValueDictionary[tuple[int, ...], mmap.mmap] = WeakValueDictionary()


def read_tensor(tensor: onnx.TensorProto, folder: Path | None, raw: Array | None = None) -> tuple[Array, ElementType]:
    """Return the tensor's elements, read-only and possibly unaligned if they are mapped from a file. Raises Refused.

    `raw`: the tensor's raw data, if the message does not contain it. Memory is allocated only after the length of the
    data has been compared with the dims.
    """
    kind = element_type(tensor.data_type)
    if kind is None or kind.dtype is None:
        raise Refused("F006", f"the data type {tensor.data_type} is not a tensor type of ONNX")
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        raise Refused("F006", f"the dims {list(shape)} contain a negative number")
    if len(shape) > _MAX_RANK:
        raise Refused("F006", f"the rank is {len(shape)}, expected at most {_MAX_RANK}")
    # An empty array may have any extent in the file; NumPy refuses those whose product overflows.
    if math.prod(d for d in shape if d) > _MAX_EXTENT:
        raise TooLarge("F006", f"a tensor with the dims {list(shape)} exceeds any memory")
    if tensor.HasField("segment"):
        raise Refused("F006", "tensors stored in segments are not supported")
    count = math.prod(shape)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _from_bytes(_external(tensor, folder, kind.nbytes(count)), kind, shape), kind
    if raw is None and tensor.HasField("raw_data"):
        raw = np.frombuffer(tensor.raw_data, np.uint8)
    if raw is not None:
        if kind is STRING:
            raise Refused("F006", "strings cannot be stored as raw data")
        return _from_bytes(raw, kind, shape), kind
    return _from_items(tensor, kind, shape, count), kind


def dense(sparse: onnx.SparseTensorProto, folder: Path | None) -> tuple[Array, ElementType]:
    """Return a sparse tensor as a dense array. Raises Refused."""
    values, kind = read_tensor(sparse.values, folder)
    places, _ = read_tensor(sparse.indices, folder)
    shape = tuple(sparse.dims)
    if any(d < 0 for d in shape) or math.prod(shape) > max(_MOST_ZEROS, 1024 * values.size):
        raise Refused("F006", f"the dims {list(shape)} do not fit {values.size} values")
    if places.dtype != np.int64 or values.ndim != 1 or places.shape not in (values.shape, (values.size, len(shape))):
        raise Refused("F006", f"the indices have shape {list(places.shape)}, which does not fit {values.size} values")
    flat = places if places.ndim == 1 else places @ np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
    inside = (places >= 0) & (places < (shape if places.ndim == 2 else math.prod(shape)))
    if not inside.all():
        raise Refused("F006", f"an index is out of range for the dims {list(shape)}")
    result = np.zeros(math.prod(shape), kind.dtype)
    result[flat] = values
    return result.reshape(shape), kind


def _from_items(tensor: onnx.TensorProto, kind: ElementType, shape: tuple[int, ...], count: int) -> Array:
    field = _FIELDS.get(kind.name, "int32_data")
    found = len(getattr(tensor, field))
    per_byte = 8 // kind.bitwidth if kind.is_packed else 1
    needed = 2 * count if kind.kind == "c" else -(-count // per_byte)
    if found != needed:
        raise Refused("F006", f"the dims {list(shape)} need {needed} items of {field}, but there are {found}")
    if kind is STRING:
        try:
            texts = [item.decode("utf-8") for item in tensor.string_data]
        except UnicodeDecodeError as error:
            raise Refused("F006", f"a string is not UTF-8: {error.reason}") from None
        return np.array(texts, kind.dtype).reshape(shape)
    assert kind.dtype is not None
    items = np.array(getattr(tensor, field), _ITEMS[field])
    if kind.is_packed:
        return _unpacked(items.astype(np.uint8), kind)[:count].reshape(shape)
    if kind.kind == "c":
        return items.view(kind.dtype).reshape(shape)
    if kind.is_real and field == "int32_data":
        # The bits of each element, as an unsigned integer.
        return items.astype(f"u{kind.dtype.itemsize}").view(kind.dtype).reshape(shape)
    return items.astype(kind.dtype).reshape(shape)


def _from_bytes(data: Array, kind: ElementType, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    if data.size != kind.nbytes(count):
        raise Refused("F006", f"{kind}{list(shape)} needs {kind.nbytes(count)} bytes, but its data has {data.size}")
    dtype = kind.dtype
    assert dtype is not None
    if kind.is_packed:
        return _unpacked(data, kind)[:count].reshape(shape)
    if kind is BOOLEAN:
        return np.asarray(data != 0).reshape(shape)
    array = data.view(dtype.newbyteorder("<") if is_numpys(dtype) else dtype)
    return array.astype(dtype, copy=False).reshape(shape)


def _unpacked(data: Array, kind: ElementType) -> Array:
    """Unpack elements of 4 or 2 bits, the lowest bits of a byte first."""
    width = kind.bitwidth
    parts = (data[:, None] >> np.arange(0, 8, width, dtype=np.uint8)) & ((1 << width) - 1)
    codes = parts.astype(np.uint8).reshape(-1)
    if kind.is_real:
        assert kind.dtype is not None
        return np.asarray(codes.view(kind.dtype))
    if kind.is_signed:
        sign = 1 << (width - 1)
        return ((codes ^ sign).astype(np.int8) - np.int8(sign)).astype(kind.dtype)
    return codes.astype(kind.dtype)


def _external(tensor: onnx.TensorProto, folder: Path | None, nbytes: int) -> Array:
    """Return the mapped bytes of external data. Only regular files in or below the model's own folder are opened."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise Refused("F007", "external data can be read only if the model is a file")
    try:
        base, path = folder.resolve(), (folder / location).resolve()
        outside = not location or os.path.isabs(location) or not path.is_relative_to(base)
    except (OSError, ValueError, RuntimeError) as error:
        raise Refused("F007", f"the location {location!r} is not a path: {error}") from None
    if outside:
        raise Refused("F007", f"the location {location!r} is not within the model's folder")
    offset, length = _number(entries, "offset", 0), _number(entries, "length", nbytes)
    if length != nbytes:
        raise Refused("F006", f"the tensor needs {nbytes} bytes, but its external data has the length {length}")
    try:
        if not path.is_file():
            raise MissingData(location)
        with open_regular(path, "external data of the model") as file:
            status = os.fstat(file.fileno())
            size = status.st_size
            beginning = file.read(4096)
            if offset + nbytes > size or beginning.startswith(POINTER):
                if (known := misplaced(beginning)) is not None:
                    kind, hint = known
                    advice = f"; {hint}" if hint else ""
                    raise Refused("F006", f"{location!r} is {kind}, not the data of tensors{advice}")
                message = f"the data needs bytes {offset} to {offset + nbytes} of {location!r}, which has {size} bytes"
                raise Refused("F006", message)
            if not nbytes:
                return np.zeros(0, np.uint8)
            # All tensors of a file share one mapping.
            key = (status.st_dev, status.st_ino, status.st_mtime_ns, size)
            mapped = _mapped.get(key) or mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            _mapped[key] = mapped
    except OSError as error:
        raise Refused("F015", f"{location!r} cannot be read: {error.strerror or error}") from None
    return np.frombuffer(mapped, np.uint8, nbytes, offset)


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refused("F006", f"the external data's {key} is {text[:40]!r}, which is not a size")
    return int(text)
