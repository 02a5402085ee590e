"""From an expression and a version to the files to read."""
