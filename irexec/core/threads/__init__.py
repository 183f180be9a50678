"""Threads of the process: loops over a shared pool, and BLAS limited to one thread."""
