# SPDX-License-Identifier: Apache-2.0
"""Calls of a server that do not belong to one sandbox."""

from __future__ import annotations

import json
import time
import urllib.parse

from . import types
from .approvals import Approvals, Consents
from .audit import Audit
from .errors import ConnectionLostError, TimeoutExceededError
from .files import VolumeFiles
from .commands import _exec_of
from .http import Transport, path, without_none
from .leases import Leases
from .sandbox import Sandbox, pages

RECONNECT_WAIT = 0.2
RECONNECT_WAIT_MAX = 5.0
BUILD_WAIT = 0.5
EPHEMERAL_TIMEOUT = 600.0
EPHEMERAL_SLACK = 60.0  # for the sandbox
BUILD_ENDS = ("ready", "error", "cancelled")


class Collection:
    """Items of one kind, by name or id."""

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


class Builds(Collection):
    """Builds of templates from steps (docs/use/builds.md)."""

    def logs(self, id, **query):
        """Gets lines of the log; `since` is `next` of the answer before."""
        return self.transport.request("GET", self._address(id) + "/logs", query=query)

    def cancel(self, id):
        """Ends a build. What it has built stays in the cache."""
        return self.transport.request("POST", self._address(id) + "/cancel")

    def put_files(self, hash, tar):
        """Uploads files for copy steps: a tar as bytes, an open file or an iterable of bytes, under a digest of its content."""
        return self.transport.request("PUT", self._address("files") + path("/{}", hash), body=tar, headers={"Content-Type": "application/x-tar"},
                                      streams_body=not isinstance(tar, (bytes, bytearray)))

    def wait(self, id, *, timeout=3600.0, on_log=None):
        """Waits until a build has ended and answers with it: look at status and message. on_log is called with each line of its log."""
        since, end = 0, time.monotonic() + timeout
        while True:
            # The log after the status: a build that has ended writes nothing more.
            build = self.get(id)
            while on_log:
                answer = self.logs(id, since=since)
                for line in answer["lines"]:
                    on_log(line)
                if not answer["lines"]:
                    break
                since = answer["next"]
            if build["status"] in BUILD_ENDS:
                return build
            if time.monotonic() > end:
                raise TimeoutExceededError(f"build '{id}' has not ended within {timeout:g} s", code="timeout",
                                           hint="wait again, or cancel it: builds.cancel(id)")
            time.sleep(BUILD_WAIT)


class Volumes(Collection):
    def update(self, id, **change):
        """Raises the size limit."""
        return self.transport.request("PATCH", self._address(id), json=change)

    def files(self, id):
        """The files of a volume: read, write, list, stat, exists, remove, rename, mkdir, upload, download, archive, extract."""
        return VolumeFiles(self.transport, id)


class Workspaces(Collection):
    """Files that calls and sandboxes share by a name; the first use makes a workspace."""


class Ephemeral:
    """Calls that name no sandbox: one is made for the call, and ends with it (docs/use/ephemeral.md).

    config and workspace are names; sandbox is a dict of settings as of a create: template, image, isolation, env, …
    """

    def __init__(self, transport):
        self.transport = transport

    def _call(self, kind, body, timeout, config, workspace, sandbox):
        body = without_none({**body, "config": config, "workspace": workspace, "sandbox": sandbox,
                             "timeout_ms": None if timeout is None else max(1, int(timeout * 1000))})
        return self.transport.request("POST", "/v1/ephemeral/" + kind, json=body, timeout=(timeout or EPHEMERAL_TIMEOUT) + EPHEMERAL_SLACK)

    def run(self, command, *, config=None, workspace=None, sandbox=None, timeout=None, **options) -> types.Result:
        """Runs a shell line, or a list: a program with its arguments."""
        return self._call("exec", {**_exec_of(command), **options}, timeout, config, workspace, sandbox)

    def run_code(self, code, language="python", *, config=None, workspace=None, sandbox=None, timeout=None, **options) -> types.Result:
        return self._call("code", {"code": code, "language": language, **options}, timeout, config, workspace, sandbox)

    def tool(self, name, *, config=None, workspace=None, sandbox=None, timeout=None, **input):
        """Calls an agent tool. Without a workspace only bash is offered."""
        body = without_none({"ephemeral": True, "config": config, "workspace": workspace, "sandbox": sandbox, "input": input})
        return self.transport.request("POST", path("/v1/tools/{}", name), json=body, timeout=(timeout or EPHEMERAL_TIMEOUT) + EPHEMERAL_SLACK)


