"""Threads of the process: loops over a shared pool, sequences of compiled tasks, and BLAS held to one thread."""
