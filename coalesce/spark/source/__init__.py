"""What Spark asks of a table that it reads, and the Java classes that ask."""
