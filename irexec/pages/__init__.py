"""Documentation pages: the operators they are about and the examples they hold, each with its place in the page."""
