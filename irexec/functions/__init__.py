"""The commands as functions for Python: their results are values that print as the commands do."""
