"""From text or Spark filters to one expression, and what it can be."""
