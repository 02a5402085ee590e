"""Logical partitions that share physical files: write, prune, overwrite and evolve them without losing one."""
