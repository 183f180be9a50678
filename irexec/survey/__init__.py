"""What there is to tell about a model without running it: the facts that text, SVG, HTML and JSON are drawn from."""
