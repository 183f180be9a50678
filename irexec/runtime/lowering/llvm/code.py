"""A small builder of LLVM functions: 64-bit numbers, runs of f32 in memory, vectors of them, and loops."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from irexec.core.records import record

F32, F64, I64, I32, I16 = ir.FloatType(), ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(16)


# From this number of lanes on, the processor has registers for masks; storing with another mask takes some 20 cycles.
MASKED_LANES = 16


class Code:
    """A function under construction. It has no result, and its parameters are 64-bit numbers or addresses."""

    def __init__(self, module: Any, name: str, parameters: int, lanes: int) -> None:
        self.module, self.lanes = module, lanes
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * parameters), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.parameters = [Number(self, argument) for argument in self.function.args]

    def number(self, value: int | Number) -> Number:
        return value if isinstance(value, Number) else Number(self, ir.Constant(I64, value))

    def splat(self, scalar: Any, lanes: int | None = None) -> Any:
        """Return a vector with one scalar in all lanes."""
        lanes = lanes or self.lanes
        empty = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, lanes), None))

    def zeros(self) -> Any:
        return ir.Constant(self.vector, None)

    def constant(self, value: float) -> Any:
        """Return a vector with one constant number in all lanes."""
        return ir.Constant(self.vector, [value] * self.lanes)

    @property
    def vector(self) -> Any:
        return ir.VectorType(F32, self.lanes)

    def mask(self, count: Number) -> Any:
        """Return a mask of the first lanes of a vector."""
        numbers = ir.Constant(ir.VectorType(I32, self.lanes), list(range(self.lanes)))
        return self.builder.icmp_signed(
            "<", numbers, self.splat(self.builder.trunc(count.at_most(self.lanes).value, I32))
        )

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the result of an LLVM intrinsic on vectors, such as `fmuladd`."""
        kind = arguments[0].type
        return self.builder.call(self.intrinsic(f"{name}.v{kind.count}f32", kind, *arguments), arguments)

    def prefetch(self, address: Number, level: int = 1) -> None:
        """Load the cache line of an address, which may be outside of all arrays, into the cache of a level."""
        place = self.builder.inttoptr(address.value, ir.IntType(8).as_pointer())
        arguments = place, I32(0), I32(4 - level), I32(1)
        self.builder.call(self.intrinsic("prefetch.p0", ir.VoidType(), *arguments), arguments)

    def intrinsic(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call an LLVM intrinsic with a given result type, declared when it is first used; return its result."""
        name = f"llvm.{name}"
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.module.globals.get(name) or ir.Function(self.module, kind, name)

    def run(self, other: Code, *arguments: int | Number) -> None:
        """Call another function of the module."""
        self.builder.call(other.function, [self.number(argument).value for argument in arguments])

    def run_at(self, address: Number, *arguments: int | Number) -> None:
        """Call the function at an address."""
        values = [self.number(argument).value for argument in arguments]
        kind = ir.FunctionType(ir.VoidType(), [I64] * len(values)).as_pointer()
        self.builder.call(self.builder.inttoptr(address.value, kind), values)

    def result_at(self, address: Number) -> Number:
        """Call the function at an address, which has no parameters; return its result, a 32-bit integer."""
        kind = ir.FunctionType(I32, []).as_pointer()
        found = self.builder.call(self.builder.inttoptr(address.value, kind), [])
        return Number(self, self.builder.sext(found, I64))

    def end(self) -> Code:
        self.builder.ret_void()
        return self

    @contextmanager
    def loop(self, start: int | Number, stop: int | Number, step: int | Number = 1) -> Iterator[Number]:
        """Generate a loop over range(start, stop, step), and yield its index."""
        with self.folding(start, stop, [], step) as fold:
            yield fold.index

    @contextmanager
    def folding(
        self, start: int | Number, stop: int | Number, values: Sequence[Any], step: int | Number = 1
    ) -> Iterator[Fold]:
        """Generate a loop that updates `fold.values` in each iteration; after the loop, `fold.values` are the final
        values.
        """
        b, before = self.builder, self.builder.block
        head, body, end = (self.function.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        index.add_incoming(self.number(start).value, before)
        phis = [b.phi(value.type) for value in values]
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", index, self.number(stop).value), body, end)
        b.position_at_end(body)
        fold = Fold(Number(self, index), list(phis))
        yield fold
        following = fold.index + step
        index.add_incoming(following.value, b.block)
        for phi, value in zip(phis, fold.values, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(end)
        fold.values = list(phis)

    def in_vectors(self, count: Number, write: Callable[[Number, Any], None], known: int | None = None) -> None:
        """Process all elements: `write(index, None)` for complete vectors, then with a mask for the remaining elements.

        Less code is generated if the count is known in advance.
        """
        if known is not None and known < self.lanes:
            write(self.number(0), self.mask(count))
            return
        whole = count & -self.lanes
        with self.loop(0, whole, self.lanes) as index:
            write(index, None)
        if known is None or known % self.lanes:
            with self.when(whole < count):
                write(whole, self.mask(count - whole))

    @contextmanager
    def rounds(self) -> Iterator[Callable[[Any], None]]:
        """Generate a loop, and yield the function `end(condition)`, which leaves the loop if the condition holds."""
        b = self.builder
        head, end = self.function.append_basic_block(), self.function.append_basic_block()
        b.branch(head)
        b.position_at_end(head)

        def leave(condition: Any) -> None:
            rest = self.function.append_basic_block()
            b.cbranch(condition, end, rest)
            b.position_at_end(rest)

        yield leave
        b.branch(head)
        b.position_at_end(end)

    def pause(self) -> None:
        """Generate the processor's pause instruction for a spinning thread, which frees resources of the core."""
        if platform.machine().lower() in ("x86_64", "amd64"):
            name = "llvm.x86.sse2.pause"
            found = self.module.globals.get(name)
            self.builder.call(found or ir.Function(self.module, ir.FunctionType(ir.VoidType(), []), name), [])

    @contextmanager
    def when(self, condition: Any) -> Iterator[None]:
        """Generate code that is executed only if the condition holds."""
        with self.builder.if_then(condition):
            yield


@record
class Fold:
    """One iteration of a loop: its index, and `values`. The body replaces the values on entry by the values for the
    next iteration.
    """

    index: Number
    values: list[Any]


class Number:
    """A 64-bit integer, or an address, in the generated code; Python operators generate arithmetic on it."""

    def __init__(self, code: Code, value: Any) -> None:
        self.code, self.value = code, value

    def __add__(self, other: int | Number) -> Number:
        return Number(self.code, self.code.builder.add(self.value, self.code.number(other).value))

    def __sub__(self, other: int | Number) -> Number:
        return Number(self.code, self.code.builder.sub(self.value, self.code.number(other).value))

    def __mul__(self, other: int | Number) -> Number:
        return Number(self.code, self.code.builder.mul(self.value, self.code.number(other).value))

    def __and__(self, other: int | Number) -> Number:
        return Number(self.code, self.code.builder.and_(self.value, self.code.number(other).value))

    def __floordiv__(self, other: int | Number) -> Number:
        """Divide two numbers, which must not be negative; the same holds for `%`."""
        return Number(self.code, self.code.builder.udiv(self.value, self.code.number(other).value))

    def __mod__(self, other: int | Number) -> Number:
        return Number(self.code, self.code.builder.urem(self.value, self.code.number(other).value))

    def __rshift__(self, bits: int) -> Number:
        return Number(self.code, self.code.builder.lshr(self.value, self.code.number(bits).value))

    def __le__(self, other: int | Number) -> Any:
        return self.code.builder.icmp_signed("<=", self.value, self.code.number(other).value)

    def __lt__(self, other: int | Number) -> Any:
        return self.code.builder.icmp_signed("<", self.value, self.code.number(other).value)

    def equals(self, other: int | Number) -> Any:
        return self.code.builder.icmp_signed("==", self.value, self.code.number(other).value)

    def at_most(self, other: int | Number) -> Number:
        """Return the smaller of the two numbers."""
        limit = self.code.number(other)
        return Number(self.code, self.code.builder.select(self < limit, self.value, limit.value))

    def at_least(self, other: int | Number) -> Number:
        """Return the larger of the two numbers."""
        limit = self.code.number(other)
        return Number(self.code, self.code.builder.select(self < limit, limit.value, self.value))

    def numbers(self) -> Run:
        """Return the run of 64-bit numbers at this address."""
        return self.run(I64)

    def floats(self) -> Run:
        """Return the run of f32 at this address."""
        return self.run(F32)

    def run(self, element: Any) -> Run:
        """Return the run of elements of a type at this address."""
        return Run(self.code, self.code.builder.inttoptr(self.value, element.as_pointer()), element)


class Run:
    """Elements that are contiguous in memory."""

    def __init__(self, code: Code, pointer: Any, element: Any = F32) -> None:
        self.code, self.pointer, self._element = code, pointer, element

    def __add__(self, count: int | Number) -> Run:
        """Return the run that starts after this number of elements."""
        return Run(self.code, self.code.builder.gep(self.pointer, [self.code.number(count).value]), self._element)

    def number(self, index: int | Number) -> Number:
        """Return the element at an index of a run of 64-bit numbers."""
        return Number(self.code, self.code.builder.load((self + index).pointer))

    def scalar(self, index: int | Number) -> Any:
        return self.code.builder.load((self + index).pointer)

    def put(self, index: int | Number, scalar: Any) -> None:
        self.code.builder.store(scalar, (self + index).pointer)

    def vector(self, index: int | Number = 0, mask: Any = None) -> Any:
        """Return the vector that begins at the element `index`, with any alignment. Lanes outside the mask are 0."""
        code, kind, align, name = self.code, *self._vectors()
        place = code.builder.bitcast((self + index).pointer, kind.as_pointer())
        if mask is None:
            return code.builder.load(place, align=align)
        arguments = place, ir.Constant(I32, align), mask, ir.Constant(kind, None)
        return code.builder.call(code.intrinsic(f"masked.load.{name}", kind, *arguments), arguments)

    def put_vector(self, index: int | Number, vector: Any, mask: Any = None) -> None:
        code, kind, align, name = self.code, *self._vectors()
        place = code.builder.bitcast((self + index).pointer, kind.as_pointer())
        if mask is None:
            code.builder.store(vector, place, align=align)
        elif code.lanes < MASKED_LANES:
            self._put_first(index, vector, mask, align)
        else:
            arguments = vector, place, ir.Constant(I32, align), mask
            code.builder.call(code.intrinsic(f"masked.store.{name}", ir.VoidType(), *arguments), arguments)

    def _put_first(self, index: int | Number, vector: Any, mask: Any, align: int) -> None:
        """Store the first lanes of a vector, those of the mask, by halves, quarters and so on of the vector."""
        code, b, size = self.code, self.code.builder, self.code.lanes
        bits = b.zext(b.bitcast(mask, ir.IntType(size)), I64)
        count = Number(code, b.call(code.intrinsic("ctpop.i64", I64, bits), [bits]))
        place = self + index
        while size:
            lower, upper = (ir.Constant(ir.VectorType(I32, size), list(range(n, n + size))) for n in (0, size))
            low = vector if size == code.lanes else b.shuffle_vector(vector, vector, lower)
            own = count & size
            with code.when(code.number(0) < own):
                b.store(low, b.bitcast(place.pointer, low.type.as_pointer()), align=align)
            if size == code.lanes:
                vector, place = low, place + own
            else:
                vector, place = (
                    b.select(code.number(0) < own, b.shuffle_vector(vector, vector, upper), low),
                    place + own,
                )
            size //= 2

    def _vectors(self) -> tuple[Any, int, str]:
        """Return the type of the run's vectors, the alignment of its elements, and the type's name in intrinsics."""
        kind = ir.VectorType(self._element, self.code.lanes)
        return kind, int(self._element.intrinsic_name[1:]) // 8, f"v{kind.count}{self._element.intrinsic_name}.p0"

    def few(self, lanes: int) -> Any:
        """Return a vector of the first `lanes` elements of the run."""
        kind = ir.VectorType(F32, lanes)
        return self.code.builder.load(self.code.builder.bitcast(self.pointer, kind.as_pointer()), align=4)

    # Atomic numbers (acquire and release) that several threads read and write: a thread that reads such a number also
    # sees all earlier writes of the thread that wrote it.

    def shared(self, index: int) -> Number:
        return Number(self.code, self.code.builder.load_atomic((self + index).pointer, "acquire", 8))

    def put_shared(self, index: int, value: Number) -> None:
        self.code.builder.store_atomic(value.value, (self + index).pointer, "release", 8)

    def add_shared(self, index: int, value: int | Number) -> None:
        self.code.builder.atomic_rmw("add", (self + index).pointer, self.code.number(value).value, "acq_rel")

    def replaced(self, index: int, old: Number, new: Number) -> Any:
        """Compare and swap: if the number is `old`, store `new` and return true."""
        place = (self + index).pointer
        pair = self.code.builder.cmpxchg(place, old.value, new.value, "acq_rel", "acquire")
        return self.code.builder.extract_value(pair, 1)

    @property
    def address(self) -> Number:
        return Number(self.code, self.code.builder.ptrtoint(self.pointer, I64))


class Fields:
    """The fields of a record, by name; the record is known when the code runs."""

    def __init__(self, address: Number, names: tuple[str, ...]) -> None:
        run = address.numbers()
        self._of = {name: run.number(index) for index, name in enumerate(names)}

    def __getattr__(self, name: str) -> Number:
        return self._of[name]


def begun(
    module: Any, name: str, lanes: int, layer: tuple[str, ...], task: tuple[str, ...]
) -> tuple[Code, Fields, Fields]:
    """Begin the function of a job, `f(layer, task, scratch, round)`, and return its code and its first two parameters:
    records of the fields `layer` and `task`.
    """
    code = Code(module, name, 4, lanes)
    return code, Fields(code.parameters[0], layer), Fields(code.parameters[1], task)


Change = Callable[[Number, Any, Any], Any]
"""`change(index, vector, mask)` returns the replacement of `vector`, which begins at element `index` of a run."""


def unchanged(index: Number, vector: Any, mask: Any) -> Any:
    return vector


def copy_run(source: Run, target: Run, count: Number, change: Change = unchanged) -> None:
    """Copy `count` elements from one run to another, applying `change` to each vector."""
    source.code.in_vectors(count, lambda x, mask: target.put_vector(x, change(x, source.vector(x, mask), mask), mask))


def every_second(source: Run, count: Number, put: Callable[[Number, Any, Any], None]) -> None:
    """Call `put(index, vector, mask)` for this number of elements from every second position; no element after the last
    of these is read.
    """
    code = source.code
    even = ir.Constant(ir.VectorType(I32, code.lanes), list(range(0, 2 * code.lanes, 2)))

    def copy(x: Number, last: Number | None) -> None:
        first, second = (
            source.vector(x * 2 + half, None if last is None else code.mask(last * 2 - 1 - half))
            for half in (0, code.lanes)
        )
        put(x, code.builder.shuffle_vector(first, second, even), None if last is None else code.mask(last))

    whole = (count - 1).at_least(0) & -code.lanes
    with code.loop(0, whole, code.lanes) as index:
        copy(index, None)
    with code.when(whole < count):
        copy(whole, count - whole)


def fill_run(target: Run, count: Number, vector: Any) -> None:
    """Set `count` elements of a run to the elements of a vector."""
    target.code.in_vectors(count, lambda x, mask: target.put_vector(x, vector, mask))
