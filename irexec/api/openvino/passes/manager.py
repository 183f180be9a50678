"""Manager: runs passes on a model, one after the other."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.editing import changed, checked_model, current, settle_names
from irexec.api.openvino.exceptions import NotOffered
from irexec.api.openvino.passes import conversions, stateful
from irexec.api.openvino.passes.base import ModelPass, PassBase
from irexec.api.openvino.passes.rewrite import GraphRewrite, MatcherPass
from irexec.api.openvino.passes.writing import Serialize

# Passes by name, as older programs register them.
_NAMED: dict[str, type[ModelPass]] = {
    "ConstantFolding": conversions.ConstantFolding,
    "ConvertFP32ToFP16": conversions.ConvertFP32ToFP16,
    "LowLatency2": stateful.LowLatency2,
    "MakeStateful": stateful.MakeStateful,
}


class Manager:
    """Runs the registered passes on a model, in order."""

    def __init__(self) -> None:
        self.passes_list: list[PassBase] = []
        self._validates = True

    def register_pass(self, *arguments: Any, **keywords: Any) -> Any:
        """Add a pass and return it: an object, or a name and its arguments. Raises TypeError, NotOffered."""
        name = keywords.pop("pass_name", None) or (arguments[0] if arguments else keywords.pop("transformation", None))
        rest = arguments[1:] if arguments and name is arguments[0] else arguments
        transformation = _named(name, rest, keywords) if isinstance(name, str) else name
        if not isinstance(transformation, PassBase):
            raise TypeError(f"register_pass(): incompatible function arguments: {transformation!r} is not a pass")
        self.passes_list.append(transformation)
        return transformation

    def run_passes(self, model: Any) -> None:
        """Run the passes. Raises TypeError for an argument that is not a model, IRError if a pass makes it invalid."""
        checked = checked_model(model)
        for transformation in self.passes_list:
            applied = False
            if isinstance(transformation, MatcherPass):
                rewrite = GraphRewrite()
                rewrite.add_matcher(transformation)
                applied = rewrite.run_on_model(checked)
            elif isinstance(transformation, ModelPass):
                applied = transformation.run_on_model(checked)
            changed(checked)
            if applied and self._validates:
                settle_names(current(checked))

    def set_per_pass_validation(self, new_state: bool) -> None:
        """Set whether types are inferred after each pass that changed the model, or when the model is used."""
        self._validates = bool(new_state)


def _named(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if name in _NAMED:
        return _NAMED[name](*arguments, **keywords)
    if name != "Serialize":
        raise NotOffered(f"the pass {name}", "write it as a ModelPass or MatcherPass")
    given = dict(keywords)
    files = given.pop("output_files", None)
    if files is not None:
        given["path_to_xml"], given["path_to_bin"] = files
    for older, newer in (("xml_path", "path_to_xml"), ("bin_path", "path_to_bin")):
        if older in given:
            given[newer] = given.pop(older)
    given.update(zip(("path_to_xml", "path_to_bin", "version"), arguments, strict=False))
    if "path_to_xml" not in given or given.keys() - {"path_to_xml", "path_to_bin", "version"}:
        raise TypeError(
            "Serialize takes xml_path, bin_path and version, or output_files=(xml_path, bin_path). "
            f"Invoked with: {arguments}, {keywords}"
        )
    return Serialize(**given)
