"""Tables of a warehouse as a catalog of Spark's: names, DDL, metadata tables and procedures."""
