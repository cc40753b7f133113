# SPDX-License-Identifier: Apache-2.0
"""Several of E2B's clients at once, whose streams break and whose server is started again: nothing hangs, nothing leaks."""

import os

import pytest

import atoll
import clients

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]  # in the suite full; test_daytona_clients.py is always run
CLIENTS, SANDBOXES = 3, 32
# Of a whole step of all clients, on a machine that others use, too.
STEP_S = 120


def test_clients_outlive_a_server_and_leave_nothing(private_server):
    server = private_server.start()
    key = server.api().post("/api/sandbox/keys", {"name": "e2b"})["e2b_key"]
    origin = f"http://127.0.0.1:{server.port}"
    environment = {**os.environ, "E2B_API_KEY": key, "E2B_API_URL": origin, "E2B_SANDBOX_URL": origin}
    running = [clients.Talker("e2b_breakage.mjs", f"client-{i}", str(SANDBOXES), package="e2b", since=clients.E2B, environment=environment)
               for i in range(CLIENTS)]
    try:
        assert clients.hear_all(running, STEP_S) == ["ready"] * CLIENTS
        old = server.kill9("api")
        assert clients.hear_all(running, STEP_S) == [{"broken": SANDBOXES}] * CLIENTS
        atoll.wait_for(lambda: server.pid_of("api") not in (None, old), 20, "another api process")
        server.wait_ready()
        for client in running:
            client.go_on()
        # A stream that is broken off, by whom ever, ends no process.
        found = {"listed": SANDBOXES, "goesOn": SANDBOXES, "works": SANDBOXES, "killed": SANDBOXES}
        assert clients.hear_all(running, STEP_S) == [found] * CLIENTS
        assert [client.process.wait(STEP_S) for client in running] == [0] * CLIENTS
    finally:
        for client in running:
            client.end()
    assert server.rows(server.api()) == []
    atoll.Host(server.data).wait_clean(30)
