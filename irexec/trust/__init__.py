"""Trust: what two runs, two runtimes or two models make of the same inputs, and the part of a model where they part."""
