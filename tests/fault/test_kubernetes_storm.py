# SPDX-License-Identifier: Apache-2.0
"""Creates and deletes on a cluster, while pods are evicted, watches are cut, calls are answered 409 and 429, answers are lost, the
API server is away for a time and the api process is killed: the namespace is empty afterwards."""

import contextlib
import http.client
import os
import queue
import random
import re
import threading
import time

import pytest

import atoll
import kubernetes_cluster
import kubernetes_front

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
SPACE = "atoll-storm"
CREATES, CALLERS, KILLS = int(os.environ.get("ATOLL_STORM_CREATES", "200")), 6, 3
EVICT_EVERY = 4  # creates: a slow machine would otherwise make fewer pods than are evicted
AWAY_SECONDS = 20
STORM = {"429": 0.02, "409": 0.04, "lost": 0.03}
SWEEP_SECONDS = 60  # between two sweeps of a server


class Storm:
    def __init__(self, cluster, front, server):
        self.cluster, self.front, self.server = cluster, front, server
        self.work, self.done = queue.Queue(), threading.Event()
        self.lock, self.counts, self.failures = threading.Lock(), {"made": 0, "failed": 0, "evicted": 0, "killed": 0}, {}
        for number in range(CREATES):
            self.work.put(number)

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def note(self, failure):
        words = re.sub(r"storm-[0-9-]+|atoll-[a-z2-7]{20}|http://\S+", "…", str(failure))[:160]
        with self.lock:
            self.counts["failed"] += 1
            self.failures[words] = self.failures.get(words, 0) + 1

    def done_share(self):
        return 1 - self.work.qsize() / CREATES

    def call(self):
        """Each create is tried until it has an answer; what is evicted before its delete is deleted all the same."""
        while True:
            try:
                number = self.work.get_nowait()
            except queue.Empty:
                return
            self.create_and_remove(number)

    def create_and_remove(self, number):
        made, tries = None, 0
        while tries < 200:
            tries += 1
            try:
                with contextlib.closing(self.server.api(timeout=90)) as api:
                    made = made or api.create(name=f"storm-{number}-{tries}", internet=True, resources={"cpu": 0.05, "memory_mb": 32})["id"]
                    api.remove(made)
                self.count("made")
                return
            except (OSError, atoll.ApiError, ValueError, http.client.HTTPException) as failure:
                if made and isinstance(failure, atoll.ApiError) and failure.status == 404:
                    self.count("made")  # a delete whose answer was lost
                    return
                self.note(failure)
                self.done.wait(0.3)
        raise AssertionError(f"create {number} was not answered")

    # ---- faults ----

    def evict(self):
        chooser = random.Random(20)
        while not self.done.wait(0.1):
            if self.counts["evicted"] * EVICT_EVERY > self.counts["made"]:
                continue
            with contextlib.suppress(Exception):
                for pod in chooser.sample(self.cluster.api.names("pods", SPACE), 1):
                    self.cluster.api.call("POST", f"/api/v1/namespaces/{SPACE}/pods/{pod}/eviction", {
                        "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": pod, "namespace": SPACE}})
                    self.count("evicted")

    def cut(self):
        while not self.done.wait(3.0):
            self.front.cut_watches()

    def kill(self):
        for number in range(KILLS):
            while self.done_share() < (number + 1) / (KILLS + 2):
                if self.done.wait(0.2):
                    return
            self.server.kill9("api")
            self.count("killed")

    def take_away(self):
        while self.done_share() < 0.5:
            if self.done.wait(0.2):
                return
        begun = time.monotonic()
        self.cluster.stop("kube-apiserver")
        self.done.wait(max(0, AWAY_SECONDS - (time.monotonic() - begun)))
        self.cluster.start_api_server()
        self.away = time.monotonic() - begun

    def run(self):
        self.away = 0
        faults = [self.evict, self.cut, self.kill] + ([self.take_away] if self.cluster.parts else [])
        callers = [threading.Thread(target=self.call) for _ in range(CALLERS)]
        others = [threading.Thread(target=fault) for fault in faults]
        for thread in callers + others:
            thread.start()
        for thread in callers:
            thread.join()
        self.done.set()
        for thread in others:
            thread.join()


def remove_rows(server):
    """Of creates whose answer was lost."""
    def none_left():
        try:
            with contextlib.closing(server.api()) as api:
                rows = server.rows(api)
                for row in rows:
                    with contextlib.suppress(atoll.ApiError):
                        api.remove(row["id"])
                return not rows
        except (OSError, http.client.HTTPException):
            return False
    atoll.wait_for(none_left, 240, "the end of all rows")


def test_nothing_is_left_of_200_creates_in_a_storm():
    cluster = kubernetes_cluster.open_cluster(SPACE)
    front = server = None
    try:
        front = kubernetes_front.Front(cluster, storm=STORM)
        chosen = kubernetes_cluster.options(cluster, SPACE, kubernetes_config=str(front.config))
        server = atoll.Server(flags=["--providers", f"pods=kubernetes:{chosen}"]).start()
        storm = Storm(cluster, front, server)
        begun = time.monotonic()
        storm.run()
        took = time.monotonic() - begun
        remove_rows(server)
        print(f"{storm.counts} {front.counts}, the API server away for {storm.away:.0f} s, {took:.0f} s in all")
        for failure, count in sorted(storm.failures.items(), key=lambda item: -item[1])[:25]:
            print(f"{count:4} {failure}")
        assert storm.counts["made"] == CREATES
        # What a call has made whose process was killed is swept.
        atoll.wait_for(lambda: cluster.api.objects(SPACE) == [], 3 * SWEEP_SECONDS, lambda: f"an empty namespace: {cluster.api.objects(SPACE)}")
        print(f"empty {time.monotonic() - begun - took:.0f} s later")
    finally:
        front.storm.clear()
        server.remove_all()
        front.close()
        cluster.remove()
