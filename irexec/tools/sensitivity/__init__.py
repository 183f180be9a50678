"""Sensitivity: the effect of each quantizer, or of each rounded value, measured on the results.

Terms of this package:

- The fine value is computed without a quantizer (or without rounding), the coarse value with the quantizer.
- A unit is a quantizer, or a layer whose result is rounded. Its sites are the inputs of layers that read its result.
- A board is a model with its units: each site can read the fine or the coarse value.
- A choice determines the value that each site reads. A lane is one choice on one input of the model.
- A pass computes several lanes together. Trials compare the results of choices with the expected results.
- A group is a set of layers that a quantization tool excludes from quantization together.
"""
