"""The `.bin` beside a model: its bytes, mapped into memory, and the constants in it."""

from __future__ import annotations

import math
import mmap
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from irexec.core.diagnostics.diagnostic import LayerRef, Place
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import INT64_MAX
from irexec.core.records import field, record
from irexec.core.types import BF16, BOOLEAN, F16, F32, F64, STRING, Array, ElementType, Stored
from irexec.core.types.shape import product_within
from irexec.ir.document import Layer
from irexec.ir.io.files import open_regular
from irexec.ir.text import listed
from irexec.ir.weights.packing import to_array, unpack
from irexec.ir.weights.strings import read_strings
from irexec.ir.weights.written import read_constant

_MAX_RANK = 64
# Only constants up to this size (masks, limits) are searched for NaN: searching a large one would read it from disk.
_MAX_SEARCHED = 1 << 16
# The sizes up to which a search for infinities in Python takes no longer than one in NumPy, and than importing NumPy.
_MAX_BYTEWISE, _MAX_WITHOUT_NUMPY = 1 << 13, 1 << 18
# All bits of the exponent of a NaN or infinity are 1. By type: the possible last bytes of such a number, and the bits
# of the exponent.
_EXPONENTS = {
    F32: (b"\x7f\xff", 0x7F80_0000),
    F64: (b"\x7f\xff", 0x7FF0_0000_0000_0000),
    BF16: (b"\x7f\xff", 0x7F80),
    F16: (b"\x7c\x7d\x7e\x7f\xfc\xfd\xfe\xff", 0x7C00),
}
# Constants up to this size are copied, so that they survive truncation of the file: reading beyond the end of a mapped
# file kills the process.
_MAX_COPIED = 1 << 12
# The size in bytes of an element of NumPy's StringDType.
_STRING_SIZE = 16
# The size below which releasing pages costs more than it saves.
_MIN_RELEASED = 1 << 16


POINTER = b"version https://git-lfs"
"""The beginning of a file that Git LFS has not fetched."""
FURTHER = 1 << 59
"""The offset of the first constant that is not in the `.bin`: those in the text form of a model, and those that the
dumps of a compiler do not share with the model.
"""


@record(frozen=True)
class RandomWeights:
    """The request to draw weights that are not in the file. `constants`: the values of some constants, by name."""

    seed: int = 0
    constants: Mapping[str, Any] = field(default_factory=dict)


class _Use(NamedTuple):
    """A range of the weights that a constant uses, and its origin: the element with the attributes, and its layer."""

    offset: int
    end: int
    element: int
    layer: Layer | None

    @property
    def ref(self) -> LayerRef | None:
        return None if self.layer is None else self.layer.ref

    def at(self, attribute: str) -> At | None:
        """Return the location of one of the attributes."""
        return None if self.element < 0 else At(self.element, attribute)

    def report(self, findings: Findings, code: str, message: str, attribute: str, **details: Any) -> None:
        """Report a finding about one of the attributes."""
        findings.add(code, message, at=self.at(attribute), layer=self.ref, attribute=attribute, **details)


def weights_beside(xml_path: str | os.PathLike[str]) -> str:
    """Return the path of the weights that belong to a file: its path with the last suffix replaced by `.bin`."""
    return os.path.splitext(os.fspath(xml_path))[0] + ".bin"


