"""Tensor: memory with an element type and a shape, its own or shared with an array."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsInt, TypeAlias

import numpy as np

from irexec.api.openvino.shapes import Shape, Strides
from irexec.api.opsets.element_types import element_type_of
from irexec.core.arguments import expected
from irexec.core.types import BF16, DYNAMIC, STRING, Array, ElementType
from irexec.ir.weights.packing import pack, to_array, to_codes, unpack
from irexec.model.graph.model import Value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from irexec.core.types import ShapeLike, TypeLike

    Index: TypeAlias = int | slice | Array | tuple[int | slice | Array | None, ...] | None


class Tensor:
    """Memory with an element type and a shape.

    `Tensor(array, shared_memory=False)`, `Tensor(array, shape, type)` for memory to be read as another type,
    `Tensor(type, shape)`, `Tensor(list)`, `Tensor(port)` and `Tensor(port, array)`, `Tensor(tensor, begin, end)` for a
    part that shares the memory of another tensor. Elements of less than 8 bits lie packed in bytes, as in a `.bin`.
    """

    # The memory before the first change of the shape, and whether it is a part of another tensor's memory.
    _whole: Array | None = None
    _is_part = False

    def __init__(
        self,
        array: ArrayLike | Tensor | TypeLike | Value | None = None,
        shape: ShapeLike | ArrayLike | None = None,
        type: TypeLike | Sequence[int] | None = None,
        *,
        shared_memory: bool | None = None,
        other: Tensor | None = None,
        begin: Sequence[int] | None = None,
        end: Sequence[int] | None = None,
    ) -> None:
        self._memory: Array
        self._borrowed = False
        if array is None and type is not None:
            array = type
        source: Any = other if other is not None else array
        extents: Any = shape
        if source is None:
            raise TypeError("Tensor(): incompatible constructor arguments: an array, a port or a type is needed")
        if isinstance(source, Value):
            # The type and the shape of a port, with an array's memory if one is given.
            port, source = source, extents
            if source is None:
                self._allocate(port.element_type, Shape(port.type.shape.to_shape()))
                return
            extents, type = Shape(port.type.shape.to_shape()), port.element_type
            if np.size(source) < math.prod(extents):
                raise RuntimeError(
                    f"Shape of the port exceeds shape of the array. {extents} needs more than {np.size(source)}"
                )
        if isinstance(source, Tensor):
            self._cut(source, begin if begin is not None else extents, end if end is not None else type)
        elif isinstance(source, np.ndarray):
            if isinstance(extents, (bool, np.bool_)):
                extents, shared_memory = None, bool(extents)
            self._of_array(source, extents, type, bool(shared_memory))
        elif isinstance(source, (list, tuple)):
            if shared_memory:
                raise TypeError("Tensor(): incompatible constructor arguments: a list has no memory to share")
            self._of_array(np.array(source), None, None, shared=False)
        elif _is_array_like(source):
            self._of_array(_array_of(source), extents, type, bool(shared_memory))
        else:
            self._allocate(element_type_of(source), Shape(() if extents is None else extents))

    def _of_array(self, array: Array, shape: Any, type: Any, shared: bool) -> None:
        if array.dtype.kind in "cmMV":
            raise RuntimeError(f"Unsupported data type: {array.dtype}")
        if array.dtype.kind in "USTO":
            if shared:
                raise RuntimeError(
                    "SHARED MEMORY MODE FOR THIS TENSOR IS NOT APPLICABLE! String types can be only copied."
                )
            self._kind, self._shape = STRING, Shape(array.shape)
            text = [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel().tolist()]
            self._memory = np.array(text, np.dtypes.StringDType()).reshape(array.shape)
            return
        shared = shared or shape is not None
        if shared and not array.flags.c_contiguous:
            raise RuntimeError("Tensor with shared memory must be C contiguous!")
        self._kind = ElementType.of(array.dtype) if type is None or type is DYNAMIC else element_type_of(type)
        self._shape = Shape(array.shape if shape is None else shape)
        self._borrowed = shared
        memory = array if shared else np.array(array, order="C")
        if shape is None and type is None:
            self._memory = memory
            return
        needed = self._kind.nbytes(math.prod(self._shape))
        if memory.nbytes < needed:
            raise RuntimeError(f"{self._kind}{self._shape} needs {needed} bytes, but the memory has {memory.nbytes}")
        flat = memory.reshape(-1).view(np.uint8)[:needed]
        self._memory = flat if self._kind.is_packed else flat.view(self._kind.dtype).reshape(self._shape)  # type: ignore[arg-type]

    def _allocate(self, kind: ElementType, shape: Shape) -> None:
        if kind is DYNAMIC:
            raise RuntimeError("a tensor requires an element type other than dynamic")
        self._kind, self._shape, self._whole = kind, shape, None
        if kind.is_packed:
            self._memory = np.zeros(kind.nbytes(math.prod(shape)), np.uint8)
        else:
            self._memory = np.zeros(tuple(shape), kind.dtype)

    def _cut(self, source: Tensor, begin: Any, end: Any) -> None:
        if source._kind.is_packed:
            raise RuntimeError(
                "ROI Tensor for types with bitwidths less then 8 bit is not implemented. "
                f"Could not get strides for types with bitwidths less then 8 bit. Tensor type: {source._kind}"
            )
        part = tuple(slice(int(b), int(e)) for b, e in zip(begin, end, strict=True))
        if len(part) != len(source._shape) or not all(
            s.start <= s.stop <= n for s, n in zip(part, source._shape, strict=True)
        ):
            raise RuntimeError(f"{list(begin)} to {list(end)} is not a part of {source._shape}")
        self._kind, self._memory, self._borrowed, self._is_part = source._kind, source._memory[part], True, True
        self._shape = Shape(self._memory.shape)

    @staticmethod
    def of_values(values: Array, kind: ElementType) -> Tensor:
        """Return the tensor of the engine's array, sharing its memory; packed elements get memory of their own."""
        expected(values, np.ndarray, "Tensor.of_values()")
        made = object.__new__(Tensor)
        made._kind, made._borrowed = expected(kind, ElementType, "Tensor.of_values()"), False
        made._shape = Shape(values.shape)
        made._memory = pack(to_codes(values, kind), kind) if kind.is_packed else values
        return made

    def values(self) -> Array:
        """Return the elements for the engine: the tensor's own memory, or packed ones unpacked into a new array."""
        if not self._kind.is_packed:
            return self._memory
        return to_array(unpack(self._memory.view(np.uint8), self._kind, self.size), self._kind, tuple(self._shape))

    @property
    def data(self) -> Array:
        """The memory as an array. bf16 is returned as float16, packed and 8-bit float types as bytes; strings are
        copied."""
        if self._kind is STRING:
            return np.char.encode(self.str_data) if self._memory.size else np.zeros(tuple(self._shape), "S")
        return self._memory.view(self._kind.to_dtype())

    @property
    def str_data(self) -> Array:
        """A copy of the strings. Raises RuntimeError for a tensor of another type."""
        self._check_strings()
        return np.array(self._memory.ravel().tolist(), np.str_).reshape(tuple(self._shape))

    @str_data.setter
    def str_data(self, values: ArrayLike) -> None:
        self._check_strings()
        given = np.asarray(values)
        if given.ndim == 0 or given.dtype.kind not in "UST":
            raise RuntimeError("Invalid data to fill String Tensor! An array or list of strings is needed.")
        text = (np.char.decode(given) if given.dtype.kind == "S" else given).astype(np.dtypes.StringDType())
        if text.size != self.size:
            raise RuntimeError(
                f"Passed array must have the same size (number of elements) as the Tensor: {text.size} strings were "
                f"given for a tensor of {self.size}"
            )
        self._memory[...] = text.reshape(self._memory.shape)

    def _check_strings(self) -> None:
        if self._kind is not STRING:
            raise RuntimeError("Tensor's type must be a string!")

    @property
    def bytes_data(self) -> Array:
        """A copy of the strings, encoded. Raises RuntimeError for a tensor of another type."""
        self._check_strings()
        return self.data

    @bytes_data.setter
    def bytes_data(self, values: ArrayLike) -> None:
        self.str_data = values

    @property
    def element_type(self) -> ElementType:
        """The element type."""
        return self._kind

    @property
    def shape(self) -> Shape:
        """The shape."""
        return Shape(self._shape)

    @shape.setter
    def shape(self, shape: Iterable[SupportsInt] | str) -> None:
        self.set_shape(shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def byte_size(self) -> int:
        """The size of the data in bytes."""
        return self.size * 32 if self._kind is STRING else self._kind.nbytes(self.size)

    @property
    def strides(self) -> Strides:
        """Bytes from one element to the next along each axis. Raises RuntimeError for packed types."""
        if self._kind.is_packed:
            raise RuntimeError(
                f"Could not get strides for types with bitwidths less then 8 bit. Tensor type: {self._kind}"
            )
        return Strides(self._memory.strides)

    def is_continuous(self) -> bool:
        """Return whether the elements lie side by side in memory."""
        return bool(self._memory.flags.c_contiguous)

    def get_element_type(self) -> ElementType:
        """Return the element type."""
        return self._kind

    def get_shape(self) -> Shape:
        """Return the shape."""
        return self.shape

    def get_size(self) -> int:
        """Return the number of elements."""
        return self.size

    def get_byte_size(self) -> int:
        """Return the size of the data in bytes."""
        return self.byte_size

    def get_strides(self) -> Strides:
        """Return the distance between neighbouring elements in bytes, for each axis."""
        return self.strides

    def set_shape(self, shape: Iterable[SupportsInt] | str) -> None:
        """Set the shape; the tensor keeps its memory if that is large enough. Raises RuntimeError if the memory is
        shared and too small, or if the tensor is a part of another tensor.
        """
        wanted = Shape(shape)
        if wanted == self._shape:
            return
        whole = self._memory if self._whole is None else self._whole
        needed, has = self._kind.nbytes(math.prod(wanted)), whole.nbytes
        if self._is_part and (len(wanted) != whole.ndim or np.any(np.array(wanted) > whole.shape)):
            raise RuntimeError(f"the part of a tensor has shape {list(whole.shape)}, which {wanted} exceeds")
        if self._borrowed and needed > has:
            raise RuntimeError(
                f"Cannot call setShape for Blobs created on top of preallocated memory: setting {self._kind}{wanted} "
                f"failed, which needs {needed} bytes; the memory has {has}"
            )
        if self._is_part:
            memory = whole[tuple(map(slice, wanted))]
        elif needed > has or self._kind is STRING or not whole.flags.c_contiguous:
            self._allocate(self._kind, wanted)
            return
        elif self._kind.is_packed:
            memory = whole[:needed]
        else:
            memory = whole.reshape(-1)[: math.prod(wanted)].reshape(tuple(wanted))
        self._memory, self._shape, self._whole = memory, wanted, whole

    def copy_from(
        self, source_tensor: ArrayLike | Tensor | None = None, *, source: ArrayLike | Tensor | None = None
    ) -> None:
        """Copy the elements and the shape of a tensor or array of the same type."""
        source = source_tensor if source is None else source
        other = source if isinstance(source, Tensor) else Tensor(np.asarray(source), shared_memory=False)
        # An array of float16 holds the bits of bf16.
        holds_bits = self._kind is BF16 and other._kind.name == "f16" and other is not source
        if other._kind is not self._kind and not holds_bits:
            raise RuntimeError(f"a tensor of {self._kind} cannot copy from {other._kind}")
        self.set_shape(other._shape)
        self._memory[...] = other._memory.view(self._memory.dtype) if other._kind is not self._kind else other._memory

    def copy_to(self, target_tensor: Tensor) -> None:
        """Copy the elements and the shape to a tensor of the same type."""
        expected(target_tensor, Tensor, "copy_to()").copy_from(self)

    def __copy__(self) -> Tensor:
        made = object.__new__(Tensor)
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: Any) -> Tensor:
        made = self.__copy__()
        made._memory, made._whole, made._borrowed, made._is_part = self._memory.copy(), None, False, False
        return made

    # A tensor can also be used as an array.

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of `data`."""
        found: np.dtype[Any] = self.data.dtype
        return found

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python's own numbers or texts."""
        return self.data.tolist()

    def __getitem__(self, index: Index) -> Any:
        return self.data[index]

    def __len__(self) -> int:
        return len(self._shape) and self._shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<Tensor: shape{self._shape} type: {self._kind}>"

    def _repr_html_(self) -> str:
        """Return the type, the shape, the range and the first values, for notebooks."""
        from html import escape

        from irexec.model.arrays.brief import shown, shown_number
        from irexec.model.arrays.statistics import Statistics

        values = self.values()
        found = Statistics.of(values)
        cells = {
            "type": self._kind,
            "shape": list(self._shape),
            "min": shown_number(found.min),
            "max": shown_number(found.max),
            "mean": shown_number(found.mean),
            "values": shown(values, 80),
        }
        rows = "".join(f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in cells.items())
        return f"<table>{rows}</table>"


def _is_array_like(source: Any) -> bool:
    """Return True for an object that NumPy can read as an array, except classes, which stand for element types."""
    return not isinstance(source, type) and (hasattr(source, "__array__") or hasattr(source, "__array_interface__"))


def _array_of(source: Any) -> Array:
    """Return the array of an object with an array interface: another library's tensor, a NumPy scalar; an image becomes
    a batch of one."""
    array = np.asarray(source)
    return array[np.newaxis] if type(source).__module__.startswith("PIL.") else array


class TensorVector(list[Tensor]):
    """A list of tensors."""


def as_tensor(given: Any, kind: ElementType | None = None, *, shared: bool = False) -> Tensor:
    """Return a tensor: the argument itself, or one created from an array, a number or a list."""
    if isinstance(given, Tensor):
        return given
    array = np.asarray(given)
    if kind is not None and kind.dtype is not None and not kind.is_packed and array.dtype != kind.dtype:
        array = array.astype(kind.dtype)
    return Tensor(array, shared_memory=shared and array.flags.c_contiguous)
