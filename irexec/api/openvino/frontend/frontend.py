"""The frontends of file formats: IR and ONNX are read; other formats are converted to IR by OpenVINO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irexec.api.openvino._offline_transformations import apply_moc_transformations
from irexec.api.openvino.core import read_model
from irexec.api.openvino.editing import checked_model
from irexec.api.openvino.exceptions import NotOffered, OVError, missing
from irexec.api.openvino.model import Model
from irexec.api.openvino.shapes import PartialShape
from irexec.core.arguments import expected

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import Shapes
    from irexec.core.types import ShapeLike

_READABLE = {"ir": ".xml", "onnx": ".onnx"}
_NEAREST = "irexec reads .xml and .onnx; export the model to one of them"


class FrontEnd:
    """The frontend of one file format: it loads a file and converts it to a Model."""

    def __init__(self, name: str) -> None:
        if expected(name, str, "FrontEnd()") not in _READABLE:
            raise NoSuchFrontEnd(f"a frontend for {name!r}", _NEAREST)
        self._name = name

    def get_name(self) -> str:
        return self._name

    def supported(self, model: Any) -> bool:
        """Return True for a file of this format, by its name."""
        return str(model).lower().endswith(_READABLE[self._name])

    def load(self, path: Any, weights: Any = None, *, enable_mmap: bool = True) -> InputModel:
        """Return a file's model. Files are always mapped to memory, so `enable_mmap` has no effect."""
        return InputModel(read_model(path, weights))

    def convert(self, model: Any) -> Any:
        """Return the Model of a loaded file; a Model is returned unchanged."""
        return model.model if isinstance(model, InputModel) else checked_model(model)

    convert_partially = decode = convert

    def normalize(self, model: Any) -> None:
        """Do nothing: `convert` returns a complete Model."""

    def add_extension(self, extension: Any) -> None:
        """Let files use an operator derived from Op. Raises NotOffered for extensions of other kinds."""
        from irexec.api.openvino.custom import Op, register

        if not (isinstance(extension, type) and issubclass(extension, Op)):
            raise NotOffered("extensions of frontends", _EXTENSION)
        register(extension)


class InputModel:
    """A file that a frontend loaded. It can be converted, but not edited: edit the Model."""

    def __init__(self, model: Any) -> None:
        self.model = model


class FrontEndManager:
    """Finds the frontend of a format."""

    def get_available_front_ends(self) -> list[str]:
        return list(_READABLE)

    def load_by_framework(self, framework: str) -> FrontEnd:
        return FrontEnd(framework)

    def load_by_model(self, model: Any) -> FrontEnd | None:
        """Return the frontend for the name of a file; None if no frontend reads such files. Raises GeneralFailure if no
        file is given.
        """
        if isinstance(model, (str, PathLike)) and not Path(model).exists():
            raise GeneralFailure(f"Could not open the file: {str(model)!r}")
        return next((end for end in map(FrontEnd, _READABLE) if end.supported(model)), None)

    def __repr__(self) -> str:
        return "<FrontEndManager>"

    def register_front_end(self, name: str, library_path: Any) -> None:
        raise NotOffered("frontends of others", _NEAREST)


class GeneralFailure(OVError):
    """Raised if a frontend fails."""


class InitializationFailure(OVError):
    """Raised if a frontend cannot be initialized."""


class NoSuchFrontEnd(NotOffered, InitializationFailure):
    """Raised if there is no frontend for a format."""


class NotImplementedFailure(OVError):
    """Raised for something that a frontend does not implement."""


class OpConversionFailure(OVError):
    """Raised if an operator cannot be converted."""


class OpValidationFailure(OVError):
    """Raised for an invalid operator."""


_EXTENSION = "operators of other formats: write the operator with @irexec.operator"
ConversionExtensionBase = missing("ConversionExtensionBase", "extensions of frontends", _EXTENSION)
ConversionExtension = missing("ConversionExtension", "extensions of frontends", _EXTENSION)
DecoderTransformationExtension = missing("DecoderTransformationExtension", "extensions of frontends", _EXTENSION)
OpExtension = missing("OpExtension", "extensions of frontends", _EXTENSION)
ProgressReporterExtension = missing("ProgressReporterExtension", "extensions of frontends", _EXTENSION)
TelemetryExtension = missing("TelemetryExtension", "extensions of frontends", _EXTENSION)
NodeContext = missing("NodeContext", "extensions of frontends", _EXTENSION)
Place = missing("Place", "editing of loaded files", "edit the Model that the file converts to")


def convert_model(
    input_model: str | PathLike[str] | bytes | BytesIO,
    input: ShapeLike | Sequence[ShapeLike] | Shapes | None = None,
    output: object = None,
    example_input: object = None,
    extension: object = None,
    verbose: bool = False,
    share_weights: bool = True,
    dynamo: bool = False,
) -> Model:
    """Return the Model of an IR or ONNX file, or of its bytes, without layers that return an input unchanged.

    `input`: the shapes of inputs: one shape, shapes by position, or `{name: shape}`. Objects of other frameworks, and
    other options, are not offered. Raises NotOffered, OSError, IRError.
    """
    options = [given for given in (output, example_input, extension) if given is not None] or dynamo
    known = isinstance(input_model, (str, bytes)) or any(hasattr(input_model, n) for n in ("__fspath__", "getvalue"))
    if options or not known:
        raise NotOffered(f"conversion of {type(input_model).__name__} objects, or with options", _NEAREST)
    model = read_model(input_model)
    if input is not None:
        several = isinstance(input, (list, tuple)) and all(isinstance(each, (list, PartialShape)) for each in input)
        model.reshape(input if isinstance(input, Mapping) else dict(enumerate(input)) if several else {0: input})
    apply_moc_transformations(model, cf=False)
    return model
