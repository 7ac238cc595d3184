"""A real S3 server for tests: moto in a process of its own on a free loopback port.

    with S3Server.start() as server:
        server.put("bucket", "ck/metadata", b"...")
        door = Door.open(server.location("s3://bucket/ck"))
        ...
        server.stats()          # what the server saw: list, get, head, write, most_at_once

It needs no network and no credentials; the ones it uses are dummies. Use the ``s3_server`` fixture of
``tests/storage/conftest.py``, or import it from there.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from core.storage import Location, parse_location

PROJECT = Path(__file__).resolve().parents[2]
MANY = 200
KEY, SECRET, REGION = "test-key", "test-secret", "us-east-1"


@dataclass
class S3Server:
    """The running server. ``page_size``: how many keys one page of a listing holds."""

    endpoint: str
    page_size: int
    _client: Any = field(repr=False, default=None)

    @classmethod
    @contextmanager
    def start(cls, page_size: int = 1000) -> Iterator[S3Server]:
        environment = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY")}
        environment["MOTO_S3_DEFAULT_MAX_KEYS"] = str(page_size)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.s3_server"],
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port.isdigit(), (
                "the S3 server of the tests did not start; run: python -m tests.support.s3_server"
            )
            endpoint = f"http://127.0.0.1:{port}"
            client = boto3.client(
                "s3",
                endpoint_url=endpoint,
                aws_access_key_id=KEY,
                aws_secret_access_key=SECRET,
                region_name=REGION,
                config=Config(max_pool_connections=8, s3={"addressing_style": "path"}),
            )
            yield cls(endpoint, page_size, client)
            client.close()
        finally:
            process.terminate()
            process.wait(timeout=30)
            assert process.stdout is not None
            process.stdout.close()

    @property
    def storage_options(self) -> dict[str, Any]:
        """fsspec's options for this server."""
        return {
            "key": KEY,
            "secret": SECRET,
            "endpoint_url": self.endpoint,
            "client_kwargs": {"region_name": REGION},
        }

    def location(self, url: str) -> Location:
        return parse_location(url, self.storage_options)

    def bucket(self, name: str) -> None:
        """Makes the bucket if it is not there. Three letters or more."""
        self._client.create_bucket(Bucket=name)

    def put(self, bucket: str, key: str, content: bytes = b"") -> None:
        """Writes one object; a key that ends in "/" is the marker of a directory, as S3A writes it."""
        kind = {"ContentType": "application/x-directory"} if key.endswith("/") else {}
        self._client.put_object(Bucket=bucket, Key=key, Body=content, **kind)

    def put_many(self, bucket: str, contents: dict[str, bytes]) -> None:
        """Writes some objects as a client does, and many in one request to the server behind."""
        if len(contents) < MANY or any(key.endswith("/") for key in contents):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda item: self.put(bucket, *item), contents.items()))
            return
        body = json.dumps({key: base64.b64encode(content).decode() for key, content in contents.items()})
        with self._open(
            urllib.request.Request(f"{self.endpoint}/-/objects/{bucket}", data=body.encode(), method="PUT")
        ):
            pass

    def upload(self, bucket: str, prefix: str, directory: Path) -> None:
        """Copies a local directory, without Hadoop's ``.crc`` files: S3A writes none."""
        files = [
            path for path in sorted(directory.rglob("*")) if path.is_file() and not path.name.endswith(".crc")
        ]
        self.put_many(
            bucket,
            {f"{prefix}/{path.relative_to(directory).as_posix()}": path.read_bytes() for path in files},
        )

    def empty(self, bucket: str) -> None:
        """Forgets all objects of a bucket: a listing is slow in a bucket of many."""
        with self._open(urllib.request.Request(f"{self.endpoint}/-/objects/{bucket}", method="DELETE")):
            pass

    def delete(self, bucket: str, key: str) -> None:
        self._client.delete_object(Bucket=bucket, Key=key)

    def keys(self, bucket: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]

    def stats(self) -> dict[str, int]:
        """The requests since the last call: list, get, head, write, most_at_once."""
        with self._open(urllib.request.Request(f"{self.endpoint}/-/stats")) as answer:
            counts: dict[str, int] = json.load(answer)
            return counts

    def fail(self, *faults: dict[str, Any]) -> None:
        """Makes requests fail from now on: ``{"match": "offsets/3", "status": 403, "code": "AccessDenied",
        "times": 1}``; none clears."""
        with self._open(
            urllib.request.Request(
                f"{self.endpoint}/-/faults", data=json.dumps(faults).encode(), method="PUT"
            )
        ):
            pass

    @staticmethod
    def _open(request: urllib.request.Request) -> Any:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)
