"""Text for a terminal: tables, findings, a model or an example that was run."""
