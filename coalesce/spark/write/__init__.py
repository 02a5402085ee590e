"""From a DataFrame to data files and the entries that describe them."""
