"""Other table formats."""
