# SPDX-License-Identifier: Apache-2.0
"""Volumes of the provider docker: volumes of the daemon."""

import json

import pytest

import atoll
import docker_daemon

pytestmark = pytest.mark.providers


def volumes_of(daemon):
    return json.loads(daemon.call("GET", "/volumes")[1])["Volumes"] or []


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    daemon = docker_daemon.Daemon()
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture(scope="module")
def server(daemon):
    server = atoll.Server(provider="docker", environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE, "SANDBOX_MEM_LIMIT": "96m"}).start()
    yield server
    server.remove_all()
    assert daemon.containers() == [] and volumes_of(daemon) == []


@pytest.fixture
def volume(api):
    made = api.post("/api/sandbox/volumes", {"name": "data", "size_mb": 10})
    yield made["id"]
    api.delete(f"/api/sandbox/volumes/{made['id']}")


def mounted(volume, path="/data", **more):
    return {"volumes": [{"volume": volume, "path": path, **more}], "internet": False}


def test_files_of_a_volume_outlive_its_sandboxes(daemon, api, volume):
    shown = api.get(f"/api/sandbox/volumes/{volume}")
    assert shown["size_advisory"], shown
    assert [v["Labels"] for v in volumes_of(daemon)][0]["atoll.server"]
    with api.sandbox(**mounted(volume)) as first:
        assert api.exec(first, "echo kept > /data/file; stat -c %U /data")["stdout"] == "user\n"
    with api.sandbox(**mounted(volume, read_only=True)) as second:
        result = api.exec(second, "cat /data/file; echo new > /data/file")
        assert result["stdout"] == "kept\n" and "Read-only" in result["stderr"], result
    with api.sandbox(internet=False) as none:
        assert api.exec(none, "ls /data")["exit_code"] != 0


def test_volumes_of_a_stopped_sandbox_change(api, volume):
    with api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, "echo own > file")
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"/api/sandbox/instances/{sandbox}/volume", {"volume": volume, "path": "/data"})
        assert refused.value.status == 409 and "while sandbox" in str(refused.value), refused.value
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        api.post(f"/api/sandbox/instances/{sandbox}/volume", {"volume": volume, "path": "/data"})
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "cat file; echo more > /data/more; cat /data/more")["stdout"] == "own\nmore\n"
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        api.delete(f"/api/sandbox/instances/{sandbox}/volume")
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "cat file; ls /data")["stdout"] == "own\n"


def test_a_volume_is_browsed_without_a_sandbox(daemon, api, volume):
    with api.sandbox(**mounted(volume)) as sandbox:
        api.exec(sandbox, "echo seen > /data/file")
    listed = api.get(f"/api/sandbox/volumes/{volume}/files?path=/")
    assert "file" in str(listed), listed


def test_a_folder_of_a_volume_and_a_snapshot_with_one(api, volume):
    with pytest.raises(atoll.ApiError) as refused:
        api.create(**mounted(volume, subpath="part"))
    assert refused.value.status == 501 and "whole volumes" in str(refused.value), refused.value
    with api.sandbox(**mounted(volume)) as sandbox:
        api.exec(sandbox, "echo old > file; echo kept > /data/file; sync")
        made = api.post(f"/api/sandbox/instances/{sandbox}/snapshot", {})
        api.exec(sandbox, "echo new > file; echo newer > /data/file")
        api.post(f"/api/sandbox/snapshots/{made['id']}/restore")
        assert api.exec(sandbox, "cat file /data/file")["stdout"] == "old\nnewer\n"
        api.delete(f"/api/sandbox/snapshots/{made['id']}")
