# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the provider docker: images that the daemon commits."""

import json
import threading
import time

import pytest

import atoll
import docker_daemon

pytestmark = pytest.mark.slow


def images_of(daemon):
    return json.loads(daemon.call("GET", "/images/json")[1])


@pytest.fixture(scope="module", params=["docker", "podman"])
def daemon(request, tmp_path_factory):
    daemon = docker_daemon.Daemon() if request.param == "docker" else docker_daemon.Podman()
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture(scope="module")
def server(daemon):
    before = {image["Id"] for image in images_of(daemon)}
    server = atoll.Server(provider="docker", environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": daemon.name_here(docker_daemon.IMAGE), "SANDBOX_MEM_LIMIT": "96m"}).start()
    yield server
    api = server.api()
    for snapshot in api.get("/api/sandbox/snapshots")["items"]:
        api.delete(f"/api/sandbox/snapshots/{snapshot['id']}")
    for row in server.rows(api):
        api.remove(row["id"])
    api.close()
    atoll.wait_for(lambda: {image["Id"] for image in images_of(daemon)} == before, 90, "the removal of every image")
    server.remove_all()
    assert daemon.containers() == []


def snapshot(api, sandbox, **body):
    return api.post(f"/api/sandbox/instances/{sandbox}/snapshot", body)


def test_a_snapshot_keeps_files_for_new_sandboxes(daemon, api):
    with api.sandbox(internet=False) as first:
        api.exec(first, "echo kept > file; sync; (sleep 1000 > /dev/null 2>&1 &)")
        made = snapshot(api, first, name="kept")
        assert api.exec(first, "ps | grep -c 'sleep 100[0]'")["stdout"] == "1\n", "its processes go on"
    # It outlives its sandbox.
    made_from = api.create(snapshot=made["id"], internet=False)["id"]
    assert api.exec(made_from, "cat file")["stdout"] == "kept\n"
    assert api.exec(made_from, "env | grep -c TOKEN")["stdout"] == "0\n"
    image = next(i for i in images_of(daemon) if any(made["id"] in (tag or "") for tag in i["RepoTags"] or []))
    token = [v for v in json.loads(daemon.call("GET", f"/images/{image['Id']}/json")[1])["Config"]["Env"] if "TOKEN" in v]
    assert all(variable.endswith("=") for variable in token), token
    # A removed snapshot stays below the sandboxes that were made from it, also while they are stopped.
    api.post(f"/api/sandbox/instances/{made_from}/stop")
    api.delete(f"/api/sandbox/snapshots/{made['id']}")
    api.post(f"/api/sandbox/instances/{made_from}/start")
    assert api.exec(made_from, "cat file")["stdout"] == "kept\n"
    with pytest.raises(atoll.ApiError):
        api.create(snapshot=made["id"], internet=False)
    api.remove(made_from)


def test_a_restore_brings_the_files_back_with_the_same_limits(api):
    with api.sandbox(resources={"memory_mb": 80}, internet=False) as sandbox:
        api.exec(sandbox, "echo old > file; sync")
        made = snapshot(api, sandbox)
        api.exec(sandbox, "echo new > file; touch more")
        api.post(f"/api/sandbox/snapshots/{made['id']}/restore")
        assert api.exec(sandbox, "cat file; ls")["stdout"].split() == ["old", "file"]
        shown = api.get(f"/api/sandbox/instances/{sandbox}")
        assert shown["state"] == "started" and shown["resources"]["memory_mb"] == 80, shown
        # Again, of a stopped one.
        api.exec(sandbox, "rm file")
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        api.post(f"/api/sandbox/snapshots/{made['id']}/restore")
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "cat file")["stdout"] == "old\n"
        api.delete(f"/api/sandbox/snapshots/{made['id']}")


def test_a_reset_gives_the_files_of_the_template(api):
    with api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, "touch mine; sync")
        api.post(f"/api/sandbox/instances/{sandbox}/reset")
        assert api.exec(sandbox, "ls")["stdout"] == ""


def test_forks_begin_with_the_files(api):
    with api.sandbox(internet=False) as source:
        api.exec(source, "echo forked > file; sync")
        forked = api.post(f"/api/sandbox/instances/{source}/fork", {"count": 3})
        ids = [s["id"] for s in forked["items"]]
        for fork in ids:
            assert api.exec(fork, "cat file")["stdout"] == "forked\n"
        api.exec(ids[0], "echo own > file")
        assert api.exec(ids[1], "cat file")["stdout"] == "forked\n"
        for fork in ids:
            api.remove(fork)


def test_a_paused_sandbox_stays_paused(api):
    with api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, "echo kept > file; sync")
        api.post(f"/api/sandbox/instances/{sandbox}/pause")
        made = snapshot(api, sandbox)
        assert api.get(f"/api/sandbox/instances/{sandbox}")["state"] == "paused"
        again = api.create(snapshot=made["id"], internet=False)["id"]
        assert api.exec(again, "cat file")["stdout"] == "kept\n"
        api.remove(again)
        api.delete(f"/api/sandbox/snapshots/{made['id']}")


def test_what_docker_lacks_of_snapshots_is_named(api):
    with api.sandbox(internet=False) as sandbox:
        unsupported = api.get(f"/api/sandbox/instances/{sandbox}")["unsupported"]
        assert {"compare files", "pack backups", "build templates from steps"} <= set(unsupported)
        assert "take snapshots" not in unsupported
        with pytest.raises(atoll.ApiError) as refused:
            api.get(f"/api/sandbox/instances/{sandbox}/changes")
        assert refused.value.status == 501 and "compare files" in str(refused.value)
        with pytest.raises(atoll.ApiError) as refused:
            snapshot(api, sandbox, memory=True)
        assert refused.value.status == 501 and "not memory" in str(refused.value)


def test_a_server_killed_while_it_commits_leaves_no_image(daemon, server):
    """Images without a row are removed; a sandbox whose container was being replaced is still there."""
    if isinstance(daemon, docker_daemon.Podman):
        pytest.skip("a restore of Podman takes longer than the pauses between the kills")
    api = server.api()
    sandbox = api.create(internet=False)["id"]
    api.exec(sandbox, "echo kept > file; sync")
    kept = snapshot(api, sandbox, name="base")
    api.close()
    stops = threading.Event()

    def call():
        while not stops.is_set():
            api = server.api(timeout=20)
            try:
                api.delete(f"/api/sandbox/snapshots/{snapshot(api, sandbox)['id']}")
                api.post(f"/api/sandbox/snapshots/{kept['id']}/restore")
            except Exception:
                stops.wait(0.05)
            api.close()

    thread = threading.Thread(target=call)
    thread.start()
    for pause in (0.3, 0.8, 1.1, 0.6, 1.7):
        time.sleep(pause)
        server.kill9("api")
        server.wait_ready()
    stops.set()
    thread.join()
    api = server.api()
    if api.get(f"/api/sandbox/instances/{sandbox}")["state"] != "started":
        api.post(f"/api/sandbox/instances/{sandbox}/start")
    assert api.exec(sandbox, "cat file")["stdout"] == "kept\n"
    api.remove(sandbox)
    for row in api.get("/api/sandbox/snapshots")["items"]:
        api.delete(f"/api/sandbox/snapshots/{row['id']}")
    api.close()
