"""The operators: the decorator, what it derives, shared rules, and a module per operation page or family."""
