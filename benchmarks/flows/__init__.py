"""What becomes of a table, step by step, in the process of one engine; each flow is a module."""
