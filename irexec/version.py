"""The version of irexec, in a module that every package can import."""

__version__ = "0.2.0.dev0"


def get_version() -> str:
    """Return the version of irexec."""
    return __version__
