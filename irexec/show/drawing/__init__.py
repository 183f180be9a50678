"""The graph of a model as a drawing: what is drawn, where it lies, and the SVG of it."""
