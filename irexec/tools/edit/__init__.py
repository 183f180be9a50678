"""Changes of a model: its shapes, inputs, outputs, names and layers, each followed by validation and a comparison."""
