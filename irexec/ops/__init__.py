"""The operators: the decorator and derived properties, shared rules, and a module per operation page or family."""
