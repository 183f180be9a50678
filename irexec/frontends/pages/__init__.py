"""Documentation pages: the operators they describe and their examples, each with its place in the page."""
