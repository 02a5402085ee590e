"""What the tests of commits may ask for."""

from tests.s3 import s3_location, s3_server

__all__ = ["s3_location", "s3_server"]
