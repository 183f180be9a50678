"""Arrays as input and output: read from text and files, drawn at random, shown in short, saved."""
