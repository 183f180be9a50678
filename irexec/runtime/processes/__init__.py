"""Child processes: how they are started, what they can import, their time limits, and how they end.

`worker` is an object in another process, `serve` that process, and `child` one that executes pickled calls. `starting`
starts them, and the programs given by the user; no other module of irexec starts a process.
"""
