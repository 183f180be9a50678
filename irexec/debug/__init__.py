"""Trust: compares runs, runtimes and models on the same inputs, and cuts out the part of a model where they differ."""
