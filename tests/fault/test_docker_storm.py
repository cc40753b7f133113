# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the api process in a storm of creates on Docker: the daemon's own list is empty afterwards."""

import http.client
import queue
import threading

import pytest

import atoll
import docker_daemon

pytestmark = pytest.mark.slow
CREATES, KILLS = 50, 8
CALLERS = 5
PAUSES = (0.9, 1.7, 2.3, 1.1, 1.4)


def create_all(server, work):
    """Tries each create until it has an answer; every second sandbox is left to the server."""
    while True:
        try:
            number = work.get_nowait()
        except queue.Empty:
            return
        made = last = None
        for _ in range(100):
            api = server.api(timeout=20)
            try:
                made = made or api.create(name=f"storm-{number}")["id"]
                if number % 2:
                    api.remove(made)
                break
            except (OSError, atoll.ApiError, ValueError, http.client.HTTPException) as failure:
                last = failure
                if isinstance(failure, atoll.ApiError) and failure.status in (404, 409):
                    break  # an earlier try, whose answer was lost, has made or removed it
                threading.Event().wait(0.1)
            finally:
                api.close()
        else:
            raise AssertionError(f"create {number} has no answer: {last!r}")


def test_no_container_is_left_after_kills_in_a_storm_of_creates(tmp_path):
    daemon = docker_daemon.Daemon()
    server = None
    try:
        daemon.import_busybox(tmp_path)
        server = atoll.Server(provider="docker", environment={
            "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE, "SANDBOX_MEM_LIMIT": "64m"}).start()
        work, failures = queue.Queue(), []
        for number in range(CREATES):
            work.put(number)

        def call():
            try:
                create_all(server, work)
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=call) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        kills = 0
        while any(thread.is_alive() for thread in threads):
            threading.Event().wait(PAUSES[kills % len(PAUSES)])
            if kills < KILLS:
                server.kill9("api")
                server.wait_ready()
                kills += 1
        for thread in threads:
            thread.join()
        assert not failures and kills >= 3, (failures, kills)
        api = server.api()
        # What no row knows, the sweep of each minute removes.
        for row in server.rows(api):
            api.remove(row["id"])
        assert server.rows(api) == []
        api.close()
        atoll.wait_for(lambda: daemon.containers() == [], 90, "the removal of every container")
        for folder in ("links", "claims"):
            assert list((server.data / "docker" / folder).iterdir()) == []
    finally:
        if server:
            server.remove_all()
        daemon.remove()
