"""Language models in the folders that exporters write: texts in and out, token by token, beside another runtime."""
