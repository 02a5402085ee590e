"""Spark's words in the table's, and back: types, transforms, conditions, options."""
