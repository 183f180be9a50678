"""Models whose weights are missing: constants found from the declared shapes, or drawn at random."""
