"""Printed `<layer>` examples: repaired, completed, evaluated, and compared with what the page documents."""
