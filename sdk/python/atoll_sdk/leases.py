# SPDX-License-Identifier: Apache-2.0
"""The one warm sandbox of a key (docs/use/leases.md), and work in it that survives its loss once."""

import threading

from .errors import AtollError, NotFoundError
from .http import Transport, path
from .sandbox import Sandbox

# What a call on a sandbox that is gone may fail with: worth a look.
MAY_MEAN_GONE = {"not_found", "sandbox_not_found", "conflict", "timeout", "unavailable", "internal"}
ALIVE = {"started", "paused", "pending", "creating"}
ACQUIRE_TIMEOUT = 600.0


class Leases:
    def __init__(self, transport):
        self.transport = transport
        self.lock = threading.Lock()
        self.known = {}

    def acquire(self, key, idempotency_key=None, **options):
        """Returns (lease, sandbox). The key's sandbox is found, started or created."""
        lease = self.transport.request("POST", "/v1/leases/acquire", json={"key": key, **options},
                                       idempotency_key=idempotency_key, timeout=ACQUIRE_TIMEOUT)
        return lease, Sandbox(self.transport, {"id": lease["sandbox_id"]})

    def get(self, key):
        return self.transport.request("GET", path("/v1/leases/{}", key))

    def list(self, **query):
        return self.transport.request("GET", "/v1/leases", query=query)["items"]

    def keep_alive(self, key, timeout):
        """Counts the sandbox as used for so many seconds."""
        return self.transport.request("POST", path("/v1/leases/{}/keepalive", key), json={"timeoutMs": int(timeout * 1000)})

    def release(self, key):
        return self.transport.request("POST", path("/v1/leases/{}/release", key))

    def pause(self, key):
        return self.transport.request("POST", path("/v1/leases/{}/pause", key))

    def delete(self, key):
        with self.lock:
            self.known.pop(key, None)
        self.transport.request("DELETE", path("/v1/leases/{}", key))

    def _sandbox_of(self, key, options):
        with self.lock:
            found = self.known.get(key)
        if found is None:
            found = self.acquire(key, **options)[1]
            with self.lock:
                self.known[key] = found
        return found

    def with_sandbox(self, key, run, **options):
        """Calls run(sandbox) with the key's sandbox. If the sandbox no longer exists, calls it once more with a new one."""
        sandbox = self._sandbox_of(key, options)
        try:
            return run(sandbox)
        except Exception as error:
            if not _is_gone(sandbox, error):
                raise
        with self.lock:
            if self.known.get(key) is sandbox:
                del self.known[key]
        return run(self._sandbox_of(key, options))


def _is_gone(sandbox, error):
    code = getattr(error, "code", None)
    if code == "sandbox_not_found" and error.status is None:
        return True
    if not isinstance(error, AtollError) or code not in MAY_MEAN_GONE:
        return False
    try:
        return sandbox.refresh()["state"] not in ALIVE
    except NotFoundError:
        return True
    except AtollError:
        return False


_shared, _lock = {}, threading.Lock()


def with_sandbox(key, run, *, api_url=None, api_key=None, project=None, **options):
    """Work in the warm sandbox of a key, with the server of the environment unless arguments say where."""
    transport = Transport(api_url, api_key, project)
    name = (transport.url, transport.key, project)
    with _lock:
        leases = _shared.setdefault(name, Leases(transport))
    return leases.with_sandbox(key, run, **options)
