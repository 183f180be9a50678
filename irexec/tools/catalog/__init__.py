"""Generated from the operators' signatures: schemas, tables, pages."""
