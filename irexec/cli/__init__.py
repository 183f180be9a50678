"""The commands, one module each: `main` picks one and turns what happens there into an exit code."""
