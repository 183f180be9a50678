"""Repairs of printed examples: a tolerant scanner and tree, loose layers made whole, clean XML with the way back."""
