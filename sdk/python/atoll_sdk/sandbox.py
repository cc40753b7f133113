# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import uuid

from . import types
from .code import Code
from .commands import Commands
from .errors import NotFoundError
from .files import Files
from .http import Transport, path, without_none
from .services import Services

BASE = "/api/sandbox/instances"
# The first use of a template builds it.
CREATE_TIMEOUT = 600.0


class Sandbox:
    """An isolated computer. `with Sandbox.create(…) as sandbox:` deletes it at the end."""

    def __init__(self, transport: Transport, info: types.Sandbox):
        self.transport, self.info = transport, info
        self.id, self.name = info["id"], info.get("name")
        self.commands, self.files, self.code = Commands(self), Files(self), Code(self)
        self.services = Services(self)

    @classmethod
    def create(cls, *, transport=None, idempotency_key=None, on_progress=None, api_url=None, api_key=None, project=None, **body):
        """Creates a sandbox and starts it. If the answer is lost, the call is repeated and still creates one sandbox.

        `template` or `image` ("python:3.12", pulled once) says what is in it. While the template is built, on_progress is called with {"message": …} and, once it is known, "percent"."""
        transport = transport or Transport(api_url, api_key, project)
        call = {"json": body, "idempotency_key": idempotency_key or str(uuid.uuid4()), "timeout": CREATE_TIMEOUT}
        if on_progress is None:
            return cls(transport, transport.request("POST", BASE, **call))
        return cls(transport, transport.request_with_progress("POST", BASE, on_progress, **call))

    @staticmethod
    def plan(*, transport=None, api_url=None, api_key=None, project=None, **body) -> types.SandboxPlan:
        """Says what create would make of the same options, with the source of each value and the price. Makes nothing."""
        return (transport or Transport(api_url, api_key, project)).request("POST", BASE, json=body, query={"dry_run": True})

    @classmethod
    def connect(cls, id, *, transport=None, **connection):
        """Finds a sandbox by id or name. SandboxNotFoundError if there is none."""
        transport = transport or Transport(**connection)
        return cls(transport, _info_of(transport, id))

    @staticmethod
    def list(*, transport=None, api_url=None, api_key=None, project=None, **query) -> list[types.Sandbox]:
        """Lists sandboxes, newest first. Filters and order: as GET /api/sandbox/instances, such as state, q, label, sort."""
        return pages(transport or Transport(api_url, api_key, project), BASE, query)

    @staticmethod
    def kill_by_id(id, *, keep=False, transport=None, **connection) -> bool:
        """Deletes a sandbox and its files; False if there was none. With keep, undelete can restore it for some time."""
        try:
            (transport or Transport(**connection)).request("DELETE", path(BASE + "/{}", id), query={"keep": keep or None})
            return True
        except NotFoundError:
            return False

    @classmethod
    def undelete(cls, id, *, transport=None, **connection) -> Sandbox:
        """Restores a sandbox that was deleted with keep=True, by its id. It is stopped afterwards."""
        transport = transport or Transport(**connection)
        return cls(transport, transport.request("POST", path(BASE + "/{}/undelete", id)))

    @staticmethod
    def trash(*, transport=None, **connection) -> list[types.TrashItem]:
        """Lists the sandboxes that undelete can restore, and until when."""
        return (transport or Transport(**connection)).request("GET", "/api/sandbox/trash")["items"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _call(self, method, rest="", **options):
        return self.transport.request(method, path(BASE + "/{}", self.id) + rest, **options)

    def _act(self, what, body=None) -> types.Sandbox:
        self.info = self._call("POST", what, json=body)
        return self.info

    def kill(self, keep=False) -> bool:
        """Deletes the sandbox and its files; False if it was deleted before. With keep, undelete can restore it for some time."""
        return self.kill_by_id(self.id, keep=keep, transport=self.transport)

    def refresh(self) -> types.Sandbox:
        """Gets the current state of the sandbox."""
        self.info = _info_of(self.transport, self.id)
        return self.info

    def is_running(self) -> bool:
        """Whether the sandbox is started or paused, so that the next call works."""
        try:
            return self.refresh()["state"] in ("started", "paused")
        except NotFoundError:
            return False

    def update(self, *, version=None, **change) -> types.Sandbox:
        """Changes the name, the labels or the timeouts: `sandbox.update(name="new", labels={"team": "blue"})`.

        With version, only if the sandbox still has it: ConflictError otherwise."""
        self.info = self._call("PATCH", json=without_none({**change, "version": version}))
        self.name = self.info["name"]
        return self.info

    def pause(self, disk=False):
        """Stops all processes and keeps their memory; with disk=True on disk, which only virtual machines can. The next call resumes them."""
        return self._act("/pause", {"disk": True} if disk else None)

    def resume(self):
        """Lets the processes of a paused sandbox continue."""
        return self._act("/resume")

    def start(self):
        """Starts a stopped sandbox."""
        return self._act("/start")

    def stop(self):
        """Ends all processes and keeps the files."""
        return self._act("/stop")

    def keep_alive(self, timeout):
        """Counts the sandbox as used for so many seconds, so that it is not paused, stopped or deleted as idle."""
        return self._act("/keepalive", {"timeoutMs": int(timeout * 1000)})

    def reset(self):
        """Ends all processes and restores the files of the template or snapshot."""
        return self._act("/reset")

    def stats(self) -> types.Stats:
        """Gets the use of CPU, memory and disk."""
        return self._call("GET", "/stats")

    def ports(self) -> list[types.ListeningPort]:
        """Lists the TCP ports that programs listen on. Neither wakes the sandbox nor counts as its use."""
        return self._call("GET", "/ports")["items"]

    def snapshot(self, name=None, memory=None) -> types.Snapshot:
        """Saves the files as a snapshot; with memory=True also the processes, which only virtual machines can."""
        return self._call("POST", "/snapshot", json=without_none({"name": name, "memory": memory}))

    def fork(self, count=None, name=None, memory=None) -> list[Sandbox]:
        """Creates sandboxes with a copy of this one's files, and with memory=True its processes (virtual machines). This one keeps running."""
        made = self._call("POST", "/fork", json=without_none({"count": count, "name": name, "memory": memory}), timeout=CREATE_TIMEOUT)
        return [Sandbox(self.transport, info) for info in made["items"]]

    def rollback(self, snapshot) -> types.Sandbox:
        """Restores the files of one of its snapshots."""
        self.info = self.transport.request("POST", path("/api/sandbox/snapshots/{}/restore", snapshot))
        return self.info

    def activity(self, **query) -> list[types.Activity]:
        """What was called in the sandbox: a page, oldest first. last=50 gives the newest."""
        return self._call("GET", "/activity", query=query)["items"]

    def set_egress(self, **rules) -> types.Sandbox:
        """Replaces the network rules: allow, deny, presets and mode."""
        self.info = self._call("PUT", "/egress", json=rules)
        return self.info

    def allow_host(self, host) -> types.Sandbox:
        """Allows one more host, at once, and keeps the other rules."""
        return self._act("/egress/allow", {"host": host})

    def egress_log(self, **query) -> list[types.NetworkDecision]:
        """What the network rules decided: a page, oldest first. decision="denied" gives refusals, last=50 the newest."""
        return self._call("GET", "/egress/log", query=query)["items"]

    def check_egress(self, host, port=None) -> types.EgressCheck:
        """Says what the network rules would decide."""
        return self._call("GET", "/egress/check", query=without_none({"host": host, "port": port}))

    def access_requests(self, **query) -> list[types.Approval]:
        """The hosts that the sandbox asks for; all=True gives those that were decided on, too."""
        return pages(self.transport, path(BASE + "/{}/egress/requests", self.id), query)

    def decide_access(self, request, allow, note=None) -> types.Approval:
        """Allows or refuses a host that the sandbox asks for. An allowed one works when it is tried again."""
        return self._call("POST", path("/egress/requests/{}/", request) + ("allow" if allow else "deny"), json=without_none({"note": note}))

    def changes(self, **query) -> list[types.Change]:
        """Lists the changed files, compared with the template or with the snapshot `base`."""
        return pages(self.transport, path(BASE + "/{}/changes", self.id), query)

    def diff(self, **query) -> str:
        """Returns the same changes as a patch."""
        where = path(BASE + "/{}/diff", self.id)
        return self.transport.read("GET", where, query={"format": "patch", **query},
                                   headers={"Accept": "*/*"}).decode("utf-8", "replace")

    def keep_artifact(self, name, *, user=None, keep_seconds=None) -> types.StoredArtifact:
        """Saves a file as an artifact, which stays when the sandbox is deleted."""
        return self._call("POST", "/artifacts", timeout=CREATE_TIMEOUT,
                          json=without_none({"path": name, "user": user, "keep_seconds": keep_seconds}))

    def open_terminal(self, **options) -> types.TerminalSession:
        """Opens a terminal that outlives its connections: attach to its path by WebSocket, with the key or a ticket."""
        return self._call("POST", "/terminal", json=options)

    def tool(self, name, input, **options) -> types.ToolResult:
        """Calls an agent tool (bash, read, edit, grep …) in the sandbox. conversationId and others are options."""
        return self.transport.request("POST", path("/v1/tools/{}", name), timeout=CREATE_TIMEOUT,
                                      json={**options, "sandboxId": self.id, "input": input})

    def preview(self) -> types.Preview:
        """Gets which ports can be reached from outside, and by whom."""
        return self._call("GET", "/preview")

    def set_preview(self, **change) -> types.Preview:
        """Changes who can reach the ports."""
        return self._call("PATCH", "/preview", json=change)

    def preview_link(self, port, **options) -> types.PreviewLinkMade:
        """Makes a link to a port that works without a key."""
        return self._call("POST", "/preview-tokens", json={"port": port, **options})

    def volumes(self) -> list[types.VolumeMount]:
        """Lists the attached volumes."""
        return self._call("GET", "/volume")["items"]

    def attach_volume(self, **body):
        """Attaches a volume."""
        return self._call("POST", "/volume", json=body)


def pages(transport, where, query):
    """All items of a list, or at most `limit`."""
    found, page = [], None
    while True:
        answer = transport.request("GET", where, query={**query, "page": page})
        found += answer["items"]
        page = answer.get("next_page")
        if not page or query.get("limit") is not None:
            return found


def _info_of(transport, id):
    return transport.request("GET", path(BASE + "/{}", id))
