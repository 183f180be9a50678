"""The report: one HTML file that shows a model, or the examples of a page, to be opened in any browser."""
