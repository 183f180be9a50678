"""The language server: findings, fixes, hover, completion and navigation for IR files in an editor (`irexec lsp`)."""
