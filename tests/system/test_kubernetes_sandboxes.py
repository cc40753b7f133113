# SPDX-License-Identifier: Apache-2.0
"""Provider kubernetes on a cluster of one node that has the kind Sandbox of agent-sandbox: each sandbox is a Sandbox object, whose pod a
controller makes. The controller is a stand-in (tests/agent_sandbox.py), all else is real."""

import contextlib
import datetime
import http.client

import pytest

import agent_sandbox
import atoll
import kubernetes_cluster

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
PATH = "/api/sandbox/instances"
SPACE = "atoll-objects"
SMALL = {"resources": {"cpu": 0.2, "memory_mb": 64}}


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.open_cluster(SPACE)
    try:
        agent_sandbox.install(made.api)
        yield made
        agent_sandbox.uninstall(made.api)
    finally:
        made.remove()


@pytest.fixture(scope="module")
def controller(cluster):
    made = agent_sandbox.Controller(cluster, SPACE)
    yield made
    made.close()


def serve(cluster, **more):
    chosen = kubernetes_cluster.options(cluster, SPACE, **more)
    return atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"])


@pytest.fixture(scope="module")
def server(cluster, controller):
    server = serve(cluster).start()
    yield server
    server.remove_all()
    is_empty_soon(cluster)


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


def objects(cluster):
    return cluster.api.names(agent_sandbox.KIND, SPACE, agent_sandbox.GROUP) + cluster.api.objects(SPACE)


def is_empty_soon(cluster, seconds=60):
    atoll.wait_for(lambda: objects(cluster) == [], seconds, lambda: f"an empty namespace: {objects(cluster)}")


def object_of(cluster, name):
    return cluster.api.get(f"{agent_sandbox.GROUP}/namespaces/{SPACE}/{agent_sandbox.KIND}/{name}")


def find_pod(cluster, name):
    status, pod = cluster.api.call("GET", f"/api/v1/namespaces/{SPACE}/pods/{name}")
    return pod if status == 200 else None


def assert_placed(api, box, pod):
    """The place that the server tells is the cluster's: the pod of the sandbox and the node that it runs on."""
    place = api.get(f"{PATH}/{box}")["place"]
    assert (place["object"], place["node"]) == (pod["metadata"]["name"], pod["spec"]["nodeName"]), place


def test_a_sandbox_is_an_object_whose_pod_the_controller_makes(cluster, api):
    with api.sandbox(internet=True, **SMALL) as box:
        assert api.exec(box, "echo on; id -u")["stdout"] == "on\n1000\n"
        made, pod = object_of(cluster, f"atoll-{box}"), find_pod(cluster, f"atoll-{box}")
        assert_placed(api, box, pod)
        assert agent_sandbox.owns(made, pod) and made["metadata"]["labels"]["atoll.sandbox"] == box
        assert made["spec"]["operatingMode"] == "Running" and made["spec"]["shutdownPolicy"] == "Delete" and made["spec"]["service"] is False
        until = datetime.datetime.fromisoformat(made["spec"]["shutdownTime"].replace("Z", "+00:00"))
        assert 6.9 < (until - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 86400 < 7.1
        assert pod["spec"]["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    atoll.wait_for(lambda: not [name for name in objects(cluster) if box in name], 30, "the end of its objects")


def test_a_stop_suspends_the_object_and_a_start_lets_it_run_again(cluster, api):
    with api.sandbox(internet=True, **SMALL) as box:
        api.exec(box, "echo kept > file")
        first = find_pod(cluster, f"atoll-{box}")
        assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
        assert object_of(cluster, f"atoll-{box}")["spec"]["operatingMode"] == "Suspended" and not find_pod(cluster, f"atoll-{box}")
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "cat file")["stdout"] == "kept\n"
        again = find_pod(cluster, f"atoll-{box}")
        assert again["metadata"]["uid"] != first["metadata"]["uid"]
        assert again["metadata"]["annotations"]["atoll.start"] != first["metadata"]["annotations"]["atoll.start"]


@pytest.mark.parametrize("is_forced", (False, True))
def test_a_pod_that_is_taken_away_ends_its_sandbox_and_does_not_come_back(cluster, api, is_forced):
    with api.sandbox(internet=True, **SMALL) as box:
        name = f"atoll-{box}"
        api.exec(box, "echo kept > file")
        if is_forced:
            cluster.api.call("DELETE", f"/api/v1/namespaces/{SPACE}/pods/{name}?gracePeriodSeconds=0")
        else:
            status, said = cluster.api.call("POST", f"/api/v1/namespaces/{SPACE}/pods/{name}/eviction", {
                "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": name, "namespace": SPACE}})
            assert status == 201, said
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 60, "the end of the sandbox")
        atoll.wait_for(lambda: object_of(cluster, name)["spec"]["operatingMode"] == "Suspended", 30, "a suspended object")
        atoll.wait_for(lambda: find_pod(cluster, name) is None, 60, "no pod of a stopped sandbox")
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "cat file")["stdout"] == "kept\n"


