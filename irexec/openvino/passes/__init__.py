"""Transformation passes, which irexec has not: it runs the layers as they are. Serialize writes a model."""

from __future__ import annotations

from typing import Any

from irexec.openvino.exceptions import NotOffered, missing
from irexec.openvino.model import Model
from irexec.openvino.saving import serialize

_NEAREST = "irexec runs the layers as they are written; edit the graph with Output.replace"


class Serialize:
    """Writes the model: `Serialize(xml_path, bin_path)`."""

    def __init__(self, xml_path: Any, bin_path: Any = "", version: str = "UNSPECIFIED") -> None:
        self._arguments = (xml_path, bin_path, version)

    def run_on_model(self, model: Model) -> bool:
        serialize(model, *self._arguments)
        return False


class Manager:
    """Runs passes on a model: those that were registered, one after the other."""

    def __init__(self) -> None:
        self._passes: list[Any] = []

    def register_pass(self, *arguments: Any, **keywords: Any) -> Any:
        """Add a pass: an object with `run_on_model`, or "Serialize" with its paths. Raises TypeError, NotOffered."""
        name = keywords.pop("pass_name", None) or (arguments[0] if arguments else keywords.pop("transformation", None))
        rest = arguments[1:] if arguments and name is arguments[0] else arguments
        transformation = _named(name, rest, keywords) if isinstance(name, str) else name
        if not hasattr(transformation, "run_on_model"):
            raise NotOffered(f"the pass {type(transformation).__name__}", _NEAREST)
        self._passes.append(transformation)
        return transformation

    def run_passes(self, model: Model) -> None:
        for transformation in self._passes:
            transformation.run_on_model(model)

    def set_per_pass_validation(self, new_state: bool) -> None:
        """Passes are validated when the model is used."""


class ModelPass:
    """The base of a caller's own passes: override `run_on_model`."""

    def run_on_model(self, model: Model) -> bool:
        raise NotImplementedError


def _named(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if name != "Serialize":
        raise NotOffered(f"the pass {name}", _NEAREST)
    given = dict(keywords)
    files = given.pop("output_files", None)
    if files is not None:
        given["xml_path"], given["bin_path"] = files
    given.update(zip(("xml_path", "bin_path", "version"), arguments, strict=False))
    if "xml_path" not in given or given.keys() - {"xml_path", "bin_path", "version"}:
        raise TypeError(
            "Serialize takes xml_path, bin_path and version, or output_files=(xml_path, bin_path). "
            f"Invoked with: {arguments}, {keywords}"
        )
    return Serialize(**given)


AnyInput = missing("AnyInput", "patterns", _NEAREST)
BackwardGraphRewrite = missing("BackwardGraphRewrite", "transformation passes", _NEAREST)
ConstantFolding = missing("ConstantFolding", "transformation passes", "constants are folded when a model is compiled")
ConvertFP32ToFP16 = missing("ConvertFP32ToFP16", "transformation passes", "save_model(..., compress_to_fp16=True)")
GraphRewrite = missing("GraphRewrite", "transformation passes", _NEAREST)
LowLatency2 = missing("LowLatency2", "transformation passes", _NEAREST)
MakeStateful = missing("MakeStateful", "transformation passes", "build the model with read_value and assign")
Matcher = missing("Matcher", "patterns", _NEAREST)
MatcherPass = missing("MatcherPass", "transformation passes", _NEAREST)
Optional = missing("Optional", "patterns", _NEAREST)
Or = missing("Or", "patterns", _NEAREST)
PassBase = ModelPass
VisualizeTree = missing("VisualizeTree", "transformation passes", "irexec show draws a model")
WrapType = missing("WrapType", "patterns", _NEAREST)
