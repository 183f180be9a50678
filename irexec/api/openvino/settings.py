"""Settings: the properties of a device or a compiled model that a program sets and reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from irexec.api.openvino.members import Members
from irexec.api.openvino.ov_any import OVAny
from irexec.core.arguments import expected
from irexec.core.types import DYNAMIC

if TYPE_CHECKING:
    from irexec.api.openvino.properties.known import Known

_TRUE = {"YES": True, "TRUE": True, "NO": False, "FALSE": False}
# Log levels that a text names differently: the name of the member for each text.
_LEVELS = {"NONE": "NO", "ERROR": "ERR"}


class Settings:
    """The properties that were set; the others have their initial values."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = dict(values or {})

    @property
    def profiles(self) -> bool:
        """Whether requests measure the time of each layer (PERF_COUNT)."""
        return bool(self._values.get("PERF_COUNT", False))

    @property
    def execution_mode(self) -> str | None:
        """The name of the execution mode, PERFORMANCE or ACCURACY, if it was set (EXECUTION_MODE_HINT)."""
        mode = self._values.get("EXECUTION_MODE_HINT")
        return None if mode is None else str(mode.name)

    def read(self, property: Any, *, compiled: bool = False) -> Any:
        """Return a property of the device or of a compiled model, by its name. Raises RuntimeError for an unknown
        name."""
        known, name = _known(compiled), str(expected(property, str, "get_property()"))
        if name == "SUPPORTED_PROPERTIES":
            listed = {n: "RW" if k.writable and not compiled else "RO" for n, k in known.items()}
            return {"SUPPORTED_PROPERTIES": "RO"} | listed
        known = _check(name, known)
        return self._values.get(name, known[name].value)

    def write(self, properties: Any, *, compiled: bool = False) -> None:
        """Set `{name: value}` or one (name, value). Raises RuntimeError for a property that is unknown or cannot be
        set."""
        known = _known(compiled)
        given = dict([properties]) if isinstance(properties, tuple) else dict(properties)
        fitting = {}
        for key, value in given.items():
            name = str(key)
            known = _check(name, known)
            if not known[name].writable:
                raise RuntimeError(f"the property {name} can only be read")
            fitting[name] = _fitting(name, value.value if isinstance(value, OVAny) else value, known[name].value)
        self._values.update(fitting)

    def with_values(self, properties: Any) -> Settings:
        """Return a copy with `properties` set; the values for the CPU in DEVICE_PROPERTIES take precedence."""
        made = Settings(self._values)
        if properties:
            given = dict(expected(properties, Mapping, "compile_model()"))
            devices = given.pop("DEVICE_PROPERTIES", {})
            if not isinstance(devices, Mapping):
                raise RuntimeError(f"{devices!r} is not a value of the property DEVICE_PROPERTIES")
            made.write(given | dict(devices.get("CPU", {})), compiled=True)
        return made


def _known(compiled: bool) -> Mapping[str, Known]:
    # Imported only on demand: the properties of the device take longer to determine than a model takes to compile.
    from irexec.api.openvino.properties.known import COMPILED, DEVICE

    return COMPILED if compiled else DEVICE


def _check(name: str, known: Mapping[str, Known]) -> Mapping[str, Known]:
    """Return the properties that contain a name: the device's own (`known`) or Core's. Raises RuntimeError."""
    from irexec.api.openvino.properties.known import OF_CORE

    if name in known or name in OF_CORE:
        return known if name in known else OF_CORE
    from irexec.core.diagnostics.nearest import nearest, suggestion

    hint = suggestion(nearest(name, [*known, *OF_CORE], 1))
    raise RuntimeError(f"NotFound: Unsupported property {name} by CPU plugin{f'; {hint}' if hint else ''}")


def _fitting(name: str, value: Any, first: Any) -> Any:
    """Return a value of the property's type, parsed if it is a text. Raises RuntimeError."""
    from irexec.api.openvino.properties.known import ALLOWED

    try:
        parsed = _parsed(value, first)
        allowed = name not in ALLOWED or ALLOWED[name](parsed)
    except (KeyError, ValueError, TypeError):
        allowed = False
    if not allowed:
        raise RuntimeError(f"{value!r} is not a value of the property {name}")
    return parsed


def _parsed(value: Any, first: Any) -> Any:
    """Return a value of the type of a property's initial value. Raises KeyError or ValueError for a wrong text."""
    if hasattr(value, "to_integer"):  # properties.streams.Num
        return value.to_integer()
    if not isinstance(value, str):
        return value
    if isinstance(first, bool):
        return _TRUE[value.upper()]
    if isinstance(first, Members):
        name = value.upper().removeprefix("LOG_")
        return type(first).__members__[_LEVELS.get(name, name)]
    if isinstance(first, int):
        return value if value in ("AUTO", "NUMA") else int(value)
    if isinstance(first, float):
        return float(value)
    return type(DYNAMIC).by_name[value] if isinstance(first, type(DYNAMIC)) else value
