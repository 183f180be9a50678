"""Names of cases: readable texts from which every version of irexec can recreate a case.

    Gather-8/f32/batch_dims=1/data=[?2|5,5,4]/indices=i64[2|5,3]/axis=const:i64[]{1}/seed7

The first part names the operator with its version, the second the element type of its first input; attributes and
inputs follow. A dimension is an extent, `?3` (dynamic) or `1..8:3` (bounded); `2|5` are the extents of two calls, which
run as A, B, A. `{...}` are the values, `{1,2|3,4}` those of A and B; `const:` is a constant of the model, `@1,0` a
Transpose between the model's input and the operator; `omitted` stands for an optional input that the call does not
have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from irexec.core.diagnostics import Refusal
from irexec.core.records import field, record, replace
from irexec.core.types import ElementType, PartialShape

_PORT = re.compile(r"(const:)?([a-z]\w*)?\[([^\]]*)\](?:\{([^}]*)\})?(?:@([\d,]*))?")
_DIM = re.compile(r"(\?)?(?:(\d+)\.\.(\d+):)?(\d+(?:\|\d+)*)")
_SEED = re.compile(r"seed(\d+)")
_ESCAPES = {"%": "%25", "/": "%2F", "=": "%3D", "|": "%7C"}
_OMITTED = "omitted"
_FLAGS = ("turned", "twice", "again", "requests", "cache", "default", "one-thread", "forbidden")


RECIPE = "r5"
"""The version of the code that makes graphs from names. It changes whenever a name would produce a different graph; a
name with another version is refused."""


class UnreadableName(Refusal, ValueError):
    """Raised for a text that is not the name of a case."""


def without_recipe(text: str) -> str:
    """Return the name of a graph without the recipe, which follows the element type. Raises UnreadableName if the graph
    has another recipe.
    """
    name, base, recipe, *rest = [*text.split("/"), "", ""][: max(3, text.count("/") + 1)]
    if recipe != RECIPE:
        found = f"recipe {recipe}" if re.fullmatch(r"r\d+", recipe) else "no recipe"
        raise UnreadableName(
            f"{text!r} has {found}, but this version of irexec uses recipe {RECIPE}: expected "
            f"{name}/TYPE/{RECIPE}/... To repeat the case, use its reproducer or the version of irexec that made it"
        )
    return "/".join([name, base, *rest])


KINDS = ("static", "dynamic", "sequence")
"""The kinds of shapes of graphs."""
WAYS = ("twice", "requests", "cache", "reset", "one-thread", "default")
"""The flags of graphs: how they are run."""


@record(frozen=True)
class GraphName:
    """The parts of the name of a graph. `words`: its flags, and `turned`. With the choice `inner=read`, a value inside
    the graph is a result as well, which patterns with a parameter `inner` do not have.
    """

    pattern: str
    base: ElementType
    choices: dict[str, str]
    words: tuple[str, ...]
    kind: str
    seed: int

    @property
    def flags(self) -> tuple[str, ...]:
        """How the graph is run."""
        return tuple(flag for flag in WAYS if flag in self.words)

    @property
    def reads_inner(self) -> bool:
        """Whether a value inside the graph is a result as well."""
        return self.choices.get("inner") == "read"

    @property
    def calls(self) -> tuple[int, ...]:
        """The calls in their order: 0 is A, 1 is B."""
        return (0, 1, 0) if self.kind == "sequence" else (0, 0) if "twice" in self.words else (0,)

    def __str__(self) -> str:
        chosen = (f"{key}={value}" for key, value in self.choices.items())
        return "/".join([self.pattern, self.base.name, RECIPE, *chosen, *self.words, self.kind, f"seed{self.seed}"])

    @staticmethod
    def parse(text: str) -> GraphName:
        """Read a name. Raises UnreadableName."""
        pattern, *parts = without_recipe(text).split("/")
        seed = _SEED.fullmatch(parts[-1]) if len(parts) > 2 else None
        if seed is None or parts[-2] not in KINDS:
            raise UnreadableName(f"{text!r} does not end with SHAPES/seedN, where SHAPES is one of {', '.join(KINDS)}")
        base = ElementType.by_name.get(parts[0])
        if base is None:
            raise UnreadableName(f"{parts[0]!r} in {text!r} is not an element type")
        words = tuple(part for part in parts[1:-2] if "=" not in part)
        choices = dict(part.split("=", 1) for part in parts[1:-2] if "=" in part)
        return GraphName(pattern, base, choices, words, parts[-2], int(seed[1]))

    def simpler(self, usual: Mapping[str, str]) -> Iterator[GraphName]:
        """Yield names with static shapes, with a choice that is the usual one, or without one of the words."""
        if self.kind != "static":
            yield replace(self, kind="static")
        for key, value in usual.items():
            if self.choices.get(key, value) != value:
                yield replace(self, choices=self.choices | {key: value})
        if self.reads_inner:
            yield replace(self, choices={key: value for key, value in self.choices.items() if key != "inner"})
        for word in self.words:
            yield replace(self, words=tuple(other for other in self.words if other != word))


class Dim(NamedTuple):
    """One dimension: its extent in each call, and its declaration in the model."""

    extents: tuple[int, ...]
    dynamic: bool = False
    bounds: tuple[int, int] | None = None

    def at(self, call: int) -> int:
        """Return the extent in a call."""
        return self.extents[min(call, len(self.extents) - 1)]

    @property
    def declared(self) -> str:
        """The dimension as the model declares it."""
        if self.bounds is not None:
            return f"{self.bounds[0]}..{self.bounds[1]}"
        return "?" if self.dynamic else str(self.extents[0])

    def __str__(self) -> str:
        before = "?" if self.dynamic else f"{self.bounds[0]}..{self.bounds[1]}:" if self.bounds else ""
        return before + "|".join(map(str, self.extents))


@record(frozen=True)
class Port:
    """One input of the operator."""

    name: str
    kind: ElementType
    dims: tuple[Dim, ...]
    constant: bool = False
    values: tuple[str, ...] | None = None
    order: tuple[int, ...] | None = None
    second: tuple[str, ...] | None = None
    """The values in call B, if they differ from those in call A."""

    def shape(self, call: int) -> tuple[int, ...]:
        """Return the shape that the operator receives in a call."""
        return tuple(dim.at(call) for dim in self.dims)

    def in_call(self, call: int) -> Port:
        """Return the port with the static shape and the values of one call."""
        values = self.second if call and self.second is not None else self.values
        call = 0 if self.constant else call
        return replace(self, dims=tuple(Dim((d.at(call),)) for d in self.dims), values=values, second=None)

    @property
    def declared(self) -> PartialShape:
        """The shape that the model declares for its own input, before the Transpose."""
        dims = self.dims if self.order is None else tuple(self.dims[i] for i in self.order)
        return PartialShape.parse(",".join(dim.declared for dim in dims))

    def text(self, base: ElementType) -> str:
        """Return the port's part of the case's name, such as `i64[2,3]`; the element type `base` is omitted."""
        found = "const:" if self.constant else ""
        found += self.kind.name if self.kind is not base else ""
        found += "[" + ",".join(map(str, self.dims)) + "]"
        if self.values is not None:
            second = "" if self.second is None else "|" + ",".join(map(_escaped, self.second))
            found += "{" + ",".join(map(_escaped, self.values)) + second + "}"
        return found + ("@" + ",".join(map(str, self.order)) if self.order is not None else "")


@record(frozen=True)
class CaseName:
    """The parts of the name of a case. `flags`: how the case is run (`twice`; `again`: B has other data; `requests`,
    `cache`, `default`, `one-thread`), or `forbidden`: the specification does not allow it."""

    operator: str
    attributes: tuple[tuple[str, str], ...]
    ports: tuple[Port | None, ...]
    seed: int
    data: str = "plain"
    flags: tuple[str, ...] = ()
    base: ElementType = field(init=False)

    def __post_init__(self) -> None:
        first = next((port for port in self.ports if port is not None), None)
        object.__setattr__(self, "base", ElementType.by_name["f32"] if first is None else first.kind)

    @property
    def calls(self) -> tuple[int, ...]:
        """The calls in their order: 0 is A, 1 is B."""
        ports = [p for p in self.ports if p is not None]
        count = max((len(d.extents) for p in ports for d in p.dims), default=1)
        if "again" in self.flags or any(p.second is not None for p in ports):
            count = 2
        return (0,) if count == 1 else (*range(count), 0)

    @property
    def kind(self) -> str:
        """The kind of shapes: static, bounded, dynamic, or a sequence of calls."""
        dims = [d for p in self.ports if p is not None for d in p.dims]
        if any(len(d.extents) > 1 for d in dims) or any(p is not None and p.second is not None for p in self.ports):
            return "sequence"
        return "dynamic" if any(d.dynamic for d in dims) else "bounded" if any(d.bounds for d in dims) else "static"

    def __str__(self) -> str:
        parts = [self.operator, self.base.name]
        parts += [f"{_escaped(name)}={_escaped(value)}" for name, value in self.attributes]
        parts += [_OMITTED if port is None else f"{port.name}={port.text(self.base)}" for port in self.ports]
        parts += [*self.flags, *([f"data-{self.data}"] if self.data != "plain" else []), f"seed{self.seed}"]
        return "/".join(parts)

    def with_ports(self, ports: Sequence[Port | None]) -> CaseName:
        """Return the same case with other inputs."""
        return replace(self, ports=tuple(ports))

    @staticmethod
    def parse(text: str) -> CaseName:
        """Read a name. Raises UnreadableName."""
        operator, _, rest = text.partition("/")
        kind, _, rest = rest.partition("/")
        base = ElementType.by_name.get(kind)
        if base is None or not rest:
            raise UnreadableName(f"{text!r} is not the name of a case, expected TYPE-VERSION/ELEMENT_TYPE/.../seedN")
        attributes, flags, seed, data = [], [], None, "plain"
        ports: list[Port | None] = []
        for part in rest.split("/"):
            name, separator, value = part.partition("=")
            if not separator:
                if (found := _SEED.fullmatch(part)) is not None:
                    seed = int(found[1])
                elif part.startswith("data-"):
                    data = part.removeprefix("data-")
                elif part == _OMITTED:
                    ports.append(None)
                elif part in _FLAGS:
                    flags.append(part)
                else:
                    raise UnreadableName(f"{part!r} in {text!r} is neither NAME=VALUE nor seedN")
            elif (match := _PORT.fullmatch(value)) is not None:
                ports.append(_port(name, base, match, text))
            else:
                attributes.append((_plain(name), _plain(value)))
        if seed is None:
            raise UnreadableName(f"{text!r} does not end with a seed")
        return CaseName(operator, tuple(attributes), tuple(ports), seed, data, tuple(flags))


def _port(name: str, base: ElementType, match: re.Match[str], text: str) -> Port:
    constant, kind, dims, given, order = match.groups()
    values, separator, second = (None, "", "") if given is None else given.partition("|")
    found = ElementType.by_name.get(kind) if kind else base
    if found is None:
        raise UnreadableName(f"{kind!r} in {text!r} is not an element type")
    return Port(
        name,
        found,
        tuple(_dim(dim, text) for dim in dims.split(",")) if dims else (),
        constant is not None,
        None if values is None else tuple(map(_plain, values.split(","))) if values else (),
        None if order is None else tuple(map(int, order.split(","))) if order else (),
        tuple(map(_plain, second.split(","))) if separator else None,
    )


def _dim(text: str, name: str) -> Dim:
    match = _DIM.fullmatch(text)
    if match is None:
        raise UnreadableName(f"{text!r} in {name!r} is not a dimension")
    dynamic, low, high, extents = match.groups()
    bounds = None if low is None else (int(low), int(high))
    return Dim(tuple(map(int, extents.split("|"))), dynamic is not None, bounds)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in text)


def _plain(text: str) -> str:
    for character, escape in reversed(_ESCAPES.items()):
        text = text.replace(escape, character)
    return text
