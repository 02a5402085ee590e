"""The S3 server, for those who adopt a bucket."""

from tests.s3 import s3_location, s3_server

__all__ = ["s3_location", "s3_server"]
