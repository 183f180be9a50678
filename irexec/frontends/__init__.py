"""Other file formats that become a Model."""
