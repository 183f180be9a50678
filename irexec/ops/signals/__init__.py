"""Signal processing operators: a file for each operation page, or for a family of short operators."""
