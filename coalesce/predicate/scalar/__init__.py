"""Values computed from columns: what they are, which functions there are, and what each of them is with Spark's semantics."""
