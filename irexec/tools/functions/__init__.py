"""The commands as Python functions, whose results print the same text as the commands."""
