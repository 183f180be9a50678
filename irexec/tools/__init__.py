"""What is built on top: running examples and models, doctest, trace, schemas, the operator tables."""
