"""The text form of a model: one layer a line, written by hand, printed, and read as any other model."""
