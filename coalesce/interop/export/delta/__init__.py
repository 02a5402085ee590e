"""Delta's log."""
