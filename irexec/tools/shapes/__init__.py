"""The sizes that a dynamic model accepts, found by inference at many sizes (`irexec shapes`)."""
