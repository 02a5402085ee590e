"""Rows through Spark."""
