"""Values computed from columns: which functions there are, and what each of them is, with Spark's semantics."""
