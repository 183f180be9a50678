"""Threads of the process: loops over a shared pool, sequences of compiled tasks, and BLAS limited to one thread."""
