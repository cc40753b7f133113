# SPDX-License-Identifier: Apache-2.0
"""A server: all that is not inside one sandbox."""

import json
import time
import urllib.parse

from .errors import ConnectionLostError
from .http import Transport, path
from .leases import Leases
from .sandbox import Sandbox, pages

RECONNECT_WAIT = 0.2
RECONNECT_WAIT_MAX = 5.0


class Collection:
    """A collection of the API: its items by name or id."""

    def __init__(self, transport, base):
        self.transport, self.base = transport, base

    def _address(self, id):
        return f"{self.base}/{urllib.parse.quote(str(id), safe='')}"

    def list(self, **query):
        return pages(self.transport, self.base, query)

    def get(self, id):
        return self.transport.request("GET", self._address(id))

    def create(self, **body):
        return self.transport.request("POST", self.base, json=body)

    def delete(self, id):
        self.transport.request("DELETE", self._address(id))


class Templates(Collection):
    def update(self, id, **change):
        return self.transport.request("PATCH", self._address(id), json=change)


class Snapshots(Collection):
    def create(self, *, sandbox, **body):
        return self.transport.request("POST", path("/api/sandbox/instances/{}/snapshot", sandbox), json=body)


class Jobs:
    """Commands that were started in the background, by the conversation that they belong to."""

    def __init__(self, transport):
        self.transport = transport

    def list(self, **query):
        return self.transport.request("GET", "/v1/jobs", query=query)["items"]

    def get(self, id, **query):
        return self.transport.request("GET", path("/v1/jobs/{}", id), query=query)

    def logs(self, id, **query):
        return self.transport.request("GET", path("/v1/jobs/{}/logs", id), query=query)

    def stop(self, id, **query):
        return self.transport.request("POST", path("/v1/jobs/{}/stop", id), query=query)


class Artifacts(Collection):
    def read(self, id):
        return self.transport.read("GET", self._address(id) + "/content")

    def stream(self, id):
        return self.transport.stream(self._address(id) + "/content")

    def url(self, id, expires_in=3600):
        """An address that gives it without a key, for so many seconds."""
        made = self.transport.request("POST", self._address(id) + "/url", json={"expires_in_seconds": int(expires_in)})
        return self.transport.url + made["url"]


class Sandboxes:
    def __init__(self, transport):
        self.transport = transport

    def create(self, **body):
        return Sandbox.create(transport=self.transport, **body)

    def connect(self, id):
        return Sandbox.connect(id, transport=self.transport)

    def list(self, **query):
        return Sandbox.list(transport=self.transport, **query)

    def kill(self, id, keep=False):
        return Sandbox.kill_by_id(id, keep=keep, transport=self.transport)

    def undelete(self, id):
        return Sandbox.undelete(id, transport=self.transport)

    def trash(self):
        return Sandbox.trash(transport=self.transport)


class Atoll:
    def __init__(self, api_url=None, api_key=None, project=None, timeout=60.0, retries=2):
        self.transport = Transport(api_url, api_key, project, timeout, retries)
        self.sandboxes = Sandboxes(self.transport)
        self.leases = Leases(self.transport)
        self.volumes = Collection(self.transport, "/api/sandbox/volumes")
        self.templates = Templates(self.transport, "/api/sandbox/templates")
        self.artifacts = Artifacts(self.transport, "/api/sandbox/artifacts")
        self.jobs = Jobs(self.transport)
        self.snapshots = Snapshots(self.transport, "/api/sandbox/snapshots")

    def with_sandbox(self, key, run, **options):
        return self.leases.with_sandbox(key, run, **options)

    def usage(self, **query):
        """What was used and what it cost, in groups; a time that begins is `from_`."""
        if "from_" in query:
            query["from"] = query.pop("from_")
        return self.transport.request("GET", "/v1/usage", query=query)

    def tools(self):
        """The agent tools and their schemas."""
        return self.transport.request("GET", "/v1/tools")["tools"]

    def balance(self):
        return self.transport.request("GET", "/v1/balance")

    def request(self, method, where, **options):
        """Any other call of the API: its JSON."""
        return self.transport.request(method, where, **options)

    def events(self, *, sandbox=None, kind=None, after=None, last=None):
        """Events as they happen, for as long as they are read; a broken connection is taken up where it was."""
        if after is None and last is None:
            # What happens between two connections is missed only by who does not know where he began.
            after = self.transport.request("GET", "/v1/events", query={"last": 1})["after"]
        wait = RECONNECT_WAIT
        while True:
            try:
                headers = {} if after is None else {"Last-Event-ID": str(after)}
                query = {"sandbox": sandbox, "kind": kind, "last": last if after is None else None, "stream": "sse"}
                for _, data, _ in self.transport.events("GET", "/v1/events", query=query, headers=headers):
                    event = json.loads(data)
                    after, wait = event.get("sequence", after), RECONNECT_WAIT
                    yield event
            except Exception as error:
                if not isinstance(error, ConnectionLostError) and getattr(error, "status", None) not in (502, 503):
                    raise
            time.sleep(wait)
            wait = min(wait * 2, RECONNECT_WAIT_MAX)
