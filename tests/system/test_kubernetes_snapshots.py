# SPDX-License-Identifier: Apache-2.0
"""Snapshots of provider kubernetes on a cluster of one node with the kind VolumeSnapshot. What takes and restores them is a stand-in
(tests/volume_snapshots.py), because Debian has no storage driver with snapshots; all else is real."""

import contextlib
import http.client

import pytest

import atoll
import kubernetes_cluster
import remote_snapshots
import volume_snapshots

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
PATH = "/api/sandbox/instances"
SPACE = "atoll-snapshots"


class Account:
    """What remote_snapshots.py asks of an account."""

    def __init__(self, controller):
        self.controller = controller

    def snapshots(self):
        return self.controller.names()


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.open_cluster(SPACE)
    try:
        if not getattr(made, "provisioner", None):
            pytest.skip("the provisioner of a borrowed cluster is another process's")
        volume_snapshots.install(made.api)
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def controller(cluster):
    made = volume_snapshots.Controller(cluster, SPACE)
    yield made
    made.close()


def serve(cluster):
    chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_snapshot_class="default")
    return atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"])


@pytest.fixture(scope="module")
def server(cluster, controller):
    server = serve(cluster).start()
    yield server
    server.remove_all()
    assert kubernetes_cluster.is_empty_soon(cluster, SPACE) and controller.names() == []


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


@pytest.mark.parametrize("state", ("started", "stopped"))
def test_a_sandbox_is_made_from_a_snapshot_of_a_home(api, controller, state):
    remote_snapshots.check_copy(api, Account(controller), state)


def test_forks_have_the_files_of_their_moment(api, controller):
    remote_snapshots.check_forks(api)
    for snapshot in api.get("/api/sandbox/snapshots")["items"]:  # that of the forks is their owner's to delete
        api.delete(f"/api/sandbox/snapshots/{snapshot['id']}")
    assert controller.names() == []


def test_a_sandbox_is_not_reset_to_a_snapshot(api):
    remote_snapshots.check_reset_is_refused(api)


def test_a_home_is_as_large_as_its_snapshot_needs(api, cluster, controller):
    controller.size = "2147483649"
    try:
        with api.sandbox(internet=True) as box:
            snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
            with api.sandbox(internet=True, snapshot=snapshot) as copy:
                claim = cluster.api.get(f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims/atoll-{copy}")["spec"]
                assert claim["resources"]["requests"]["storage"] == "2049Mi" and claim["dataSource"]["kind"] == "VolumeSnapshot", claim
            api.delete(f"/api/sandbox/snapshots/{snapshot}")
    finally:
        controller.size = "1Mi"
    assert controller.names() == []


def test_what_the_storage_driver_says_is_told_and_nothing_is_left(api, controller):
    controller.problem = "rpc error: the array is out of words"
    try:
        with api.sandbox(internet=True) as box:
            why = remote_snapshots.refused(api.post, f"{PATH}/{box}/snapshot", {})
            assert why.status == 503 and "the array is out of words" in why.message, why.message
            assert api.get("/api/sandbox/snapshots")["items"] == [] and controller.names() == []
    finally:
        controller.problem = None


def test_a_server_that_dies_with_the_snapshot_taken_leaves_none(cluster, controller):
    server = serve(cluster)
    server.environment["ATOLL_FAULT"] = "api:snapshot-taken:kill"
    server.start()
    try:
        with contextlib.closing(server.api(timeout=60)) as api:
            box = api.create(internet=True)["id"]
            with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
                api.post(f"{PATH}/{box}/snapshot", {})
        server.stop()
        del server.environment["ATOLL_FAULT"]
        server.start()
        atoll.wait_for(lambda: controller.names() == [], 60, lambda: f"no snapshot: {controller.names()}")
    finally:
        server.remove_all()


def test_a_cluster_without_the_kind_is_named(api, cluster, controller):
    with api.sandbox(internet=True) as box:
        volume_snapshots.uninstall(cluster.api)
        atoll.wait_for(lambda: cluster.api.call("GET", f"{volume_snapshots.GROUP}/{volume_snapshots.KIND}")[0] == 404, 60, "the end of the kind")
        why = remote_snapshots.refused(api.post, f"{PATH}/{box}/snapshot", {})
        volume_snapshots.install(cluster.api)
        assert "no kind VolumeSnapshot" in why.message and why.status == 501, (why.status, why.message)
