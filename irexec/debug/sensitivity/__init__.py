"""Sensitivity: the effect of each quantiser, or of each rounded value, measured on the results."""
