# SPDX-License-Identifier: Apache-2.0
"""Fail-over from native to kubernetes (where a cluster can be made) and e2b in a storm of kills and faults of each: nothing is left at
any provider's own list, no sandbox is isolated less than asked, and no active second is billed twice. With a cluster the first two have
room for few sandboxes, so that creates go on to the next; each watch is cut, and the API server is away for a time."""

import contextlib
import http.client
import itertools
import json
import os
import threading
import time

import pytest

import atoll
import kubernetes_cluster
import kubernetes_front
import remote_proxy

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
KILLS = int(os.environ.get("ATOLL_KILLS", 200))
CALLERS, SPACE = 4, "atoll-fail-over"
PAUSES = (0.4, 0.8, 0.2, 1.5, 0.6)
POD_PAUSES = (0.4, 0.8, 0.2, 1.5, 4)  # a pod needs seconds to start
AWAY_SECONDS = 20
ROOM = {"native": 2, "pods": 3}  # sandboxes, with a cluster
LOST = (OSError, atoll.ApiError, ValueError, http.client.HTTPException)
FAULTS = (None, "cut", (500, []), "half", (429, [("Retry-After", "1")]), "lost", (503, []), "garbled")
POD_FAULTS = ({}, {"429": 0.02, "409": 0.04, "lost": 0.03}, {"429": 1}, {"409": 0.5, "lost": 0.3})
# What creates ask for: the last needs the isolation of this machine's or the cluster's provider.
WANTS = ({}, {"provider": "far"}, {"isolation": "namespaces"})


class Caller(threading.Thread):
    """Makes, uses and removes sandboxes; each answer may be lost. `lived`: id -> [begin of the create, end of the delete]."""

    def __init__(self, server, number, stops):
        super().__init__()
        self.server, self.number, self.stops = server, number, stops
        self.lived, self.weak, self.by, self.over = {}, [], {}, {}

    def run(self):
        for turn in itertools.count(self.number):
            if self.stops.is_set():
                return
            with contextlib.suppress(*LOST), contextlib.closing(self.server.api(timeout=40)) as api:
                self.use(api, WANTS[turn % len(WANTS)], turn)
            self.stops.wait(0.05)

    def use(self, api, wanted, turn):
        begun = time.time()
        made = api.create(internet=False, labels={"storm": f"{self.number}-{turn}"}, resources={"memory_mb": 64}, **wanted)
        self.lived[made["id"]] = [begun, None]
        for counts in [self.by] if "provider" in wanted else [self.by, self.over]:
            counts[made["provider"]] = counts.get(made["provider"], 0) + 1
        if wanted.get("isolation") and made["isolation"] == "remote":
            self.weak.append(made)
        api.exec(made["id"], "true")
        if turn % 8:
            api.remove(made["id"])
            self.lived[made["id"]][1] = time.time()


