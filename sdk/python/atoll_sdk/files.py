# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox. Relative paths are below its default folder."""

import contextlib
import json
import os
import secrets

from . import types
from .errors import NotFoundError, error_of_event
from .http import path, without_none


class _Files:
    """What files of a sandbox and of a volume have in common."""

    _append_method = "POST"

    def __init__(self, transport, base):
        self.transport, self.base = transport, base

    def _address(self, rest=""):
        return self.base + rest

    def read(self, name, *, format="text", offset=None, length=None, user=None):
        """Reads a file as text (UTF-8), or with `format` as "bytes" or "stream" (an iterator of bytes)."""
        query = {"path": name, "offset": offset, "length": length, "user": user}
        if format == "stream":
            return self.transport.stream(self._address("/content"), query=query)
        data = self.transport.read("GET", self._address("/content"), query=query)
        return data if format == "bytes" else data.decode("utf-8", "replace")

    def write(self, name, data, *, mode=None, append=None, no_replace=None, user=None):
        """Writes a file from a text, bytes, an open file or an iterable of bytes. Missing folders are created."""
        data = data.encode() if isinstance(data, str) else data
        query = {"path": name, "mode": mode, "append": append, "no_replace": no_replace, "user": user}
        return self.transport.request(
            self._append_method if append else "PUT", self._address("/content"), query=query, body=data,
            # What is appended twice is there twice: such a call is sent once.
            streams_body=append or not isinstance(data, (bytes, bytearray)), headers={"Content-Type": "application/octet-stream"})

    def list(self, name=".", *, depth=None, limit=None, user=None):
        query = {"path": name, "depth": depth, "limit": limit, "user": user}
        return self.transport.request("GET", self._address(), query=query)["items"]

    def stat(self, name, *, follow=None, user=None):
        return self.transport.request("GET", self._address("/stat"),
                                              query={"path": name, "follow": follow, "user": user})

    def exists(self, name, **options):
        try:
            self.stat(name, **options)
            return True
        except NotFoundError:
            return False

    def _post(self, what, **body):
        return self.transport.request("POST", self._address(what), json=without_none(body))

    def rename(self, source, target, *, parents=None, no_replace=None, user=None):
        return self._post("/rename", path=source, target=target, parents=parents, no_replace=no_replace, user=user)

    def mkdir(self, name, *, mode=None, parents=True, user=None):
        """Creates a folder and its missing parents. An existing folder is no error."""
        return self._post("/mkdir", path=name, mode=mode, parents=parents, user=user)

    def upload(self, local, name, **options):
        """Copies a file of this computer to the other side."""
        with open(local, "rb") as file:
            return self.write(name, file, **options)

    def download(self, name, local, *, user=None):
        """Copies a file to this computer. An incomplete copy is removed."""
        beside = f"{os.fspath(local)}.part-{secrets.token_hex(6)}"
        try:
            with open(beside, "xb") as file:
                for piece in self.read(name, format="stream", user=user):
                    file.write(piece)
            os.replace(beside, local)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside)

    def archive(self, name=".", *, user=None):
        """Reads a folder as a tar, in pieces of bytes."""
        return self.transport.stream(self._address("/tar"), query={"path": name, "user": user})

    def extract(self, name, tar, *, user=None):
        """Unpacks a tar (bytes, an open file, an iterable of bytes) into a folder."""
        return self.transport.request(
            "POST", self._address("/tar"), query={"path": name, "user": user}, body=tar,
            streams_body=not isinstance(tar, (bytes, bytearray)), headers={"Content-Type": "application/x-tar"})


class Files(_Files):
    def __init__(self, sandbox):
        super().__init__(sandbox.transport, path("/api/sandbox/instances/{}/files", sandbox.id))

    def remove(self, name, *, recursive=None, user=None):
        """Removes a file; a folder with all that is in it if `recursive`. Returns the number of removed entries."""
        return self._post("/remove", path=name, recursive=recursive, user=user)["count"]

    def copy(self, source, target, *, recursive=None, parents=None, no_replace=None, user=None):
        return self._post("/copy", path=source, target=target, recursive=recursive, parents=parents,
                          no_replace=no_replace, user=user)

    def search(self, text, name=".", **query) -> types.FileSearch:
        """Finds names and lines that contain the text. Options: glob, in, limit, regex, match_case, user."""
        return self.transport.request("GET", self._address("/search"), query={"q": text, "path": name, **query})

    def link(self, name, *, expires_in=None, user=None) -> types.FileLink:
        """Makes a link by which the file can be downloaded without a key, for seconds (default 300, at most 3600)."""
        body = {"path": name, "user": user, "expires_in_s": expires_in}
        return self.transport.request("POST", self._address("/link"), json={k: v for k, v in body.items() if v is not None})

    def watch(self, name=".", *, recursive=None, user=None, on_ready=None):
        """Yields the changes below a folder until the iterator is closed."""
        query = {"path": name, "recursive": recursive, "user": user, "stream": "sse"}
        with contextlib.closing(self.transport.events("GET", self._address("/watch"), query=query)) as changes:
            for event, data, _ in changes:
                if event == "ready":
                    if on_ready:
                        on_ready()
                elif event == "error":
                    raise error_of_event(json.loads(data))
                else:
                    yield json.loads(data)


class VolumeFiles(_Files):
    """Files of a volume, whether or not a sandbox has it attached."""

    _append_method = "PUT"

    def __init__(self, transport, volume):
        super().__init__(transport, path("/api/sandbox/volumes/{}/files", volume))

    def remove(self, name, *, recursive=None, user=None):
        """Removes a file; a folder with all that is in it if `recursive`."""
        query = {"path": name, "recursive": recursive, "user": user}
        return self.transport.request("DELETE", self._address(), query=query)["count"]