class Credentials(Collection):
    """Secrets that network rules use outside of sandboxes (docs/use/credentials.md). No answer has their values."""

    def list(self):
        """Lists those of the project and of the caller's user, by name."""
        return self.transport.request("GET", self.base)["items"]

    def update(self, name, **change):
        """Changes the given members. A further host and a weaker consent take the fields again."""
        return self.transport.request("PATCH", self._address(name), json=change)


class Connects(Collection):
    """Logins at OAuth services, whose tokens become credentials (docs/use/credentials.md)."""

    def list(self):
        """Lists those of the project and of the caller's user, newest first."""
        return self.transport.request("GET", self.base)["items"]

    def delete(self, id, force=False):
        """Revokes the tokens at the service, and deletes the connect and its credential."""
        self.transport.request("DELETE", self._address(id), query={"force": "true"} if force else {})

    def presets(self):
        """Lists the services whose hosts and OAuth servers are known."""
        return self.transport.request("GET", "/v1/credential-presets")["items"]


class Quotas:
    """Limits of projects, keys and organisations, and what is used of each (docs/operate/quotas.md)."""

    def __init__(self, transport):
        self.transport = transport

    def list(self) -> list[types.Quota]:
        """Lists those that hold for the caller; a limit of 0 is none."""
        return self.transport.request("GET", "/v1/quotas")["items"]

    def get(self, scope, id) -> list[types.Quota]:
        """Lists those of a project, a key or an organization; for keys with the scope admin."""
        return self.transport.request("GET", path("/v1/quotas/{}/{}", scope, id))["items"]

    def update(self, scope, id, **limits) -> list[types.Quota]:
        """Sets the given limits; 0 removes one."""
        return self.transport.request("PATCH", path("/v1/quotas/{}/{}", scope, id), json=limits)["items"]


class Budgets:
    """Spending limits of a project, key, sandbox, run, label or conversation (docs/use/usage.md)."""

    def __init__(self, transport):
        self.transport = transport

    def list(self) -> list[types.Budget]:
        """Lists those of the project, with what is spent."""
        return self.transport.request("GET", "/v1/budgets")["items"]

    def create(self, limit_usd, **options) -> types.Budget:
        """`scope` (project, unless given) says what `subject` is: a run, NAME=VALUE of a label, …"""
        return self.transport.request("POST", "/v1/budgets", json={"limit_usd": limit_usd, **options})

    def update(self, id, **change) -> types.Budget:
        """Changes `limit_usd` or `warn_at`."""
        return self.transport.request("PATCH", path("/v1/budgets/{}", id), json=change)

    def delete(self, id):
        self.transport.request("DELETE", path("/v1/budgets/{}", id))


class Webhooks(Collection):
    """Addresses that are told of events (docs/use/events.md). The answer of create has the secret, once."""

    def list(self):
        """Lists them, oldest first."""
        return self.transport.request("GET", self.base)["items"]

    def update(self, id, **change):
        """Changes the given members."""
        return self.transport.request("PATCH", self._address(id), json=change)

    def deliveries(self, id, **query):
        """Lists deliveries, newest first."""
        return self.transport.request("GET", self._address(id) + "/deliveries", query=query)["items"]

    def test(self, id) -> types.WebhookTest:
        """Sends a test event once and returns status, duration and error."""
        return self.transport.request("POST", self._address(id) + "/test")

    def retry(self, id, delivery):
        """Delivers once more."""
        return self.transport.request("POST", self._address(id) + path("/deliveries/{}/retry", delivery))

    def retry_dead(self, id) -> types.DeliveriesRetried:
        """Retries the oldest 1000 dead deliveries; returns how many, and how many are left."""
        return self.transport.request("POST", self._address(id) + "/deliveries/retry")


class Users(Collection):
    """People who sign in from a browser; for keys with the scope admin. An id or the e-mail address names one."""

    def update(self, id, **change):
        """Renames, disables or promotes a user."""
        return self.transport.request("PATCH", self._address(id), json=change)

    def link(self, id) -> types.UserMade:
        """Makes a link with which the user sets a password, once."""
        return self.transport.request("POST", self._address(id) + "/link")

    def sessions(self, id) -> list[types.LoginSessionSummary]:
        """Lists a user's sessions in browsers."""
        return self.transport.request("GET", self._address(id) + "/sessions")["items"]

    def sign_out(self, id):
        """Ends all sessions of a user."""
        self.transport.request("DELETE", self._address(id) + "/sessions")