class Weights:
    """The bytes of a `.bin`. `data` is None if there is no such file, which is an error only if a constant needs it.

    `reason`: the reason why there are no weights, if a finding has already stated it.
    """

    def __init__(self, data: bytes | memoryview | None = None, *, file: str | None = None, reason: str = "") -> None:
        self.further: bytes | memoryview = b""
        """The bytes of the constants that are not in the `.bin`, which begin at the offset FURTHER."""
        self.file = file
        self.reason = reason
        self._data = None if data is None else memoryview(data).cast("B")
        # The number of bytes. A pointer to the file holds no constants, however small they are.
        is_there = self._data is not None and bytes(self._data[: len(POINTER)]) != POINTER
        self.size = self._data.nbytes if self._data is not None and is_there else 0
        self._uses: list[_Use] = []
        # The ranges outside the weights, and the number of all constants.
        self._lacking: list[_Use] = []
        self._constants = 0
        # False once a constant could not be read: it may use the bytes that seem unused.
        self._all_read = True

    @classmethod
    def find(
        cls,
        xml_path: str | os.PathLike[str] | None,
        weights: str | os.PathLike[str] | bytes | memoryview | Weights | None = None,
    ) -> Weights:
        """Return the given weights, else the file beside the model.

        A file is mapped, not read. Weights of another reading are used again without opening their file. Raises OSError
        if a path is given and cannot be opened.
        """
        if isinstance(weights, Weights):
            found = cls(weights._data, file=weights.file, reason=weights.reason)
            found.further = weights.further
            return found
        if isinstance(weights, bytes | bytearray | memoryview):
            return cls(weights)
        if weights is not None:
            return cls._map(os.fspath(weights))
        path = None if xml_path is None else weights_beside(xml_path)
        if path is None:
            return cls()
        return cls._map(path) if os.path.isfile(path) else cls(file=path)

    @classmethod
    def _map(cls, path: str) -> Weights:
        with open_regular(path, "the weights file") as stream:
            # An empty file cannot be mapped.
            empty = os.fstat(stream.fileno()).st_size == 0
            mapping = None if empty else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return cls(b"" if mapping is None else memoryview(mapping), file=path)

    def of_layer(self, layer: Layer, findings: Findings, plain: dict[str, Any] | None = None) -> Stored | None:
        """Return the value of a `Const` layer; None, with findings, if unreadable. `plain`: see `plain_constant`."""
        written = plain or read_constant(layer, findings)
        value = None
        if written is not None:
            value = self.constant(**written, findings=findings, element=layer.data_at, layer=layer)
        self._all_read = self._all_read and value is not None
        return value

    def constant(
        self,
        element_type: ElementType,
        shape: tuple[int, ...],
        offset: int,
        size: int,
        findings: Findings,
        element: int = -1,
        layer: Layer | None = None,
    ) -> Stored | None:
        """Return the constant in a range of the weights; None, with findings, if the range does not contain it.

        `element`: the number of the element with the attributes, `layer`: the layer that contains it.

        The array is read-only. A large array is a view of the file if its elements have whole bytes: the file must not
        be truncated or written in place while the model exists (replacing it is safe). A view may be unaligned. Every
        size is checked before memory is allocated, which is then at most eight times the size of the range.
        """

        self._constants += 1
        use = _Use(offset, offset + size, element, layer)
        count = _count(element_type, shape) if len(shape) <= _MAX_RANK else None
        if count is None:
            reason = (
                f"has more than {_MAX_RANK} dimensions" if len(shape) > _MAX_RANK else "has a size that exceeds 64 bits"
            )
            message = f"shape [{listed(shape)}] {reason}"
            use.report(findings, "C013", message, "shape")
            return None
        needed = size if element_type is STRING else element_type.nbytes(count)
        if size < needed:
            wanted = f"at least {needed} for {element_type}[{listed(shape)}]"
            message = f"the size is {size} bytes, but the constant needs {needed}"
            use.report(findings, "C003", message, "size", allowed=wanted)
        elif size > max(needed, 1):
            # OpenVINO writes one byte for a constant without elements.
            message = f"the size is {size} bytes, but the constant needs only {needed}"
            use.report(findings, "C004", message, "size", allowed=str(needed), candidates=(str(needed),))
        if offset >= FURTHER and self.further:
            raw = memoryview(self.further)[offset - FURTHER :][:needed]
            return self._of(raw, element_type, shape, count, use, findings)
        data = self._data
        if (data is None and needed) or (offset + size > self.size and (size or data is not None)):
            self._lacking.append(use)
            return None
        if size < needed:
            return None
        self._uses.append(use)
        raw = memoryview(b"") if data is None else data[offset : offset + needed]
        return self._of(raw, element_type, shape, count, use, findings)

    def _of(
        self,
        raw: memoryview,
        element_type: ElementType,
        shape: tuple[int, ...],
        count: int,
        use: _Use,
        findings: Findings,
    ) -> Stored | None:
        if element_type is STRING:
            return self._strings(raw, shape, count, use, findings)
        return self._numbers(raw, element_type, shape, use, findings)

    @staticmethod
    def _strings(raw: memoryview, shape: tuple[int, ...], count: int, use: _Use, findings: Findings) -> Stored | None:
        try:
            strings = read_strings(raw.tobytes())
        except ValueError as error:
            use.report(findings, "C007", f"the string constant cannot be read: {error}", "offset")
            return None
        if len(strings) != count:
            message = f"the string constant contains {len(strings)} strings, but its shape requires {count}"
            use.report(findings, "C007", message, "shape", found=f"[{listed(shape)}]")
            return None
        return stored(STRING, shape, raw.tobytes())

    @staticmethod
    def _numbers(
        data: memoryview, element_type: ElementType, shape: tuple[int, ...], use: _Use, findings: Findings
    ) -> Stored:
        raw = data.tobytes() if data.nbytes <= _MAX_COPIED else data
        held = stored(element_type, shape, raw)
        if element_type is BOOLEAN:
            if others := bytes(raw).translate(None, b"\0\1"):
                message = f"a byte of the boolean constant is {max(others)} and is treated as true"
                use.report(findings, "C014", message, "offset")
        elif element_type.is_real and held.size <= _MAX_SEARCHED and not element_type.is_packed:
            count = 0 if _is_finite(raw, element_type) else _spoilt(held.array)
            if count:
                message = f"{count} of the constant's {held.size} values are NaN or infinity"
                use.report(findings, "C011", message, "offset")
        return held

    def check_usage(self, findings: Findings) -> None:
        """Report constants outside the weights, overlapping constants, and bytes that no constant uses."""
        if self._lacking and not self.reason:
            self._report_lacking(findings)
        self._report_shares(findings)

    @property
    def missing(self) -> str:
        """The reason why there are no weights; empty if there are weights."""
        if self._data is not None:
            return ""
        return self.reason or (f"{self.file} {_why_not(self.file)}" if self.file else "none were given")

    def _report_lacking(self, findings: Findings) -> None:
        """Report once for all constants outside the weights: the file is missing, or is too short."""
        first, count = self._lacking[0], len(self._lacking)
        needed = max(use.end for use in self._lacking)
        affected = f"{count} of {self._constants} constants affected"
        details: dict[str, Any] = {"at": first.at("offset"), "layer": first.ref if count == 1 else None}
        details["attribute"] = "offset"
        if self._data is None:
            where = f": {self.missing}" if self.file else ""
            message = f"there are no weights{where}; {needed:,} bytes are needed, {affected}"
            hint = "use --weights to give another file, or --random-weights to draw them" if self.file else None
            findings.add("C010", message, hint=hint, **details)
        elif (known := misplaced(self._data)) is not None:
            kind, hint = known
            message = f"{self.file or 'the weights'} is {kind}, not the weights of a model; {affected}"
            findings.add("C002", message, hint=hint, **details)
        elif count == 1:
            message = f"bytes {first.offset} to {first.end} are outside the weights, which have {self.size} bytes"
            allowed = f"at most {self.size - (first.end - first.offset)}"
            findings.add("C002", message, found=str(first.offset), allowed=allowed, **details)
        else:
            name = self.file or "the weights"
            message = f"{name} is too short: it has {self.size:,} bytes, but {needed:,} are needed; {affected}"
            hint = "the file may have been cut off when it was copied; use --weights to give another file"
            hint = hint if self.file else None
            findings.add(
                "C002", message, found=f"{self.size:,} bytes", allowed=f"{needed:,} bytes", hint=hint, **details
            )

    def _report_shares(self, findings: Findings) -> None:
        """Report overlapping ranges, and gaps. Constants with exactly the same range are one blob stored once."""
        covered, gaps = 0, []
        last: _Use | None = None
        for use in sorted(self._uses, key=lambda use: use[:2]):
            if use.offset == use.end:
                continue
            if use.offset > covered:
                gaps.append((covered, use.offset))
            if last is not None and use.offset < last.end and use[:2] != last[:2]:
                other = last.at("offset")
                related = () if other is None else ((f"{last.ref or 'the other constant'}", other),)
                message = f"bytes {use.offset} to {min(use.end, last.end)} are also used by another constant"
                findings.add("C008", message, at=use.at("offset"), layer=use.ref, related=related)
            if last is None or use.end >= last.end:
                last = use
            covered = max(covered, use.end)
        if covered < self.size:
            gaps.append((covered, self.size))
        # A text form leaves out the small constants of the file that it was printed from.
        if gaps and self._all_read and not self.further:
            unused = sum(end - start for start, end in gaps)
            first = f"the first from {gaps[0][0]} to {gaps[0][1]}"
            message = f"{unused} of {self.size} bytes of the weights are not used by any constant, {first}"
            findings.add("C009", message, place=Place(file=self.file))


