"""The file: its text and tree (source), what it says (document), reading it (reader), its constants (weights)."""
