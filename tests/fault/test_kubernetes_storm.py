# SPDX-License-Identifier: Apache-2.0
"""Creates and deletes on a cluster, while pods are evicted, watches are cut and the api process is killed: the namespace is
empty afterwards."""

import contextlib
import http.client
import queue
import random
import threading

import pytest

import atoll
import kubernetes_cluster

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
SPACE = "atoll-storm"
CREATES, CALLERS, KILLS = 200, 6, 3


def work_all(server, work, failures):
    """Each create is tried until it has an answer; what is evicted before its delete is deleted all the same."""
    while True:
        try:
            number = work.get_nowait()
        except queue.Empty:
            return
        made = None
        for _ in range(60):
            try:
                with contextlib.closing(server.api(timeout=60)) as api:
                    made = made or api.create(name=f"storm-{number}", internet=True, resources={"cpu": 0.05, "memory_mb": 32})["id"]
                    api.remove(made)
                break
            except (OSError, atoll.ApiError, ValueError, http.client.HTTPException) as failure:
                if isinstance(failure, atoll.ApiError) and failure.status in (404, 409):
                    break  # an earlier try, whose answer was lost, has made or removed it
                failures.append(str(failure))
                threading.Event().wait(0.2)


def evict_some(cluster, done):
    chooser = random.Random(20)
    while not done.wait(1.0):
        with contextlib.suppress(Exception):
            for pod in chooser.sample(cluster.api.names("pods", SPACE), 1):
                cluster.api.call("POST", f"/api/v1/namespaces/{SPACE}/pods/{pod}/eviction", {
                    "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": pod, "namespace": SPACE}})


def kill_some(server, done):
    for _ in range(KILLS):
        if done.wait(15):
            return
        with contextlib.suppress(Exception):
            server.kill9("api")


def test_nothing_is_left_of_200_creates_with_evictions_and_kills():
    cluster = kubernetes_cluster.open_cluster(SPACE)
    chosen = kubernetes_cluster.options(cluster, SPACE)
    server = atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"]).start()
    work, failures, done = queue.Queue(), [], threading.Event()
    for number in range(CREATES):
        work.put(number)
    try:
        callers = [threading.Thread(target=work_all, args=(server, work, failures)) for _ in range(CALLERS)]
        others = [threading.Thread(target=evict_some, args=(cluster, done)), threading.Thread(target=kill_some, args=(server, done))]
        for thread in callers + others:
            thread.start()
        for thread in callers:
            thread.join()
        done.set()
        for thread in others:
            thread.join()
        with contextlib.closing(server.api()) as api:
            for row in server.rows(api):  # of creates whose answer was lost
                with contextlib.suppress(atoll.ApiError):
                    api.remove(row["id"])
        assert kubernetes_cluster.is_empty_soon(cluster, SPACE)
    finally:
        server.remove_all()
        cluster.remove()
