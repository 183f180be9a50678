"""Arrays as input and output: read from text and files, drawn at random, formatted on one line, saved."""
