"""The file: its text and tree (source), its elements (document), reading it (reader), its constants (weights)."""
