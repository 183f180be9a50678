"""The errors that OpenVINO's Python API raises, and the error for features that irexec does not offer."""

from __future__ import annotations


class OVError(Exception):
    """The base class of errors that the Python part of the API raises."""


class UserInputError(OVError):
    """Raised for an unusable argument."""


class OVTypeError(OVError, TypeError):
    """Raised for a type that corresponds to no element type."""


class NotOffered(NotImplementedError, RuntimeError):
    """Raised for an OpenVINO feature that irexec does not offer; the message names the closest alternative."""

    def __init__(self, what: str, nearest: str) -> None:
        super().__init__(f"irexec does not offer {what}: {nearest}")


class Missing:
    """An OpenVINO class that irexec does not offer: it can be used in annotations, for example, but not
    instantiated."""

    what = "this class"
    nearest = "see docs/openvino-api.md"

    def __init__(self, *arguments: object, **keywords: object) -> None:
        raise NotOffered(self.what, self.nearest)


def missing(name: str, what: str, nearest: str) -> type[Missing]:
    """Return a class that, on use, reports that it is not offered, and names the alternative."""
    return type(name, (Missing,), {"what": what, "nearest": nearest, "__doc__": f"Not offered: {what}."})
