# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the server's processes in a storm over several providers at once: nothing is left at any of them."""

import contextlib
import http.client
import os
import queue
import threading
import time

import pytest

import atoll
import docker_daemon
import microvm_parts
import small_root

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
KILLS = int(os.environ.get("ATOLL_KILLS", 200))
CALLERS = 4
PAUSES = (0.5, 0.9, 0.3, 5.0, 0.7)  # a machine takes seconds
LOST = (OSError, atoll.ApiError, ValueError, http.client.HTTPException)


def use(server, provider, template, counts):
    """Makes a sandbox, runs a command, and removes every second one; a killed server may lose each answer."""
    api = server.api(timeout=30)
    try:
        made = api.create(provider=provider, internet=False, template=template, resources={"memory_mb": 128})["id"]
        counts[provider] += 1
        if api.exec(made, "echo alive")["stdout"] == "alive\n" and counts[provider] % 2:
            api.remove(made)
    except LOST:
        time.sleep(0.1)
    finally:
        with contextlib.suppress(*LOST):
            api.close()


def storm(server, providers, kills):
    """Kills until `kills`; then each caller ends."""
    stops, counts, work = threading.Event(), {name: 0 for name, _ in providers}, queue.Queue()

    def call(number):
        turn = number
        while not stops.is_set():
            provider, template = providers[turn % len(providers)]
            use(server, provider, template, counts)
            turn += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        for number in range(kills):
            time.sleep(PAUSES[number % len(PAUSES)])
            with contextlib.suppress(ProcessLookupError):
                server.kill9("broker" if number % 4 == 3 else "api")
            server.wait_ready(60)
            if number % 10 == 9:
                clear(server, keeps=20)
    finally:
        stops.set()
        for thread in threads:
            thread.join()
    return counts


def clear(server, keeps=0):
    """So that the machine does not fill up."""
    api = server.api(timeout=60)
    with contextlib.suppress(*LOST):
        for row in server.rows(api)[keeps:]:
            api.remove(row["id"])
    with contextlib.suppress(*LOST):
        api.close()


def test_nothing_is_left_at_any_provider_after_kills_in_a_storm(tmp_path):
    daemon, server = docker_daemon.Daemon(), None
    try:
        daemon.import_busybox(tmp_path)
        options = f"native,far=docker:docker_host={daemon.host};docker_image={docker_daemon.IMAGE};allow_weaker=true"
        providers, flags = [("native", "host"), ("far", "host")], []
        if not microvm_parts.reason():
            options += ",vm=microvm"
            providers.append(("vm", "small"))
            flags = ["--microvm-kernel", microvm_parts.KERNEL]
        server = atoll.Server(flags=["--providers", options, *flags]).start()
        if len(providers) == 3:
            root = tmp_path / "microvm"
            root.mkdir()
            import_small(server, root)
            microvm_parts.make_image(server, resources={"memory_mb": 128})
        counts = storm(server, providers, KILLS)
        print("figures", KILLS, "kills", counts)
        api = server.api(timeout=120)
        for row in server.rows(api):
            api.remove(row["id"])
        assert server.rows(api) == []
        api.close()
        assert all(counts.values()), counts
        atoll.wait_for(lambda: daemon.containers() == [], 130, "the removal of every container")
        for folder in ("links", "claims"):
            assert list((server.data / "docker" / folder).iterdir()) == []
        atoll.Host(server.data).wait_clean(90)
    finally:
        if server:
            server.remove_all()
        daemon.remove()


def import_small(server, folder):
    """A template with a root filesystem of a few megabytes, for machines."""
    tar = small_root.as_tar(microvm_parts.root(folder), folder / "root.tar")
    api = server.api(timeout=120)
    api.call("POST", "/api/sandbox/templates/import?name=small&format=tar", tar.read_bytes(), {"Content-Type": "application/octet-stream"})
    assert any(t["name"] == "small" and t["state"] == "ready" for t in api.get("/api/sandbox/templates")["items"])
    api.close()
