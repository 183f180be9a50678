"""Judging a runtime: generated cases with readable names are run in a separate process and compared with irexec."""
