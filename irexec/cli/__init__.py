"""The commands, one module each: `main` runs one and converts the outcome into an exit code."""
