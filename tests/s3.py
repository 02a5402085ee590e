"""An S3 server inside the test process, for every test that wants a bucket.

A `conftest.py` beside the tests imports the fixtures: `from tests.s3 import s3_location, s3_server`.
"""

import threading
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


@dataclass
class S3Server:
    """A running server. `requests` grows by one `METHOD /bucket/key?query` for each it serves."""

    url: str
    requests: list[str] = field(default_factory=list)

    def put(self, bucket: str, key: str = "", data: bytes = b"") -> None:
        """Make a bucket or an object directly, with keys no well-behaved client would write."""
        url = f"{self.url}/{bucket}" + (f"/{urllib.parse.quote(key)}" if key else "")
        headers = {"Content-Type": "application/octet-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers, method="PUT")):
            pass


@dataclass(frozen=True)
class S3Location:
    """A location in a bucket of its own, and the options to open it with."""

    location: str
    options: dict[str, str]
    bucket: str
    server: S3Server


class QuietHandler(WSGIRequestHandler):
    """Logs nothing."""

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Nothing."""


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server that handles one request at a time: moto looks for the object and writes it without a lock."""
    moto = DomainDispatcherApplication(create_backend_app)
    server = S3Server("")
    one_at_a_time = threading.Lock()

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with one_at_a_time:
            server.requests.append(f"{environ['REQUEST_METHOD']} {environ['REQUEST_URI']}")
            return list(moto(environ, start_response))

    # Threads, because a connection that is open and silent would keep a server without them from all others.
    running = make_server("127.0.0.1", 0, application, threaded=True, request_handler=QuietHandler)
    server.url = f"http://127.0.0.1:{running.server_port}"
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield server
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def s3_location(s3_server: S3Server) -> S3Location:
    """A table's location in a new, empty bucket. The credentials are made up; without any, obstore looks for some."""
    bucket = f"bucket-{uuid.uuid4().hex}"
    s3_server.put(bucket)
    options = {
        "endpoint": s3_server.url,
        "region": "us-east-1",
        "access_key_id": "test",
        "secret_access_key": "test",
        "allow_http": "true",
        "max_retries": "2",
    }
    return S3Location(f"s3://{bucket}/warehouse/events", options, bucket, s3_server)
