"""The translators, one module for each family of operators."""
