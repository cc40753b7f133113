# SPDX-License-Identifier: Apache-2.0
"""What waits for a person, and the consents to credentials that people gave."""

from __future__ import annotations

from . import types
from .http import path, without_none
from .sandbox import pages


class Approvals:
    """Tool calls, hosts and credentials that an agent asked for. Another key than the one that asked decides."""

    def __init__(self, transport):
        self.transport = transport

    def list(self, **query) -> list[types.Approval]:
        """Lists them: state is pending, approved, refused, used, expired or any."""
        return pages(self.transport, "/v1/approvals", query)

    def get(self, id) -> types.Approval:
        return self.transport.request("GET", path("/v1/approvals/{}", id))

    def approve(self, id, note=None) -> types.Approval:
        return self._decide(id, "approve", note)

    def refuse(self, id, note=None) -> types.Approval:
        """The agent reads the note."""
        return self._decide(id, "refuse", note)

    def _decide(self, id, answer, note):
        return self.transport.request("POST", path("/v1/approvals/{}/", id) + answer, json=without_none({"note": note}))


class Consents:
    """People's consents to the use of credentials in sandboxes (docs/use/credentials.md). approvals.approve gives one."""

    def __init__(self, transport):
        self.transport = transport

    def list(self, **query) -> list[types.Consent]:
        """Lists them, newest first, by sandbox, conversation and credential."""
        return self.transport.request("GET", "/v1/consents", query=query)["items"]

    def revoke(self, credential, *, conversation=None, sandbox=None) -> int:
        """Ends the use of a credential by a conversation or a sandbox, before the call returns; returns how many consents ended."""
        if (conversation is None) == (sandbox is None):
            raise ValueError("revoke takes a conversation or a sandbox")
        where = path("/v1/conversations/{}/credentials/{}/revoke", conversation, credential) if sandbox is None \
            else path("/api/sandbox/instances/{}/credentials/{}/revoke", sandbox, credential)
        return self.transport.request("POST", where)["revoked"]
