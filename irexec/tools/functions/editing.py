"""`edit` as a function: a changed copy of a model, with what was verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irexec.api.openvino.model import Model as OpenVINOModel
from irexec.frontends.reading import accepted, read
from irexec.model.graph.model import Model
from irexec.tools.edit.changes import Numbers, Wanted
from irexec.tools.edit.edit import edit as edit_model
from irexec.tools.functions.given import ModelLike, WeightsLike
from irexec.tools.functions.result import Result
from irexec.tools.render.printing import Printout


@dataclass(frozen=True, slots=True, repr=False)
class Edited(Result):
    """A changed model, and for each kind of change what was verified."""

    model: OpenVINOModel
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """What was verified, in one line."""
        return "; ".join(self.notes) or "no change"

    def show(self, page: Printout) -> None:
        for note in self.notes:
            page.line(note)


def edit(
    model: ModelLike,
    *,
    weights: WeightsLike = None,
    shapes: Mapping[str, str | Sequence[int]] | None = None,
    batch: int | str | None = None,
    static: Mapping[str, int] | None = None,
    bounds: Mapping[str, int] | None = None,
    layouts: Mapping[str, str] | None = None,
    means: Mapping[str, Numbers] | None = None,
    scales: Mapping[str, Numbers] | None = None,
    reverse_channels: Sequence[str] = (),
    precisions: Mapping[str, str] | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    fold: bool = False,
    names: Mapping[str, str] | None = None,
    compare: bool = True,
) -> Edited:
    """Return a changed copy of a model, as `irexec convert` makes it with the options of the same names.

    Names are those of layers, tensors and inputs of the given model. `layouts`: `{"image": "NHWC->NCHW"}`. `means`,
    `scales`: a number, or one for each channel. `static`, `bounds`: sizes of the symbols that `irexec.shapes` shows.
    `types`: `{"activation": "Sigmoid"}`. `compare`: run both models where the results should stay the same. Raises
    IRError for a change that is impossible, and for a model that is invalid after it.
    """
    given = model
    if not isinstance(given, OpenVINOModel):
        given = accepted(read(given, weights, model_class=OpenVINOModel)) if not isinstance(given, Model) else given
    wanted = Wanted(
        shapes=shapes or {}, batch=batch, static=static or {}, bounds=bounds or {}, layouts=layouts or {},
        means=means or {}, scales=scales or {}, reverse_channels=reverse_channels, precisions=precisions or {},
        inputs=inputs, outputs=outputs, types=types or {}, fold=fold, names=names or {},
    )  # fmt: skip
    made = edit_model(given, wanted, compare=compare)  # type: ignore[arg-type]
    return Edited(made.model, tuple(made.notes))
