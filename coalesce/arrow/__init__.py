"""Rows through pyarrow: write and read data files with no JVM."""