class Pods:
    """The cluster with what makes its calls fail."""

    def __init__(self):
        self.cluster = kubernetes_cluster.open_cluster(SPACE)
        self.front = kubernetes_front.Front(self.cluster)
        self.away = None

    def options(self):
        return kubernetes_cluster.options(self.cluster, SPACE, kubernetes_config=str(self.front.config), kubernetes_warm_pods=2,
                                          max_sandboxes=ROOM["pods"], allow_weaker="true")

    def strike(self, number, kills):
        self.front.storm = POD_FAULTS[number // 7 % len(POD_FAULTS)]
        self.front.cut_watches()
        if number == kills // 2 and self.cluster.parts:
            self.away = threading.Thread(target=self.take_away)
            self.away.start()

    def take_away(self):
        self.cluster.stop("kube-apiserver")
        time.sleep(AWAY_SECONDS)
        self.cluster.start_api_server()

    def calm(self):
        self.front.storm = {}
        if self.away:
            self.away.join()

    def remove(self):
        self.calm()
        self.front.close()
        self.cluster.remove()


class Remover(threading.Thread):
    """Removes what was there five seconds ago, too: sandboxes whose create or delete had no answer would take all room. `gone`: id ->
    the time at which a row was gone."""

    def __init__(self, server, stops):
        super().__init__()
        self.server, self.stops, self.seen, self.gone = server, stops, set(), {}

    def run(self):
        while not self.stops.wait(5):
            with contextlib.suppress(*LOST), contextlib.closing(self.server.api(timeout=40)) as api:
                there = {row["id"] for row in self.server.rows(api)}
                for id in self.seen & there:
                    self.remove(api, id)
                self.seen = there

    def remove(self, api, id):
        api.remove(id)
        self.gone[id] = time.time()

    def remove_all(self):
        def is_empty():
            with contextlib.suppress(*LOST), contextlib.closing(self.server.api(timeout=60)) as api:
                for row in self.server.rows(api):
                    self.remove(api, row["id"])
                return self.server.rows(api) == []
            return False

        atoll.wait_for(is_empty, 180, "the removal of every row")


def storm(server, account, pods, kills):
    stops = threading.Event()
    callers = [Caller(server, number, stops) for number in range(CALLERS)]
    remover = Remover(server, stops)
    pauses = POD_PAUSES if pods else PAUSES
    for thread in callers + ([remover] if pods else []):
        thread.start()
    try:
        for number in range(kills):
            fault = FAULTS[number // 5 % len(FAULTS)]
            account.proxy.fault = lambda method, target, fault=fault: fault if "/sandboxes" in target else None
            if pods:
                pods.strike(number, kills)
            time.sleep(pauses[number % len(pauses)])
            with contextlib.suppress(ProcessLookupError):
                server.kill9("broker" if number % 3 == 2 else "api")
            server.wait_ready(60)
    finally:
        account.proxy.fault = None
        if pods:
            pods.calm()
        stops.set()
        for thread in callers + ([remover] if pods else []):
            thread.join()
    return callers, remover


def check_bill(server, callers, gone):
    """Each sandbox has one bill, for at most the time in which it lived."""
    lived = {id: [begun, ended or gone.get(id) or time.time()] for caller in callers for id, (begun, ended) in caller.lived.items()}
    with contextlib.closing(server.api(timeout=60)) as api:
        query, billed = "/v1/usage?group_by=sandbox&limit=1000", {}
        while query:
            page = api.get(query)
            for item in page["items"]:
                assert item["group"] not in billed, item
                billed[item["group"]] = item["seconds"]
            query = page.get("next_page") and f"/v1/usage?group_by=sandbox&limit=1000&page={page['next_page']}"
    wrong = {id: (billed[id], ended - begun) for id, (begun, ended) in lived.items() if billed.get(id, 0) > ended - begun + 1}
    assert not wrong, wrong
    return sum(billed.values())


def open_pods():
    return None if kubernetes_cluster.reason(True) else Pods()


def end_warm_pods(server):
    """A server without them removes those of the one before."""
    server.stop()
    server.flags[1] = server.flags[1].replace("kubernetes_warm_pods=2", "kubernetes_warm_pods=0")
    server.start()


def test_fail_over_leaves_nothing_and_bills_once():
    account, pods, server = remote_proxy.Account(), open_pods(), None
    far = account.options(e2b_api_url=account.proxy.url, e2b_sandbox_url=account.proxy.url, e2b_template="host", allow_weaker="true",
                          create_timeout="10s")
    names = ["native", *(["pods"] if pods else []), "far"]
    parts = ["native", *([f"pods=kubernetes:{pods.options()}"] if pods else []), f"far=e2b:{far}"]
    if pods:
        parts[0] = f"native:max_sandboxes={ROOM['native']}"
    try:
        server = atoll.Server(environment={"E2B_API_KEY": account.server.key},
                              flags=["--providers", ",".join(parts), "--routing", f"all:providers={' '.join(names)}", "--sandboxes-max", "2000"]).start()
        begun = time.monotonic()
        callers, remover = storm(server, account, pods, KILLS)
        remover.remove_all()
        assert not [made for caller in callers for made in caller.weak]
        by, over = ({name: sum(counts.get(name, 0) for counts in all_counts) for name in names}
                    for all_counts in ([caller.by for caller in callers], [caller.over for caller in callers]))
        seconds = check_bill(server, callers, remover.gone)
        print("figures", json.dumps({"kills": KILLS, "took_s": round(time.monotonic() - begun), "by": by, "without_a_name": over,
                                     "billed_s": round(seconds), "pods": pods and pods.front.counts}))
        assert by["native"] and by["far"], by
        assert not pods or all(over.values()), over
        atoll.wait_for(lambda: account.rows() == [], 130, lambda: f"an empty account: {account.rows()}")
        if pods:
            end_warm_pods(server)
            space = pods.cluster.api
            atoll.wait_for(lambda: space.objects(SPACE) == [], 180, lambda: f"an empty namespace: {space.objects(SPACE)}")
        atoll.Host(server.data).wait_clean(90)
    finally:
        if server:
            server.remove_all()
        account.remove()
        if pods:
            pods.remove()
