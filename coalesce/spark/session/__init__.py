"""A session of Spark that knows the source `coalesce`: started here, or anyone's."""
