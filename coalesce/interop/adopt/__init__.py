"""Tables of what is there already: Parquet directories, Delta and Iceberg tables, without moving a byte."""
