"""Running a model: the engine, its compiled back end, and child processes."""
