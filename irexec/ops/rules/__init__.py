"""What shape rules share: broadcasting, axes, windows, slices, named extents."""
