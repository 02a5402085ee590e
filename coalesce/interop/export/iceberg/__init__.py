"""Iceberg's metadata, version 2."""
