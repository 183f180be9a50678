"""The translators, a file for each family of operators."""
