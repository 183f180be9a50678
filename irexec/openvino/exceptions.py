"""The errors that OpenVINO's Python API raises, and the one for what irexec does not offer."""

from __future__ import annotations

from typing import Any


class OVError(Exception):
    """The base of errors that the Python part of the API raises."""


class UserInputError(OVError):
    """A caller gave something that cannot be used."""


class OVTypeError(OVError):
    """A type that no element type stands for."""


class NotOffered(NotImplementedError, RuntimeError):
    """Something of OpenVINO that irexec does not offer; the message names the nearest thing that it does."""

    def __init__(self, what: str, nearest: str) -> None:
        super().__init__(f"irexec does not offer {what}: {nearest}")


class Missing:
    """A class of OpenVINO that irexec does not offer: it can be named, in annotations say, but not made."""

    what = "this class"
    nearest = "see docs/openvino-api.md"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        raise NotOffered(self.what, self.nearest)


def missing(name: str, what: str, nearest: str) -> type[Missing]:
    """A class that says on use what is not offered, and what is."""
    return type(name, (Missing,), {"what": what, "nearest": nearest, "__doc__": f"Not offered: {what}."})
