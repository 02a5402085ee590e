"""Keeping a table in shape: what is worth writing again, which versions stay, which files go, whether all is well."""
