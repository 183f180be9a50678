"""Declaration of operators: the decorator, signatures, attributes and the table of contents."""