@lru_cache(maxsize=1 << 10)
def _count(element_type: ElementType, shape: tuple[int, ...]) -> int | None:
    """Return the number of elements of a constant; None if it is more than an array can contain."""
    # For an empty array NumPy still limits the byte count, computed without the axes of extent 0.
    itemsize = _STRING_SIZE if element_type is STRING else max(element_type.bitwidth // 8, 1)
    extents = product_within([extent for extent in shape if extent], INT64_MAX // itemsize)
    return 0 if extents is not None and 0 in shape else extents


def stored(element_type: ElementType, shape: tuple[int, ...], raw: bytes | memoryview) -> Stored:
    """Return the constant with these bytes, packed as in the file."""
    return Stored(element_type, shape, raw, _array)


def _array(raw: bytes | memoryview, element_type: ElementType, shape: tuple[int, ...]) -> Array:
    """Return the read-only array of a constant's bytes; a view of them if its elements have whole bytes."""
    if element_type is STRING:
        array = np.array(read_strings(bytes(raw)), STRING.dtype)
    elif element_type.is_packed:
        array = to_array(unpack(np.frombuffer(raw, np.uint8), element_type, math.prod(shape)), element_type, shape)
    elif element_type is BOOLEAN:
        array = np.frombuffer(raw, np.uint8) != 0
    else:
        assert element_type.dtype is not None
        array = np.frombuffer(raw, element_type.dtype)
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


def mapped_file(data: Array | memoryview | bytes | None) -> mmap.mmap | None:
    """Return the file mapping that contains the memory of an array or of bytes; None if it is of another kind."""
    owner: Any = data
    while owner is not None and not isinstance(owner, mmap.mmap):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner


def release_pages(array: Array) -> None:
    """Release the mapped pages of an array that is unlikely to be read again; reading it loads them from the file."""
    mapping = mapped_file(array)
    if mapping is None or array.nbytes < _MIN_RELEASED or not hasattr(mmap, "MADV_DONTNEED"):
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    begin = np.frombuffer(mapping, np.uint8).ctypes.data
    # Only whole pages inside the array: pages at its ends may be shared with neighbouring constants.
    start = -(-(low - begin) // mmap.PAGESIZE) * mmap.PAGESIZE
    stop = (high - begin) // mmap.PAGESIZE * mmap.PAGESIZE
    if start < stop:
        mapping.madvise(mmap.MADV_DONTNEED, start, stop - start)


def misplaced(data: memoryview | bytes) -> tuple[str, str | None] | None:
    """Return what a file in the place of weights is, and advice on it: a pointer, a page or an archive; None if its
    bytes may be weights.
    """
    from irexec.ir.xml.foreign import UNCERTAIN, foreign_kind

    known = foreign_kind(bytes(data[:4096]))
    return known if known is not None and known[0] not in UNCERTAIN else None


def _is_finite(raw: bytes | memoryview, element_type: ElementType) -> bool:
    """Return True if all values are certainly finite; False if some may not be finite."""
    if element_type not in _EXPONENTS:
        return False
    high, ones = _EXPONENTS[element_type]
    width = element_type.bitwidth // 8
    if len(raw) <= (_MAX_BYTEWISE if "numpy._core" in sys.modules else _MAX_WITHOUT_NUMPY):
        highest = bytes(raw)[width - 1 :: width]
        return len(highest.translate(None, high)) == len(highest)
    bits: Array = np.frombuffer(raw, f"<u{width}")
    return bool((bits & ones).max() < ones)


def _spoilt(array: Array) -> int:
    """Return the number of NaN and infinite values; 0 for masks and limits, which contain only infinities and zeros."""
    finite = np.isfinite(array)
    if finite.all():
        return 0
    if not np.isnan(array).any() and not array[finite].any():
        return 0
    return int(array.size - np.count_nonzero(finite))


def _why_not(path: str) -> str:
    """Return the reason why a file beside a model contains no weights."""
    return "is a directory" if os.path.isdir(path) else "does not exist"
