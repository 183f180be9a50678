"""Runtimes that can be judged. Each file is complete in itself, so that any Python with the runtime can import it."""
