"""Comparisons of two runs of a model: which layers differ by themselves, why, and the limits of the comparison."""
