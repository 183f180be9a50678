"""Child processes: how they are started, what they can import, their time limits, and how they end.

`child` is a Python process that executes calls. `starting` starts it, and the programs given by the user; no other
module of irexec starts a process.
"""