def test_files_outlive_the_end_of_an_object_past_its_time(cluster, api):
    with api.sandbox(internet=True, **SMALL) as box:
        name = f"atoll-{box}"
        api.exec(box, "echo kept > file")
        status, said = cluster.api.call("PATCH", f"{agent_sandbox.GROUP}/namespaces/{SPACE}/{agent_sandbox.KIND}/{name}", {
            "spec": {"shutdownTime": "2020-01-02T03:04:05Z"}}, "application/merge-patch+json")
        assert status == 200, said
        atoll.wait_for(lambda: name not in cluster.api.names(agent_sandbox.KIND, SPACE, agent_sandbox.GROUP), 30, "the end of the object")
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 60, "the end of the sandbox")
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "cat file")["stdout"] == "kept\n"
        assert object_of(cluster, name)["spec"]["shutdownTime"] > "2026"


def test_a_spent_quota_is_told_in_the_clusters_words(cluster, api):
    path = f"/api/v1/namespaces/{SPACE}/resourcequotas"
    cluster.api.call("POST", path, {"metadata": {"name": "few"}, "spec": {"hard": {"limits.memory": "1Mi"}}})
    try:
        atoll.wait_for(lambda: cluster.api.get(f"{path}/few").get("status", {}).get("hard"), 20, "the quota")
        with pytest.raises(atoll.ApiError) as caught:
            api.create(internet=True)
        assert "exceeded quota" in caught.value.message and caught.value.status == 503, caught.value.message
    finally:
        cluster.api.call("DELETE", f"{path}/few")
    is_empty_soon(cluster)


def test_a_claimed_warm_pod_becomes_the_pod_of_an_object(cluster, controller, server):
    server.stop()
    server.flags = ["--providers", server.flags[1] + ";kubernetes_warm_pods=1"]
    server.start()
    try:
        with contextlib.closing(server.api()) as api:
            with api.sandbox(internet=True, **SMALL):
                warm = atoll.wait_for(lambda: running_warm_pods(cluster), 120, "a warm pod")[0]["metadata"]
            adopted = controller.adopted
            with api.sandbox(internet=True, **SMALL) as box:
                assert api.exec(box, "echo on > file; cat file")["stdout"] == "on\n"
                atoll.wait_for(lambda: agent_sandbox.owns(object_of(cluster, warm["name"]), find_pod(cluster, warm["name"])), 20, "an owner")
                assert controller.adopted == adopted + 1 and find_pod(cluster, warm["name"])["metadata"]["uid"] == warm["uid"]
                assert_placed(api, box, find_pod(cluster, warm["name"]))
                assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
                assert api.post(f"{PATH}/{box}/start")["state"] == "started"
                assert api.exec(box, "cat file")["stdout"] == "on\n"
    finally:
        server.stop()
        server.flags = ["--providers", server.flags[1].replace("kubernetes_warm_pods=1", "kubernetes_warm_pods=0")]
        server.start()
    is_empty_soon(cluster, 120)


def running_warm_pods(cluster):
    pods = cluster.api.get(f"/api/v1/namespaces/{SPACE}/pods?labelSelector=atoll.warm")["items"]
    return [pod for pod in pods if pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")]


def test_a_server_that_dies_with_the_object_made_leaves_nothing(cluster, controller):
    server = serve(cluster)
    server.environment["ATOLL_FAULT"] = "agent-sandbox:object-made:kill"
    server.start()
    try:
        first = server.pid_of("api")
        with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException), contextlib.closing(server.api(timeout=60)) as api:
            api.create(internet=True, **SMALL)
        assert server.pid_of("api") != first, "the step was not reached"
        server.stop()
        del server.environment["ATOLL_FAULT"]
        server.start()
        with contextlib.closing(server.api()) as api:
            for row in server.rows(api):
                api.remove(row["id"])
        is_empty_soon(cluster, 120)
    finally:
        server.remove_all()


def test_a_pod_from_before_the_kind_was_installed_gets_an_object_with_its_next_start(cluster, controller):
    agent_sandbox.uninstall(cluster.api)
    atoll.wait_for(lambda: cluster.api.call("GET", f"{agent_sandbox.GROUP}/{agent_sandbox.KIND}")[0] == 404, 60, "the end of the kind")
    server = serve(cluster).start()
    try:
        with contextlib.closing(server.api()) as api:
            box = api.create(internet=True, **SMALL)["id"]
            api.exec(box, "echo kept > file")
            assert "ownerReferences" not in find_pod(cluster, f"atoll-{box}")["metadata"]
        server.stop()
        agent_sandbox.install(cluster.api)
        server.start()
        with contextlib.closing(server.api()) as api:
            assert atoll.wait_for(lambda: api.exec(box, "cat file")["stdout"], 60, "an answer") == "kept\n"
            assert api.post(f"{PATH}/{box}/stop")["state"] == "stopped"
            assert api.post(f"{PATH}/{box}/start")["state"] == "started"
            assert api.exec(box, "cat file")["stdout"] == "kept\n"
            assert agent_sandbox.owns(object_of(cluster, f"atoll-{box}"), find_pod(cluster, f"atoll-{box}"))
            api.remove(box)
        is_empty_soon(cluster)
    finally:
        server.remove_all()
