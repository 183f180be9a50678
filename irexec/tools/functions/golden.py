"""Golden files of models: recorded inputs, results and chosen layers, which a later run has to reproduce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote

from irexec.core.diagnostics.nearest import likely_names
from irexec.core.structure import STRUCTURAL
from irexec.core.types import Array
from irexec.model.arrays.given import Origin, convert
from irexec.model.arrays.loading import BadArrayFile, load
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import safe_name, save_arrays
from irexec.model.graph.cut import needed_by
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.errors import Bounds, off
from irexec.tools.compare.judge import measured
from irexec.tools.compare.tolerances import combined, tolerance_of, tolerance_text
from irexec.tools.functions.given import Inputs, ModelLike, entries_of, model_of, name_of, reference_of
from irexec.tools.run.dump import input_names
from irexec.tools.run.record import Reference, same

UPDATE = "--ir-update"


class Golden:
    """Compares runs of models with golden files in a folder. With `written`, it writes the files instead, and adds
    their values to those that the same run wrote before.
    """

    def __init__(self, folder: Path, name: str, written: dict[Path, dict[str, Array]] | None = None) -> None:
        self.folder, self.name, self.written = folder, name, written

    def __call__(
        self,
        model: ModelLike,
        inputs: Inputs | None = None,
        *,
        layers: Iterable[str] = (),
        name: str | None = None,
        atol: float | None = None,
        rtol: float | None = None,
        seed: int = 0,
    ) -> None:
        """Run a model, and compare its results and the outputs of these layers with the golden file.

        The file also contains the inputs, so that random inputs stay the same; `inputs` must be equal to them. The
        tolerance of a value follows from the operators that compute it; `atol` and `rtol` replace it. `name`: the name
        of the file, for a test with several files. Raises AssertionError with the first layer or result that differs.
        """
        __tracebackhide__ = True  # pytest shows the line of the test.
        own = model_of(model)
        path = self.folder / f"{_file_stem(name or self.name)}.npz"
        chosen = dict(_chosen(own, list(layers)))
        if self.written is not None:
            arrays = _arrays(reference_of(own, inputs, seed=seed), chosen)
            _check_alone(path, arrays, self.written.setdefault(path, arrays))
            path.parent.mkdir(parents=True, exist_ok=True)
            save_arrays(path, arrays)
            return
        recorded = _read(path)
        given = {key.removeprefix("input:"): array for key, array in recorded.items() if key.startswith("input:")}
        _check_inputs(path, own, inputs, given)
        reference = reference_of(own, given)
        known = {key for key in recorded if not key.startswith("input:")}
        if known != chosen.keys():
            raise AssertionError(f"{path} has other layers or results than the test: update it with pytest {UPDATE}")
        bounds = Bounds.given(atol, rtol)
        (found,) = reference.record(set(chosen.values()))
        for key, value in chosen.items():
            if (wrong := _difference(value, recorded[key], found[value], bounds)) is not None:
                kind, _, shown = key.partition(":")
                raise AssertionError(
                    f"{name_of(model)}: the {kind} {shown!r} ({value.node.type}) {wrong}; golden: {path}"
                )


def _chosen(model: Model, layers: list[str]) -> Iterator[tuple[str, Value]]:
    """Yield the values to be recorded, with their keys, in the order in which they are computed."""
    names = {node.friendly_name: node for node in model.nodes}
    for layer in layers:
        if layer not in names or not names[layer].outputs:
            hint = likely_names(layer, names)
            raise ValueError(f"the model has no layer {layer!r}" + (f": {hint}" if hint else ""))
    for node in model.nodes:
        if node.friendly_name in layers:
            for index, value in enumerate(node.outputs):
                yield f"layer:{node.friendly_name}" + (f".{index}" if index else ""), value
    for result in model.results:
        given = result.inputs[0]
        if given is not None:
            yield f"result:{result.friendly_name}", given


def _check_inputs(path: Path, model: Model, inputs: Inputs | None, recorded: Mapping[str, Array]) -> None:
    """Raise AssertionError if an input is given that differs from the recorded one, IRError for an unknown input."""
    __tracebackhide__ = True
    for name, entry in zip(input_names(model), entries_of(model, inputs), strict=True):
        if entry.origin is Origin.SUPPLIED and entry.array is not None:
            there = recorded.get(name)
            if there is None or not same(exact_array(entry.array, entry.port.element_type), there):
                raise AssertionError(f"{path} was written with another input {name}: update it with pytest {UPDATE}")


def _difference(value: Value, golden: Array, found: Array, bounds: Bounds | None) -> str | None:
    """Return a description of an array's error; None if it is within its tolerance."""
    kind = value.element_type
    expected = convert(golden, kind)
    if expected is None:
        return f"has the type {kind}, which does not match the golden values"
    tolerance = combined(tolerance_of(node) for node in _computing(value))
    error, agrees = measured([expected], [found], tolerance, bounds)
    if agrees or (bounds is None and tolerance.kind == "random"):
        return None
    allowed = f"tolerance {tolerance_text(tolerance, kind)}" if bounds is None else f"allowed: {bounds}"
    return f"is {off(error)}, {allowed}"


def _computing(value: Value) -> list[Node]:
    return [node for node in needed_by([value.node]) if node.type not in STRUCTURAL]


def _file_stem(name: str) -> str:
    """Return the name of a file, another one for each name: names that are no safe file names get a digest."""
    safe = safe_name(name)
    return safe if safe == name else f"{safe}-{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _check_alone(path: Path, arrays: dict[str, Array], earlier: dict[str, Array]) -> None:
    """Raise AssertionError if the same run wrote other values to this file."""
    __tracebackhide__ = True
    if arrays.keys() != earlier.keys() or not all(same(array, earlier[key]) for key, array in arrays.items()):
        raise AssertionError(f"{path} is written twice with different values: give each call of a test its own `name`")


def _arrays(reference: Reference, chosen: dict[str, Value]) -> dict[str, Array]:
    """Return the content of a golden file."""
    model = reference.model
    arrays = {}
    for name, port, array in zip(input_names(model), model.inputs, reference.steps[0], strict=True):
        arrays[quote(f"input:{name}", safe="")] = exact_array(array, port.element_type)
    (found,) = reference.record(set(chosen.values()))
    for key, value in chosen.items():
        arrays[quote(key, safe="")] = exact_array(found[value], value.element_type)
    return arrays


def _read(path: Path) -> dict[str, Array]:
    __tracebackhide__ = True
    try:
        loaded = load(path)
    except FileNotFoundError:
        raise AssertionError(f"{path} does not exist: write it with pytest {UPDATE}") from None
    except BadArrayFile as error:
        raise AssertionError(f"{path} cannot be read: {error}") from None
    if not isinstance(loaded, dict):
        raise AssertionError(f"{path} is not an .npz file")
    return {unquote(key): array for key, array in loaded.items()}
