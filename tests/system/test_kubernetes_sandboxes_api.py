# SPDX-License-Identifier: Apache-2.0
"""Provider kubernetes and a real API server that has the kind Sandbox of agent-sandbox, without a node: what the provider asks for fits
the kind's definition. A stand-in of the controller makes the pods, which never run here."""

import contextlib
import threading

import pytest

import agent_sandbox
import atoll
import kubernetes_cluster
import kubernetes_front

pytestmark = pytest.mark.needs_root
SPACE = "atoll-objects-api"
OBJECTS = f"{agent_sandbox.GROUP}/namespaces/{SPACE}/{agent_sandbox.KIND}"


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.Cluster(node=False)
    try:
        made.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        agent_sandbox.install(made.api)
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def front(cluster):
    made = kubernetes_front.Front(cluster)
    yield made
    made.close()


@pytest.fixture(scope="module")
def controller(cluster):
    made = agent_sandbox.Controller(cluster, SPACE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(cluster, front, controller):
    chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_config=str(front.config), kubernetes_storage_class="none")
    server = atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"]).start()
    yield server
    server.remove_all()
    is_empty_soon(cluster)


def is_empty_soon(cluster):
    atoll.wait_for(lambda: cluster.api.get(OBJECTS)["items"] == [] and cluster.api.objects(SPACE) == [], 30, "an empty namespace")


@contextlib.contextmanager
def failing_create(server):
    """A create beside the test, which fails; its error is in the list afterwards."""
    found = []

    def run():
        with contextlib.closing(server.api()) as api, pytest.raises(atoll.ApiError) as caught:
            api.create(internet=True)
        found.append(caught.value)

    thread = threading.Thread(target=run)
    thread.start()
    yield found
    thread.join(40)


def fail_pod(cluster, name):
    status, said = cluster.api.call("PATCH", f"/api/v1/namespaces/{SPACE}/pods/{name}/status", {
        "status": {"phase": "Failed", "reason": "Evicted", "message": "the node was low on words"}}, "application/merge-patch+json")
    assert status == 200, said


def test_the_object_fits_the_kind_and_its_pod_has_the_labels(server, cluster):
    with failing_create(server) as found:
        made = atoll.wait_for(lambda: cluster.api.get(OBJECTS)["items"], 20, "an object")[0]
        name = made["metadata"]["name"]
        pod = atoll.wait_for(lambda: cluster.api.names("pods", SPACE) and cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods/{name}"), 20, "a pod")
        for label in ("atoll.server", "atoll.sandbox"):
            assert pod["metadata"]["labels"][label] == made["metadata"]["labels"][label]
        assert agent_sandbox.owns(made, pod)
        assert {"atoll.epoch", "atoll.start"} <= set(pod["metadata"]["annotations"]) and "atoll.shutdown-time" not in pod["metadata"]["annotations"]
        fail_pod(cluster, name)
    assert "Evicted: the node was low on words" in found[0].message and found[0].status == 503, found[0].message
    is_empty_soon(cluster)


def test_what_the_controller_is_refused_is_told(server, cluster, controller, monkeypatch):
    monkeypatch.setattr(controller, "make_pod", lambda box: f"pods \"{box['metadata']['name']}\" is forbidden: exceeded quota: few")
    with failing_create(server) as found:
        pass
    assert "makes no pod" in found[0].message and "exceeded quota: few" in found[0].message and found[0].status == 503, found[0].message
    is_empty_soon(cluster)


def test_without_rights_on_the_kind_the_server_makes_the_pods(cluster, front, server, controller):
    """A Role of an earlier version of Atoll has none."""
    server.stop()
    front.faults.append((f"GET {OBJECTS}", [kubernetes_front.answer(403, "Forbidden", "sandboxes.agents.x-k8s.io is forbidden")] * 1000))
    server.start()
    made = controller.made
    try:
        with failing_create(server) as found:
            name = atoll.wait_for(lambda: cluster.api.names("pods", SPACE), 20, "a pod")[0]
            assert cluster.api.get(OBJECTS)["items"] == [] and controller.made == made
            fail_pod(cluster, name)
        assert "Evicted" in found[0].message, found[0].message
    finally:
        front.faults.clear()
    is_empty_soon(cluster)
