"""Sessions whose JVM is out of reach: Spark Connect."""
