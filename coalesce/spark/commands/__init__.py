"""What INSERT, CREATE TABLE, `df.write` and a stream's batches do to a table."""
