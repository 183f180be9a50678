"""The graph of a model as a drawing: its items, their layout, and the SVG."""
