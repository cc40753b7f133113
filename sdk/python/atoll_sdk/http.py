# SPDX-License-Identifier: Apache-2.0
"""One call: address, key, time limit, and once more where that is safe."""

import contextlib
import http.client
import json
import os
import random
import threading
import time
import urllib.parse

from .errors import AtollError, ConnectionLostError, TimeoutExceededError, error_of_answer

RETRY_STATUS = {429, 502, 503, 504}
RETRY_WAIT = 0.2
RETRY_WAIT_MAX = 5.0
# The server says something every 15 s on a stream of events; who is silent for so long is gone.
SILENCE = 45.0
EVENT_MAX = 64 << 20
CURE = "is the server running there? Another address is set by ATOLL_API_URL or by api_url"


def path(template, *names):
    """path("/a/{}/b", id), with every name percent-encoded."""
    return template.format(*(urllib.parse.quote(str(name), safe="") for name in names))


def without_none(values):
    return {name: value for name, value in values.items() if value is not None}


def _query_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


class Transport:
    """Calls of one server with one key. Any thread: each has a connection of its own."""

    def __init__(self, api_url=None, api_key=None, project=None, timeout=60.0, retries=2):
        self.url = (api_url or os.environ.get("ATOLL_API_URL") or "http://127.0.0.1:7777").rstrip("/")
        self.key = api_key or os.environ.get("ATOLL_API_KEY")
        self.project, self.timeout, self.retries = project, timeout, retries
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AtollError(f"api_url '{self.url}' begins neither with http:// nor with https://", code="invalid_request")
        self.secure, self.host, self.port, self.prefix = parts.scheme == "https", parts.hostname, parts.port, parts.path
        self.mine = threading.local()

    def connect(self, timeout):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=timeout)

    def _lost(self, what, error):
        """The error of a call that got no answer, or not all of it."""
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ConnectionLostError(f"{what}: the connection to {self.url} failed: {reason}", code="connection", hint=CURE)

    def _headers(self, headers, idempotency_key):
        all_headers = {"Accept": "application/json", **(headers or {})}
        if self.key:
            all_headers["Authorization"] = f"Bearer {self.key}"
        if self.project:
            all_headers["X-Atoll-Project"] = self.project
        if idempotency_key:
            all_headers["Idempotency-Key"] = idempotency_key
        return all_headers

    def _address(self, where, query):
        texts = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
        return self.prefix + where + ("?" + urllib.parse.urlencode(texts) if texts else "")

    def _send(self, connection, method, where, options):
        body, headers = options.get("body"), self._headers(options.get("headers"), options.get("idempotency_key"))
        if options.get("json") is not None:
            body = json.dumps(options["json"])
            headers["Content-Type"] = "application/json"
        # Of a body whose length is not known http.client makes chunks by itself.
        connection.request(method, self._address(where, options.get("query")), body=body, headers=headers)
        return connection.getresponse()

    def _attempt(self, method, where, options, own):
        """An answer's head; a connection that was idle for too long is made anew."""
        timeout = options.get("timeout", self.timeout)
        kept = None if own else getattr(self.mine, "connection", None)
        self.mine.connection = None
        connection = kept or self.connect(timeout)
        if connection.sock:
            connection.sock.settimeout(timeout)
        else:
            connection.timeout = timeout
        try:
            try:
                return connection, self._send(connection, method, where, options)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                # The server closed what was idle and has not read the request: only then is it safe to send all again.
                if not kept or method == "POST" and not options.get("idempotency_key") or options.get("streams_body"):
                    raise
                connection = self.connect(timeout)
                return connection, self._send(connection, method, where, options)
        except TimeoutError as error:
            connection.close()
            raise TimeoutExceededError(f"{method} {where}: no answer from {self.url} within {timeout} s", code="timeout") from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._lost(f"{method} {where}", error) from error

    def _keep(self, connection, response):
        if response.will_close:
            connection.close()
        else:
            self.mine.connection = connection

    def open(self, method, where, own=True, **options):
        """(connection, response), its body not read yet; an error for all but success."""
        may_repeat = not options.get("streams_body") and (method in ("GET", "DELETE", "PUT") or options.get("idempotency_key"))
        attempts = self.retries + 1 if may_repeat else 1
        for attempt in range(1, attempts + 1):
            try:
                connection, response = self._attempt(method, where, options, own)
                if response.status < 400:
                    return connection, response
                error = error_of_answer(response.status, response.headers, self._rest(connection, response, where))
                if own:
                    connection.close()
                else:
                    self._keep(connection, response)
            except AtollError as failure:
                error = failure
            # An earlier attempt has done it, and its answer was lost.
            if attempt > 1 and method == "DELETE" and error.status == 404:
                return None, None
            again = isinstance(error, ConnectionLostError) or error.status in RETRY_STATUS
            if not again or attempt == attempts:
                raise error
            wait = error.retry_after or RETRY_WAIT * 2 ** (attempt - 1) * (0.5 + random.random())
            time.sleep(min(wait, RETRY_WAIT_MAX))
        raise AssertionError("unreachable")

    def _rest(self, connection, response, where):
        try:
            return response.read()
        except TimeoutError as error:
            connection.close()
            raise TimeoutExceededError(f"{where}: the answer did not come whole in time", code="timeout") from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._lost(where, error) from error

    def read(self, method, where, **options):
        """The answer's bytes."""
        connection, response = self.open(method, where, own=False, **options)
        if response is None:
            return b""
        body = self._rest(connection, response, where)
        self._keep(connection, response)
        return body

    def request(self, method, where, **options):
        """The answer's JSON; None when it has none."""
        body = self.read(method, where, **options)
        return json.loads(body) if body else None

    def stream(self, where, chunk=1 << 16, **options):
        """The answer's bytes in pieces; the time limit is one of silence."""
        connection, response = self.open("GET", where, **options)
        try:
            while True:
                try:
                    piece = response.read1(chunk)
                except TimeoutError as error:
                    raise TimeoutExceededError(f"GET {where}: nothing arrived from {self.url} in time", code="timeout") from error
                except (OSError, http.client.HTTPException) as error:
                    raise self._lost(f"GET {where}", error) from error
                if not piece:
                    if response.length:
                        raise ConnectionLostError(f"GET {where}: {response.length} bytes are missing", code="connection")
                    return
                yield piece
        finally:
            connection.close()

    def events(self, method, where, **options):
        """(event, data, id) of one connection. Ends with it; fails when it breaks."""
        headers = {**options.pop("headers", {}), "Accept": "text/event-stream"}
        yield from self._events_of(self.open(method, where, headers=headers, **options), f"{method} {where}", SILENCE)

    def _events_of(self, opened, what, silence):
        connection, response = opened
        try:
            connection.sock and connection.sock.settimeout(silence)
            yield from parse_events(response)
        except TimeoutError as error:
            raise self._lost(what, f"nothing arrived for {silence:g} s") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._lost(what, error) from error
        finally:
            connection.close()

    def request_with_progress(self, method, where, on_progress, **options):
        """The answer's JSON of a call that tells what it waits for. A stream that breaks is asked for again where that is safe."""
        attempts = self.retries + 1 if options.get("idempotency_key") else 1
        for attempt in range(1, attempts + 1):
            opened = self.open(method, where, headers={"Accept": "text/event-stream"}, **options)
            stream = self._events_of(opened, f"{method} {where}", options.get("timeout", self.timeout))
            try:
                with contextlib.closing(stream):
                    for event, data, _ in stream:
                        if event == "result":
                            return json.loads(data)
                        if event == "error":
                            raise error_of_answer(None, {}, data)
                        on_progress(json.loads(data))
                raise ConnectionLostError(f"{method} {where}: the answer is not whole", code="connection")
            except ConnectionLostError:
                if attempt == attempts:
                    raise
            time.sleep(RETRY_WAIT * 2 ** (attempt - 1) * (0.5 + random.random()))
        raise AssertionError("unreachable")


def parse_events(lines):
    """(event, data, id) from the lines of a stream."""
    event, data, last_id, size = "message", [], None, 0
    while True:
        raw = lines.readline(EVENT_MAX + 1)
        if not raw:
            return
        size += len(raw)
        if size > EVENT_MAX:
            raise ValueError("an event of the server is too long")
        line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not line:
            if data:
                yield event, "\n".join(data), last_id
            event, data, size = "message", [], 0
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            last_id = value
