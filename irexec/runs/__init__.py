"""Watching a run: one inference of a model with its listeners (trace, dump, until, progress)."""
