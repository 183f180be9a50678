"""Python scripts that build a model."""
