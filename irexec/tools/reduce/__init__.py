"""Reductions: from a model that fails to the smallest one that still fails, and the files to report it."""
