"""Reductions: from a model that fails to the smallest one that still does, and what is sent to report it."""
