"""Runs of a whole model, or of the part before a layer, with listeners (trace, dump, progress)."""
