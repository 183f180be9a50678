"""Debugging: compares runs, runtimes and models on the same inputs, and finds and extracts the layers that differ."""
