"""What kernels share: precision, blocks, threads, products, conversion."""
