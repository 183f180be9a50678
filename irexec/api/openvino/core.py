"""Core: reading, compiling, queries about the one device, and the functions that need no Core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from irexec.api.openvino.compiled import CompiledModel
from irexec.api.openvino.construction import check_parameters
from irexec.api.openvino.editing import current
from irexec.api.openvino.exceptions import NotOffered
from irexec.api.openvino.layout import layout_of
from irexec.api.openvino.model import Model
from irexec.api.openvino.settings import Settings
from irexec.api.openvino.shapes import PartialShape
from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.core.collector import no_collection
from irexec.core.diagnostics.findings import Mode
from irexec.core.types import Dimension
from irexec.frontends.reading import accepted, read
from irexec.ir.io.files import read_file
from irexec.ir.weights.file import RandomWeights
from irexec.model.graph import model as graph
from irexec.model.graph.copies import copied
from irexec.version import __version__, get_version

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import PathLike
    from irexec.api.openvino.custom import Op

    # Names for annotations: the site links `type` to attributes of that name.
    OpClass: TypeAlias = type[Op]
    Extensions: TypeAlias = Sequence["Extension | OpClass"]

__all__ = [
    "Core", "Extension", "OpExtension", "Version", "compile_model", "get_batch", "get_version", "read_model",
    "set_batch", "shutdown", "tensor_from_file",
]  # fmt: skip
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BytesIO | StringIO
"""The source of a model: a file name, or the text or bytes of a model file."""
Properties = Mapping[str, Any]
"""Properties of a device or a compiled model, by name."""
_DEVICES = ("CPU",)
# Virtual devices, which select another device: here always the CPU.
_CHOOSING = ("AUTO", "BATCH", "HETERO", "MULTI")


class Version(NamedTuple):
    """The name and version of a device's software."""

    major: int
    minor: int
    patch: int
    build_number: str
    description: str


class Extension:
    """OpenVINO's class of extensions. irexec's operators are Python functions: see `irexec.operator`."""


class OpExtension(Extension):
    """An extension that consists of one operator, a class derived from Op: `core.add_extension(OpExtension(Class))`."""

    def __init__(self, operator: type[Op]) -> None:
        self.operator = operator


