# SPDX-License-Identifier: Apache-2.0
"""Rows of the audit, and exports that verify without the server."""

from . import types

BASE = "/v1/audit"


class Audit:
    """What was done, by which caller, with which result (docs/operate/audit.md). Takes the scope project:write.

    Filters of list, rows and export: user, key, target, request, action ("keys.*"), result, since, until; for operators all=True.
    """

    def __init__(self, transport):
        self.transport = transport

    def list(self, **query) -> types.AuditList:
        """Gets one page, the newest rows first; `before` of the next page is `next` of this one."""
        return self.transport.request("GET", BASE, query=query)

    def rows(self, **query):
        """Yields all rows that match, page by page: the newest first, or with after=0 the oldest first."""
        turn = "after" if query.get("after") is not None else "before"
        while True:
            page = self.list(**query)
            yield from page["items"]
            if not page["next"]:
                return
            query[turn] = page["next"]

    def key(self) -> types.AuditKey:
        """Gets the public key that signs the chain, and the newest checkpoint."""
        return self.transport.request("GET", BASE + "/key")

    def export(self, **query):
        """Yields the export as bytes, piece by piece: JSON lines for `atoll audit verify`."""
        while True:
            connection, response = self.transport.open("GET", BASE + "/export", query=query)
            try:
                yield self.transport._rest(connection, response, BASE + "/export")
            finally:
                connection.close()
            query["after"] = response.headers.get("Atoll-Next-Page")
            if query["after"] is None:
                return
