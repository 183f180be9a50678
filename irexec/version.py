"""The versions of irexec and of the API that it implements, in a module that every package can import."""

__version__ = "0.2.0.dev0"
OPENVINO = "2026.4.1"
"""The release of OpenVINO whose Python API irexec implements; programs choose by it what they use."""


def get_version() -> str:
    """Return the release of OpenVINO whose Python API this is; `irexec.__version__` is the version of irexec."""
    return OPENVINO
