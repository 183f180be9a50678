"""What every other package speaks: element types and shapes, findings, threads, small helpers that know no IR."""
