"""Sensitivity: the effect of each quantizer, or of each rounded value, measured on the results."""
