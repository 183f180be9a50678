"""Facts about a model that need no run; text, SVG, HTML and JSON output is generated from these facts."""
