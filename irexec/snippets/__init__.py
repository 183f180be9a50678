"""Printed `<layer>` examples: repair, completion, evaluation, and comparison with the documented values."""
