"""The tools, each a package: what a command does, without its command line."""
