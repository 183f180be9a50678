"""Parts of a model, cut out with the values that their inputs had."""