class Core:
    """OpenVINO's entry point. There is one device, the CPU, which runs every model with NumPy."""

    def __init__(self, xml_config_file: str | os.PathLike[str] = "") -> None:
        if xml_config_file:
            raise NotOffered("plugins of other devices", "there is one device, CPU, which needs no configuration")
        self._settings = Settings()

    def read_model(
        self, model: Source, weights: Source | Tensor | None = None, config: Properties | None = None
    ) -> Model:
        """Read a model from a file, bytes or text of an IR, or from an ONNX file. Raises IRError with all errors."""
        return _read(model, weights)

    def compile_model(
        self,
        model: graph.Model | Source,
        device_name: str | Properties | None = None,
        config: Properties | None = None,
        *,
        weights: Source | Tensor | None = None,
    ) -> CompiledModel:
        """Compile a model, or the model in a file. Raises IRError, and RuntimeError for an unknown property.

        Arrays of bf16, 8-bit floats and packed types have the form of OpenVINO's tensors; `irexec.compile_model` takes
        and returns arrays with the dtypes of ml_dtypes.
        """
        if isinstance(device_name, Mapping):
            device_name, config = None, device_name
        _check_device(device_name)
        if not isinstance(model, graph.Model) and not _is_source(model):
            raise RuntimeError(
                f"Path: '{model!s}' does not exist. Please provide valid model's path either as a string, bytes or "
                "pathlib.Path."
            )
        # Later changes of the model must not affect the compiled model.
        compiled = copied(current(model)) if isinstance(model, graph.Model) else _read(model, weights)
        return CompiledModel(compiled, self._settings.with_values(config), as_openvino=True)

    def import_model(
        self,
        model_stream: IO[bytes] | bytes | Tensor,
        device_name: str = "CPU",
        config: Properties | None = None,
    ) -> CompiledModel:
        """Return the compiled model that `CompiledModel.export_model` wrote. Raises RuntimeError for any other
        bytes."""
        from irexec.api.openvino.exporting import imported

        _check_device(device_name)
        if hasattr(model_stream, "seek"):
            model_stream.seek(0)  # As OpenVINO does: the position of a newly written stream is at its end.
        data = model_stream.read() if hasattr(model_stream, "read") else model_stream
        expected(data, (bytes, bytearray, memoryview, Tensor), "import_model()")
        data = data.data.tobytes() if isinstance(data, Tensor) else bytes(data)
        return CompiledModel(_read(*imported(data)), self._settings.with_values(config), as_openvino=True)

    def query_model(self, model: Model, device_name: str = "CPU", config: Properties | None = None) -> dict[str, str]:
        """Return the device of every layer by its name: the CPU runs them all. Raises RuntimeError if a node takes a
        Parameter that was removed."""
        _check_device(device_name)
        layers = expected(model, Model, "query_model()").get_ops()
        check_parameters(current(model))
        return {node.friendly_name: "CPU" for node in layers}

    @property
    def available_devices(self) -> list[str]:
        """The devices: CPU, on which irexec runs."""
        return list(_DEVICES)

    def get_available_devices(self) -> list[str]:
        """Return the devices: CPU, on which irexec runs."""
        return list(_DEVICES)

    def get_versions(self, device_name: str) -> dict[str, Version]:
        """Return the release of OpenVINO whose API this is, and the version of irexec, under the device's name."""
        _check_device(device_name)
        version = get_version()
        numbers = [int(part) for part in version.split(".")[:3]]
        text = f"irexec {__version__}, the interpreter for OpenVINO IR"
        return {device_name: Version(numbers[0], numbers[1], numbers[2], version, text)}

    def get_property(
        self,
        device_name: str | None = None,
        property: str | None = None,
        arguments: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
    ) -> Any:
        """Return a property of the device, or of the Core, by its name. Raises RuntimeError for an unknown property.

        `name` is another keyword for `property`. No property has `arguments`, which are ignored.
        """
        wanted, device = property if name is None else name, device_name
        if wanted is None:
            wanted, device = expected(device_name, str, "get_property()"), None
        if device is not None:
            _check_device(device)
        return self._settings.read(wanted)

    def set_property(
        self,
        device_name: str | Properties | None = None,
        properties: Properties | None = None,
        *,
        property: tuple[str, object] | None = None,
    ) -> None:
        """Set `properties`, or one `property` as (name, value), of models compiled later. Raises RuntimeError for a
        property that is unknown or read-only, and TypeError if both are given.
        """
        if properties is not None and property is not None:
            raise TypeError("set_property() takes either properties or property")
        given = properties if property is None else expected(property, tuple, "set_property()")
        if given is not None and device_name is not None:
            _check_device(device_name)
        self._settings.write(device_name if given is None else given)

    def add_extension(
        self,
        extension: Extension | OpClass | PathLike | Extensions | None = None,
        *,
        library_path: PathLike | None = None,
        extensions: Extensions | None = None,
        custom_op: OpClass | None = None,
    ) -> None:
        """Let files use the operators of an extension: a class derived from Op, or several; other extensions have no
        effect.

        Raises NotOffered for libraries of compiled operators, TypeError for an object that is not an extension.
        """
        if library_path is not None or isinstance(extension, (str, os.PathLike)):
            raise NotOffered("libraries of compiled operators", "write the operator as a class derived from Op")
        from irexec.api.openvino.custom import register

        given: Any = next((one for one in (extension, extensions, custom_op) if one is not None), None)
        for item in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(item, OpExtension):
                register(item.operator)
            elif not isinstance(item, Extension):
                register(item)

    def register_plugin(self, plugin: str, device_name: str, config: Properties | None = None) -> None:
        """Raise RuntimeError: plugins are not supported."""
        raise NotOffered("plugins of other devices", "there is one device, CPU")

    def register_plugins(self, xml_config_file: str | os.PathLike[str]) -> None:
        """Raise RuntimeError: plugins are not supported."""
        raise NotOffered("plugins of other devices", "there is one device, CPU")

    def unload_plugin(self, device_name: str) -> None:
        """Do nothing: kernels are modules, which cannot be unloaded."""
        _check_device(device_name)

    def create_context(self, device_name: str, properties: Properties | None = None) -> NoReturn:
        """Raise RuntimeError: remote contexts are not supported."""
        expected(device_name, str, "create_context()")
        raise NotOffered("remote contexts", "tensors are NumPy arrays: Tensor(array, shared_memory=True)")

    def get_default_context(self, device_name: str) -> NoReturn:
        """Raise RuntimeError: remote contexts are not supported."""
        expected(device_name, str, "get_default_context()")
        raise NotOffered("remote contexts", "tensors are NumPy arrays: Tensor(array, shared_memory=True)")

    def __repr__(self) -> str:
        return f"<Core: available plugins[{', '.join(_DEVICES)}]>"


