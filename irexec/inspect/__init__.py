"""Facts about a model that need no run; text, SVG, HTML and JSON are made from them."""
