"""Functions that shape rules share: broadcasting, axes, windows, slices, named extents."""
