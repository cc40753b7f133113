# SPDX-License-Identifier: Apache-2.0
"""Several of E2B's clients at once, whose streams break and whose server is started again: nothing hangs, nothing leaks."""

import json
import os
import subprocess
import threading

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
CLIENTS, SANDBOXES = 3, 32
# Of a whole step of all clients, on a machine that others use, too.
STEP_S = 90


class Client:
    def __init__(self, server, key, name):
        origin = f"http://127.0.0.1:{server.port}"
        self.process = subprocess.Popen(
            [clients.node("e2b", since=clients.E2B), clients.program("e2b_breakage.mjs"), name, str(SANDBOXES)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "E2B_API_KEY": key, "E2B_API_URL": origin, "E2B_SANDBOX_URL": origin})
        self.complaints = []
        self.reader = threading.Thread(target=lambda: self.complaints.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def hear(self):
        """The next line; a client that says nothing for so long hangs."""
        told = []
        reader = threading.Thread(target=lambda: told.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(STEP_S)
        assert told and told[0], "".join(self.complaints)[-2000:] or "the client hangs"
        return json.loads(told[0])

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def test_clients_outlive_a_server_and_leave_nothing(private_server):
    server = private_server.start()
    key = server.api().post("/api/sandbox/keys", {"name": "e2b"})["e2b_key"]
    running = [Client(server, key, f"client-{i}") for i in range(CLIENTS)]
    try:
        assert [client.hear() for client in running] == ["ready"] * CLIENTS
        old = server.kill9("api")
        assert [client.hear() for client in running] == [{"broken": SANDBOXES}] * CLIENTS
        atoll.wait_for(lambda: server.pid_of("api") not in (None, old), 20, "another api process")
        server.wait_ready()
        for client in running:
            client.go_on()
        for client in running:
            # A stream that is broken off, by whom ever, ends no process.
            assert client.hear() == {"listed": SANDBOXES, "goesOn": SANDBOXES, "works": SANDBOXES, "killed": SANDBOXES}
            assert client.process.wait(STEP_S) == 0
    finally:
        for client in running:
            client.end()
    assert server.rows(server.api()) == []
    atoll.Host(server.data).wait_clean(30)
