"""From SQL text to an expression."""
