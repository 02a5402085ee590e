"""A bucket for tests of exports in object stores."""

from tests.s3 import s3_location, s3_server

__all__ = ["s3_location", "s3_server"]
