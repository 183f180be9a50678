"""Comparisons of two runs of a model: which layers differ by themselves, why, and what the comparison cannot show."""
