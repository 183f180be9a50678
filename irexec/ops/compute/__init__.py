"""Functions that kernels share: precision, blocks, threads, products, conversion."""
