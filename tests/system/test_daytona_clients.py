# SPDX-License-Identifier: Apache-2.0
"""Several of Daytona's clients at once on a server of their own, which is killed in the middle; and what keeps a sandbox of theirs awake."""

import contextlib
import os

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
CLIENTS, SANDBOXES = 3, 32
# Of a whole step of all clients, on a machine that others use, too.
STEP_S = 240


@pytest.fixture(scope="module")
def own_server():
    running = atoll.Server().start()
    yield running
    running.remove_all()


def test_several_clients_at_once_outlive_the_server(own_server):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DAYTONA_")}
    environment |= {"DAYTONA_API_URL": f"http://127.0.0.1:{own_server.port}/daytona/api", "DAYTONA_API_KEY": own_server.key,
                    "DAYTONA_USE_DEPRECATED_POLLING": "true"}
    storm = [clients.Talker("daytona_storm.mjs", f"client-{i}", str(SANDBOXES), package="@daytona/sdk", since=clients.DAYTONA,
                            environment=environment) for i in range(CLIENTS)]
    try:
        assert clients.hear_all(storm, STEP_S) == ["ready"] * CLIENTS
        own_server.kill9("api")
        own_server.wait_ready()
        for client in storm:
            client.go_on()
        found = {"made": SANDBOXES, "kept": SANDBOXES, "terminals": SANDBOXES // 4, "listed": SANDBOXES}
        assert clients.hear_all(storm, STEP_S) == [found] * CLIENTS
        assert [client.process.wait(STEP_S) for client in storm] == [0] * CLIENTS
    finally:
        for client in storm:
            client.end()
    with contextlib.closing(own_server.api()) as api:
        assert own_server.rows(api) == []
    atoll.Host(own_server.data).wait_clean(30)


def state_of(api, box):
    return api.get(f"{PATH}/{box}")["state"]


def test_a_session_keeps_a_sandbox_awake_while_it_works(own_server):
    """Both had their last call before the idle one was stopped, so that the working one would have been, too."""
    with contextlib.closing(own_server.api()) as api:
        made = [api.create(internet=False, persistent=True, autoPauseMs=-1, autoStopMs=1000, env={"PATH": "/home/user/bin:/usr/bin:/bin"})["id"] for _ in range(2)]
        working, idle = made
        for box in made:
            session = f"/daytona/toolbox/{box}/process/session"
            api.post(session, {"sessionId": "work"})
            if box == working:
                api.post(f"{session}/work/exec", {"command": "sleep 1000", "runAsync": True})
        api.post(f"/daytona/toolbox/{idle}/process/pty", {"id": "shell"})
        api.write(idle, "/home/user/bin/pylsp", (clients.FOLDER / "language_server.py").read_bytes())
        api.exec(idle, "chmod +x /home/user/bin/pylsp")
        api.post(f"/daytona/toolbox/{idle}/lsp/start", {"languageId": "python", "pathToProject": "/home/user"})
        atoll.wait_for(lambda: state_of(api, idle) == "stopped", 40, "an idle session, PTY and language server keep nobody awake")
        assert state_of(api, working) == "started"
        for box in made:
            api.remove(box)
