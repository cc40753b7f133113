# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from . import types
from .http import path


class Services:
    """Commands that are kept running: restarted when they crash, and when the sandbox is started."""

    def __init__(self, sandbox):
        self.sandbox = sandbox

    def _call(self, method, name, rest="", **options):
        where = path("/api/sandbox/instances/{}/services/{}", self.sandbox.id, name)
        return self.sandbox.transport.request(method, where + rest, **options)

    def put(self, name, command=None, **body) -> types.Service:
        """Creates or changes a service; one that is already so keeps running. `command` is a line for the shell, or a list: a program with arguments."""
        if isinstance(command, (list, tuple)):
            body.update(cmd=command[0], args=list(command[1:]))
        elif command is not None:
            body["command"] = command
        return self._call("PUT", name, json=body)

    def list(self) -> list[types.Service]:
        where = path("/api/sandbox/instances/{}/services", self.sandbox.id)
        return self.sandbox.transport.request("GET", where)["items"]

    def get(self, name) -> types.Service:
        return self._call("GET", name)

    def logs(self, name, **query) -> types.ServiceLog:
        """Gets the end of the output, or the output after `since_stdout` and `since_stderr`."""
        return self._call("GET", name, "/logs", query=query)

    def start(self, name) -> types.Service:
        return self._call("POST", name, "/start")

    def stop(self, name) -> types.Service:
        return self._call("POST", name, "/stop")

    def restart(self, name) -> types.Service:
        return self._call("POST", name, "/restart")

    def remove(self, name):
        self._call("DELETE", name)
