"""Which layers cost the accuracy: the effect of each quantiser, or of each rounded value, measured on the results."""
