"""Azurite, fake-gcs-server, HDFS and S3A, started for the tests: where a table can lie, and how to open it there."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.serving import make_server

from coalesce.spark.jvm.hadoop import Hadoop
from coalesce.storage import Storage, open_storage
from tests.s3 import QuietHandler

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AZURITE = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")
FAKE_GCS = Path("bin", "fake-gcs-server")
JARS = Path("jars")

# Azurite's account is the same everywhere, and no secret.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Place:
    """A location, and the options to open it with."""

    location: str
    options: dict[str, str] = field(default_factory=dict)


def storage_at(place: Place, session: "SparkSession | None") -> Storage:
    """The storage there."""
    return open_storage(place.location, options=place.options, hadoop=None if session is None else Hadoop(session))


def home() -> Path:
    """Where `tests.stores` has put the servers."""
    return Path(os.environ["COALESCE_STORES"])


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(command: list[str], port: int) -> Iterator[None]:
    """A server process, from when it answers on the port until the end."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as ran:
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if ran.poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"{command[0]} does not answer") from None
                    time.sleep(0.2)
            yield
        finally:
            ran.terminate()


@contextmanager
def azurite() -> Iterator[int]:
    """Microsoft's emulator of its blob store; the value is its port."""
    port = free_port()
    quiet = ["--silent", "--disableTelemetry", "--inMemoryPersistence", "--skipApiVersionCheck"]
    with serving(["node", str(home() / AZURITE), "--blobPort", str(port), *quiet], port):
        yield port


def azure_container(port: int, name: str) -> Place:
    """A new container, and a table's place in it."""
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    resource = f"/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n{resource}"
    signature = base64.b64encode(hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers = {
        "x-ms-date": date,
        "x-ms-version": "2021-08-06",
        "Authorization": f"SharedKey {_ACCOUNT}:{signature}",
        "Content-Length": "0",
    }
    assert request(port, "PUT", f"/{_ACCOUNT}/{name}?restype=container", headers=headers)[0] == 201
    options = {
        "account_name": _ACCOUNT,
        "account_key": _KEY,
        "endpoint": f"http://127.0.0.1:{port}/{_ACCOUNT}",
        "allow_http": "true",
        "max_retries": "2",
    }
    return Place(f"az://{name}/warehouse/events", options)


@contextmanager
def fake_gcs() -> Iterator[int]:
    """The Google emulator behind a translator; the value is the translator's port.

    obstore writes objects by Google's XML interface, which the emulator does not have for that. Its JSON interface has
    the same condition under another name, and it is the emulator that decides it. Everything else passes through.
    """
    port = free_port()
    command = [str(home() / FAKE_GCS), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        method, target = environ["REQUEST_METHOD"], environ["REQUEST_URI"]
        kept = ("HTTP_RANGE", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "CONTENT_TYPE")
        headers = {k.removeprefix("HTTP_").replace("_", "-"): environ[k] for k in kept if environ.get(k)}
        if method == "PUT":
            bucket, _, key = urllib.parse.unquote(target.partition("?")[0][1:]).partition("/")
            query = {"uploadType": "media", "name": key}
            if "HTTP_X_GOOG_IF_GENERATION_MATCH" in environ:
                query["ifGenerationMatch"] = environ["HTTP_X_GOOG_IF_GENERATION_MATCH"]
            method, target = "POST", f"/upload/storage/v1/b/{bucket}/o?{urllib.parse.urlencode(query)}"
        status, answered, data = request(port, method, target, body, headers)
        if "uploadType" in target and status == 200:
            answered["ETag"] = json.loads(data)["etag"]
        sent = [(k, v) for k, v in answered.items() if k.lower() not in ("transfer-encoding", "connection")]
        start_response(f"{status} {http.client.responses[status]}", sent)
        return [data]

    with serving([*command, "-port", str(port), "-public-host", f"127.0.0.1:{port}"], port):
        translator = make_server("127.0.0.1", 0, application, threaded=True, request_handler=QuietHandler)
        thread = threading.Thread(target=translator.serve_forever)
        thread.start()
        try:
            yield translator.server_port
        finally:
            translator.shutdown()
            thread.join()
            translator.server_close()


def gcs_bucket(port: int, name: str) -> Place:
    """A new bucket, and a table's place in it."""
    described = json.dumps({"name": name}).encode()
    assert request(port, "POST", "/storage/v1/b?project=p", described, {"Content-Type": "application/json"})[0] == 200
    key = {"gcs_base_url": f"http://127.0.0.1:{port}", "disable_oauth": True}
    account = {**key, "client_email": "", "private_key": "", "private_key_id": ""}
    options = {"service_account_key": json.dumps(account), "allow_http": "true", "max_retries": "2"}
    return Place(f"gs://{name}/warehouse/events", options)


def request(
    port: int, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """One request to a server on this machine: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()
