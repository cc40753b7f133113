# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import uuid

from . import types
from .code import Code
from .commands import Commands
from .errors import NotFoundError, SandboxNotFoundError
from .files import Files
from .http import Transport, path, without_none
from .services import Services

BASE = "/api/sandbox/instances"
# A template that has never been used is built first.
CREATE_TIMEOUT = 600.0


class Sandbox:
    """One isolated computer. `with Sandbox.create(…) as sandbox:` deletes it at the end."""

    def __init__(self, transport: Transport, info: types.Sandbox):
        self.transport, self.info = transport, info
        self.id, self.name = info["id"], info.get("name")
        self.commands, self.files, self.code = Commands(self), Files(self), Code(self)
        self.services = Services(self)

    @classmethod
    def create(cls, *, transport=None, idempotency_key=None, on_progress=None, api_url=None, api_key=None, project=None, **body):
        """Makes one and starts it. A create whose answer was lost makes no second one.

        While it waits for its template, on_progress is called with {"message": …} and, once that is known, "percent"."""
        transport = transport or Transport(api_url, api_key, project)
        call = {"json": body, "idempotency_key": idempotency_key or str(uuid.uuid4()), "timeout": CREATE_TIMEOUT}
        if on_progress is None:
            return cls(transport, transport.request("POST", BASE, **call))
        return cls(transport, transport.request_with_progress("POST", BASE, on_progress, **call))

    @classmethod
    def connect(cls, id, *, transport=None, **connection):
        """One that is there, by id or name."""
        transport = transport or Transport(**connection)
        return cls(transport, _info_of(transport, id))

    @staticmethod
    def list(*, transport=None, api_url=None, api_key=None, project=None, **query) -> list[types.Sandbox]:
        """All of them, newest first; state, name, template and label narrow it."""
        return pages(transport or Transport(api_url, api_key, project), BASE, query)

    @staticmethod
    def kill_by_id(id, *, keep=False, transport=None, **connection) -> bool:
        """Deletes it and its files; False when there was none. With keep, undelete brings it back for a while."""
        try:
            (transport or Transport(**connection)).request("DELETE", path(BASE + "/{}", id), query={"keep": keep or None})
            return True
        except NotFoundError:
            return False

    @classmethod
    def undelete(cls, id, *, transport=None, **connection) -> Sandbox:
        """Brings one back, by its id, that was killed with keep=True; it is stopped then."""
        transport = transport or Transport(**connection)
        return cls(transport, transport.request("POST", path(BASE + "/{}/undelete", id)))

    @staticmethod
    def trash(*, transport=None, **connection) -> list[types.TrashItem]:
        """What undelete can bring back, and until when."""
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
        return self.kill_by_id(self.id, keep=keep, transport=self.transport)

    def refresh(self) -> types.Sandbox:
        """As it is now."""
        self.info = _info_of(self.transport, self.id)
        return self.info

    def is_running(self) -> bool:
        """Whether it is started or paused: its next call finds it."""
        try:
            return self.refresh()["state"] in ("started", "paused")
        except NotFoundError:
            return False

    def pause(self):
        """Freezes it with its memory; its next call lets it go on."""
        return self._act("/pause")

    def resume(self):
        return self._act("/resume")

    def start(self):
        return self._act("/start")

    def stop(self):
        return self._act("/stop")

    def keep_alive(self, timeout):
        """Not idle for so many seconds."""
        return self._act("/keepalive", {"timeoutMs": int(timeout * 1000)})

    def reset(self):
        """All processes ended, and the files that it was made with."""
        return self._act("/reset")

    def stats(self) -> types.Stats:
        return self._call("GET", "/stats")

    def snapshot(self, name=None) -> types.Snapshot:
        return self._call("POST", "/snapshot", json=without_none({"name": name}))

    def fork(self, count=None, name=None) -> list[Sandbox]:
        """Other sandboxes with this one's files; this one goes on."""
        made = self._call("POST", "/fork", json=without_none({"count": count, "name": name}), timeout=CREATE_TIMEOUT)
        return [Sandbox(self.transport, info) for info in made["items"]]

    def rollback(self, snapshot) -> types.Sandbox:
        """Its files as a snapshot of it has them."""
        self.info = self.transport.request("POST", path("/api/sandbox/snapshots/{}/restore", snapshot))
        return self.info

    def changes(self, **query) -> list[types.Change]:
        """What changed against its template, or a snapshot as `base`."""
        return pages(self.transport, path(BASE + "/{}/changes", self.id), query)

    def diff(self, **query) -> str:
        """The same as a patch."""
        where = path(BASE + "/{}/diff", self.id)
        return self.transport.read("GET", where, query={"format": "patch", **query},
                                   headers={"Accept": "*/*"}).decode("utf-8", "replace")

    def keep_artifact(self, name, *, user=None, keep_seconds=None) -> types.StoredArtifact:
        """Keeps a file when the sandbox is gone."""
        return self._call("POST", "/artifacts", timeout=CREATE_TIMEOUT,
                          json=without_none({"path": name, "user": user, "keep_seconds": keep_seconds}))

    def open_terminal(self, **options) -> types.TerminalSession:
        """A terminal that lives on: attach to its path as a WebSocket, with the key or a ticket."""
        return self._call("POST", "/terminal", json=options)

    def tool(self, name, input, **options) -> types.ToolResult:
        """Calls an agent tool (bash, read, edit, grep …) in it; conversationId and the like are options."""
        return self.transport.request("POST", path("/v1/tools/{}", name), timeout=CREATE_TIMEOUT,
                                      json={**options, "sandboxId": self.id, "input": input})

    def preview(self) -> types.Preview:
        """What of it may be seen from outside."""
        return self._call("GET", "/preview")

    def set_preview(self, **change) -> types.Preview:
        return self._call("PATCH", "/preview", json=change)

    def preview_link(self, port, **options) -> types.PreviewLinkMade:
        """A link to a port, for those who have no key."""
        return self._call("POST", "/preview-tokens", json={"port": port, **options})

    def volumes(self) -> list[types.VolumeMount]:
        return self._call("GET", "/volume")["items"]

    def attach_volume(self, **body):
        return self._call("POST", "/volume", json=body)


def pages(transport, where, query):
    """All items of a list, or as many as `limit` says."""
    found, page = [], None
    while True:
        answer = transport.request("GET", where, query={**query, "page": page})
        found += answer["items"]
        page = answer.get("next_page")
        if not page or query.get("limit") is not None:
            return found


def _info_of(transport, id):
    try:
        return transport.request("GET", path(BASE + "/{}", id))
    except NotFoundError as error:
        raise SandboxNotFoundError(error.message, "sandbox_not_found", error.hint, error.request_id,
                                   error.status) from error
