"""Everything that is known about the cause of a wrong result, and the bundle that reports it."""