class Organizations(Collection):
    """Organisations above projects, and their members."""

    def list(self):
        return self.transport.request("GET", self.base)["items"]

    def update(self, id, **change):
        """Renames an organisation."""
        return self.transport.request("PATCH", self._address(id), json=change)

    def members(self, id):
        """Lists users with a role in the organisation."""
        return self.transport.request("GET", self._address(id) + "/members")["items"]

    def set_member(self, id, user, role) -> types.OrganizationMember:
        """Adds a member, or changes its role: member, admin or owner."""
        return self.transport.request("PUT", self._address(id) + "/members", json={"user": user, "role": role})

    def remove_member(self, id, user):
        self.transport.request("DELETE", self._address(id) + path("/members/{}", user))


class Snapshots(Collection):
    def create(self, *, sandbox, **body):
        return self.transport.request("POST", path("/api/sandbox/instances/{}/snapshot", sandbox), json=body)


class Jobs:
    """Commands that run in the background. A job of a conversation is found with that conversation only."""

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
        """Makes a URL that needs no key and expires after so many seconds."""
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
        self.volumes = Volumes(self.transport, "/api/sandbox/volumes")
        self.workspaces = Workspaces(self.transport, "/v1/workspaces")
        self.ephemeral = Ephemeral(self.transport)
        self.templates = Templates(self.transport, "/api/sandbox/templates")
        self.builds = Builds(self.transport, "/api/sandbox/templates/builds")
        self.credentials = Credentials(self.transport, "/v1/credentials")
        self.connects = Connects(self.transport, "/v1/connects")
        self.approvals = Approvals(self.transport)
        self.consents = Consents(self.transport)
        self.audit = Audit(self.transport)
        self.quotas = Quotas(self.transport)
        self.budgets = Budgets(self.transport)
        self.webhooks = Webhooks(self.transport, "/v1/webhooks")
        self.users = Users(self.transport, "/v1/users")
        self.organizations = Organizations(self.transport, "/v1/organizations")
        self.artifacts = Artifacts(self.transport, "/api/sandbox/artifacts")
        self.jobs = Jobs(self.transport)
        self.snapshots = Snapshots(self.transport, "/api/sandbox/snapshots")

    def with_sandbox(self, key, run, **options):
        return self.leases.with_sandbox(key, run, **options)

    def usage(self, **query):
        """Gets usage and cost by group. The start of the time range is `from_`, because `from` is a keyword."""
        if "from_" in query:
            query["from"] = query.pop("from_")
        return self.transport.request("GET", "/v1/usage", query=query)

    def tools(self):
        """Lists the agent tools with their schemas."""
        return self.transport.request("GET", "/v1/tools")["tools"]

    def balance(self):
        return self.transport.request("GET", "/v1/balance")

    def request(self, method, where, **options):
        """Makes any call of the API and returns its JSON."""
        return self.transport.request(method, where, **options)

    def events(self, *, sandbox=None, kind=None, after=None, last=None):
        """Yields events as they happen. After a broken connection it continues after the last event."""
        return self._follow("/v1/events", {"sandbox": sandbox, "kind": kind}, after, last)

    def activity(self, *, sandbox=None, kind=None, user=None, key=None, conversation=None, after=None, last=None):
        """Yields what was called in sandboxes, as the calls end. After a broken connection it continues after the last row."""
        return self._follow("/v1/activity", {"sandbox": sandbox, "kind": kind, "user": user, "key": key, "conversation": conversation}, after, last)

    def _follow(self, where, filters, after, last):
        if after is None and last is None:
            # Without a first sequence number, rows between two connections would be lost.
            after = self.transport.request("GET", where, query={"last": 1})["after"]
        wait = RECONNECT_WAIT
        while True:
            try:
                headers = {} if after is None else {"Last-Event-ID": str(after)}
                query = {**filters, "last": last if after is None else None, "stream": "sse"}
                for _, data, _ in self.transport.events("GET", where, query=query, headers=headers):
                    row = json.loads(data)
                    after, wait = row.get("sequence", after), RECONNECT_WAIT
                    yield row
            except Exception as error:
                if not isinstance(error, ConnectionLostError) and getattr(error, "status", None) not in (502, 503):
                    raise
            time.sleep(wait)
            wait = min(wait * 2, RECONNECT_WAIT_MAX)
