"""What follows from the operators' signatures: schemas, tables, pages."""