def read_model(
    model: Source, weights: Source | Tensor | RandomWeights | None = None, *, mode: Mode = "openvino"
) -> Model:
    """Read a model from an `.xml` file and its weights, and check all of it.

    `model` may also be the bytes or the text of an IR, a stream that holds them, or an `.onnx` file or its bytes, which
    are converted (extra `onnx`). `weights` is a path, bytes or a Tensor, by default the `.bin` beside the file;
    `RandomWeights(seed)` draws weights that are missing.

    Any file that OpenVINO reads without ambiguity is read, with one Python warning about the first finding and
    the number of the others. `mode="strict"` refuses a file in which `validate` finds an error, and compares results at
    run time with the dims that the file declares.

    Raises IRError, whose `report` lists every finding, for a file that is refused.
    """
    return _read(model, weights, mode)


@no_collection(to_stay=True)
def _read(model: Any, weights: Any = None, mode: Mode = "openvino") -> Model:
    if isinstance(model, str) and "<" in model:
        model = model.encode()
    model = _bytes(model)
    if not _is_source(model):
        raise TypeError(f"Provided python object type {type(model)} isn't supported as 'model' argument.")
    if not isinstance(weights, RandomWeights):
        weights = weights.data.tobytes() if isinstance(weights, Tensor) else _bytes(weights)
    weights = None if weights in ("", b"") else weights
    found = accepted(read(model, weights, mode=mode, model_class=Model))
    assert isinstance(found, Model)
    if found.version < 11:
        from irexec.api.openvino.old_types import give_old_types

        give_old_types(found)
    return found


def _is_source(given: Any) -> bool:
    return isinstance(given, (str, bytes, bytearray, memoryview, os.PathLike)) or hasattr(given, "read")


def _bytes(given: Any) -> Any:
    """Return the contents of a buffer or an in-memory stream as bytes; any other object unchanged."""
    if hasattr(given, "getvalue"):
        return given.getvalue()
    return bytes(given) if isinstance(given, (bytearray, memoryview)) else given


def compile_model(
    model: graph.Model | Source,
    device_name: str | Properties | None = None,
    config: Properties | None = None,
) -> CompiledModel:
    """Compile a model, or the model of a file.

    There is one device: `device_name` is CPU, or a virtual device such as AUTO, which selects it. `config` contains
    properties. Arrays of bf16, 8-bit floats and packed types are those of ml_dtypes; those of `Core().compile_model`
    have the form of OpenVINO's tensors. With the extra `fast`, a model that runs often is about 1.5 to 4 times as fast;
    EXECUTION_MODE_HINT decides when its layers are compiled: see `CompiledModel.is_lowered`. Raises IRError as
    `read_model`, and RuntimeError for an unknown property.
    """
    compiled: CompiledModel = Core().compile_model(model, device_name, config)
    compiled.as_openvino = False
    return compiled


def _check_device(name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"a device is named by a text, not {name!r}")
    if name is None or name.split(":")[0].split(".")[0] in (*_DEVICES, *_CHOOSING):
        return
    raise NotOffered(f"the device {name!r}", "there is one device, CPU; AUTO chooses it")


def tensor_from_file(path: str | os.PathLike[str]) -> Tensor:
    """Return the bytes of a file as a tensor."""
    import numpy as np

    return Tensor(np.frombuffer(bytearray(read_file(path)), np.uint8))


def get_batch(model: Model) -> Dimension:
    """Return the extent of the first axis N in the layouts of the inputs. Raises RuntimeError if no layout has one."""
    for port in expected(model, Model, "get_batch()").inputs:
        if layout_of(port.node).has_name("N"):
            return port.type.shape[layout_of(port.node).get_index_by_name("N")]
    raise RuntimeError("no input has a layout with N: name the batch axis with set_layout")


def set_batch(model: Model, batch_size: int | Dimension = -1, *, dimension: int | Dimension | None = None) -> None:
    """Set the extent of the axis N of all inputs whose layout has one. Raises RuntimeError if no layout has one."""
    wanted = batch_size if dimension is None else dimension
    expected(wanted, (int, Dimension), "set_batch()")
    get_batch(model)
    shapes = {}
    for port in model.inputs:
        shape = PartialShape(port.type.shape)
        if layout_of(port.node).has_name("N"):
            shape[layout_of(port.node).get_index_by_name("N")] = wanted
        shapes[port] = shape
    Model.reshape(model, shapes)


def shutdown() -> None:
    """Do nothing: irexec has no plugins to shut down."""
