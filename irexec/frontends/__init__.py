"""Front ends, which convert other file formats to a Model."""
