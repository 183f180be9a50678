"""`compare` and `diff` as functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any

from irexec.core.arguments import expected
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model
from irexec.tools.compare import result as compared
from irexec.tools.compare import sides
from irexec.tools.compare.compare import compare as compare_runs
from irexec.tools.compare.runtimes.runtime import OtherModel, Runtime
from irexec.tools.diff.change import Change, changes_dict
from irexec.tools.diff.diff import diff as find_changes
from irexec.tools.functions.beside import Judged
from irexec.tools.functions.command import function_of
from irexec.tools.functions.given import ModelLike, model_of, names_of
from irexec.tools.functions.result import Result
from irexec.tools.render.compare import show_changes, show_comparison, show_sides
from irexec.tools.render.printing import Printout
from irexec.tools.run.record import Reference
from irexec.tools.status import Status


@dataclass(slots=True, repr=False)
class Comparison(Result, compared.Comparison):
    """The comparison of irexec's run of a model with another run: `agrees`, `verdict`, `culprit`, `layers`, `results`;
    `rows` is the table of the layers.
    """

    verdict = compared.Comparison.verdict

    def show(self, page: Printout) -> None:
        show_comparison(self, page)


@dataclass(frozen=True)
class Compare(Judged[Comparison]):
    """Find the first layer whose results differ from another run, as `irexec compare` does.

    `other`: "openvino", "openvino:DEVICE", "onnxruntime", "torch:MODULE:FUNCTION", a Model, a model's file, or a folder
    of recorded results. `inputs`: arrays by name or in order; inputs that are not given get random values, in the given
    `shapes` and from `seed`; if neither inputs nor shapes are given, those of the recording are used. `config`:
    properties of the runtime; `python`: the interpreter in which it is installed. `atol`, `rtol`: errors allowed in
    every layer (default: the operators' tolerances). `timeout`: seconds for each response of a runtime; None or 0: no
    limit. `window`: the number of layers whose values are kept in memory at once. Raises IRError for a model that
    cannot be run, and RuntimeError for a runtime that cannot be used.
    """

    _: KW_ONLY
    python: str = ""
    window: int | None = None

    def work(self, status: Status) -> Comparison:
        made, other = self.read(), self.other
        if isinstance(other, Model):
            runtime: Runtime = OtherModel(names_of(self.given, other)[1], model_of(other))
        else:
            runtime = self.runtime(made, self.python)
        has_inputs = isinstance(self.model, Reference) or self.inputs or self.shapes
        recorded = None if has_inputs else runtime.given(made)
        reference = self.reference(made) if recorded is None else Reference(made, recorded)
        progress = partial(status.count, what=f"layers compared with {runtime.name}")
        found = compare_runs(reference, runtime, bounds=self.bounds, window=self.window, progress=progress)
        if isinstance(self.model, Model) or isinstance(other, Model):
            # The files do not contain changes that were made in memory.
            found.file = None
        return Comparison(**{field.name: getattr(found, field.name) for field in fields(found)})


compare = function_of(Compare, "compare")


class Sides(Result, sides.Sides):
    """Comparisons of one model with several other sides, for the same inputs: `agrees`, `found`, and `verdict`, which
    names the side that differs from all others, as `irexec compare` does for several `--with`.
    """

    def __init__(self, found: Iterable[Comparison]) -> None:
        super().__init__([expected(one, compared.Comparison, "Sides") for one in found])

    verdict = sides.Sides.verdict

    def show(self, page: Printout) -> None:
        show_sides(self, page)


@dataclass(frozen=True, slots=True, repr=False)
class Differences(Result):
    """The differences between the models `a` and `b`, as a sequence; it is empty if the models are equal."""

    a: str
    b: str
    changes: tuple[Change, ...]

    @property
    def verdict(self) -> str:
        """The number of differences, in one line."""
        return f"{plural(len(self.changes), 'difference')} between {self.a} and {self.b}"

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __getitem__(self, index: int) -> Change:
        return self.changes[index]

    def to_dict(self) -> dict[str, Any]:
        """Return the differences as JSON-ready values."""
        return changes_dict(self.a, self.b, self.changes)

    def show(self, page: Printout) -> None:
        show_changes(self.changes, self.a, self.b, page)


def diff(a: ModelLike, b: ModelLike) -> Differences:
    """List the differences between two models, as `irexec diff` does: one entry for each cause. Raises IRError."""
    return Differences(*names_of(a, b), tuple(find_changes(model_of(a), model_of(b))))
