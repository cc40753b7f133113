# SPDX-License-Identifier: Apache-2.0
"""Provider kubernetes and a real API server without a node: what it asks for is accepted as it is, watches go on after a
cut, 429 is obeyed. The tests write what a node would: pods never run here."""

import contextlib
import json
import re
import threading

import pytest

import atoll
import kubernetes_cluster
import kubernetes_front

pytestmark = pytest.mark.needs_root
SPACE = "atoll-api"
CLAIMS = f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims"
POLICIES = f"/apis/networking.k8s.io/v1/namespaces/{SPACE}/networkpolicies"


@pytest.fixture(scope="module")
def cluster():
    made = kubernetes_cluster.Cluster(node=False)
    made.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    yield made
    made.remove()


@pytest.fixture(scope="module")
def front(cluster):
    made = kubernetes_front.Front(cluster)
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(cluster, front):
    chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_config=str(front.config),
                                        kubernetes_storage_class="none")  # without a controller a claim is never gone
    server = atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"]).start()
    yield server
    server.remove_all()
    assert kubernetes_cluster.is_empty_soon(cluster, SPACE)


def create_apart(server):
    """A create that goes on beside the test; its error comes from the returned function."""
    found = []

    def run():
        with contextlib.closing(server.api()) as api:
            with pytest.raises(atoll.ApiError) as caught:
                api.create(internet=True)
            found.append(caught.value)

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        thread.join(40)
        return found[0]
    return end


def pending_pod(cluster):
    return atoll.wait_for(lambda: cluster.api.names("pods", SPACE), 20, "a pod")[0]


def fail_pod(cluster, name):
    status, said = cluster.api.call("PATCH", f"/api/v1/namespaces/{SPACE}/pods/{name}/status", {
        "status": {"phase": "Failed", "reason": "Evicted", "message": "the node was low on words"}}, "application/merge-patch+json")
    assert status == 200, said


def test_a_watch_that_is_cut_goes_on_at_its_version(server, cluster, front):
    end = create_apart(server)
    name = pending_pod(cluster)
    lists = len(front.asked(r"GET /api/v1/namespaces/\S+/pods\?labelSelector=atoll.server%3D[a-z2-7]+$"))
    watches = len(front.asked("watch=true"))
    front.cut_watches()
    atoll.wait_for(lambda: len(front.asked("watch=true")) > watches, 20, "a watch after the cut")
    assert re.search(r"resourceVersion=[1-9]", front.asked("watch=true")[-1])
    assert len(front.asked(r"GET /api/v1/namespaces/\S+/pods\?labelSelector=atoll.server%3D[a-z2-7]+$")) == lists
    fail_pod(cluster, name)
    why = end()
    assert "Evicted: the node was low on words" in why.message and why.status == 503, why.message
    assert kubernetes_cluster.is_empty_soon(cluster, SPACE)


def test_a_watch_that_is_too_old_begins_with_a_list(server, cluster, front):
    front.faults.append((r"GET \S+watch=true", [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n']))
    watches = len(front.asked("watch=true"))
    front.cut_watches()
    atoll.wait_for(lambda: len(front.asked("watch=true")) >= watches + 2, 20, "a watch after the list")
    asked = front.asked(r"/pods\?labelSelector")
    old, new = [number for number, target in enumerate(asked) if "watch=true" in target][watches:watches + 2]
    assert new > old + 1, asked  # the sweep lists pods, too, at any time
    end = create_apart(server)
    fail_pod(cluster, pending_pod(cluster))
    assert "Evicted" in end().message


def test_a_429_is_obeyed(server, cluster, front):
    front.faults.append((f"POST {POLICIES}", [
        b'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 22\r\nConnection: close\r\n\r\n{"message":"too busy"}']))
    begun = len(front.seen)
    end = create_apart(server)
    fail_pod(cluster, pending_pod(cluster))
    end()
    posts = [at for at, target in front.seen[begun:] if target == f"POST {POLICIES}"]
    assert len(posts) == 2 and 0.9 <= posts[1] - posts[0] < 6, posts
    assert kubernetes_cluster.is_empty_soon(cluster, SPACE)


def test_a_home_that_has_been_deleted_is_not_taken(cluster, front):
    there = kubernetes_front.answer(409, "AlreadyExists", "it is there already")
    leaving = json.dumps({"kind": "PersistentVolumeClaim", "metadata": {"deletionTimestamp": "2026-11-28T00:00:00Z"}}).encode()
    front.faults += [(f"POST {CLAIMS}", [there, there]), (f"GET {CLAIMS}/", [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(leaving), leaving)])]
    chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_config=str(front.config))
    server = atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"]).start()
    try:
        end = create_apart(server)
        name = pending_pod(cluster)
        asked = [target.split("?")[0] for target in front.asked(f"(POST {CLAIMS}|GET {CLAIMS}/)")]
        claim, get = f"POST {CLAIMS}", f"GET {CLAIMS}/{name}"
        assert asked == [claim, get, claim, get, claim], asked
        fail_pod(cluster, name)
        assert "Evicted" in end().message
        # What the cluster's controller does when no pod uses the claim.
        cluster.api.call("PATCH", f"{CLAIMS}/{name}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        assert kubernetes_cluster.is_empty_soon(cluster, SPACE)
    finally:
        server.remove_all()
