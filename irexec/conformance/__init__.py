"""Judging a runtime: generated cases with readable names, run in a process of its own, compared with irexec."""
