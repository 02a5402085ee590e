"""Nouns: what a table is made of. Frozen, typed, no I/O."""
