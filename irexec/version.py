"""The version of irexec, defined here only: also for rooms below the public names."""

__version__ = "0.2.0.dev0"
