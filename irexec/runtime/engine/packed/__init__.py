"""Packed weights: constants of few bits that stay as stored in the file, and are converted when a layer reads them.

A file with compressed weights computes each matrix from a constant of few bits by layers of its own: Convert, Subtract
of zero points, Multiply by scales, Reshape, Convert. Folding these layers would keep the whole matrix in f32. Planning
replaces them and the layer that reads them (MatMul, Gather, Convolution, GroupConvolution) by one step, whose call gets
a PackedMatrix in place of an array and converts some rows at a time. Every element is rounded as each of the layers
rounds it.
"""
