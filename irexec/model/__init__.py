"""The model: bound operators and connected values, the inference of their types, arrays as input and output."""
