"""Runtimes in their own process. Each file is complete in itself, so that any Python with the runtime can import it.

A class has `describe()`, `load(path, cache)`, which may return the precision in which the model will run, and
`infer(inputs)`. What a runtime can do beyond it are further methods: `results(steps)`, which starts from the initial
state, `observe(steps, values)`, `states(steps)`, `reset()`, `infer_at_once(inputs, count)`, `fused()` and `about()`.
"""
