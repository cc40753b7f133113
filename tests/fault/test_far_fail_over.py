# SPDX-License-Identifier: Apache-2.0
"""Fail-over from native to kubernetes (where a cluster can be made) and e2b in a storm of kills and faults of each: nothing is left at
any provider's own list, no sandbox is isolated less than asked, and no active second is billed twice."""

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
import remote_proxy

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
KILLS = int(os.environ.get("ATOLL_KILLS", 200))
CALLERS, SPACE = 4, "atoll-fail-over"
PAUSES = (0.4, 0.8, 0.2, 1.5, 0.6)
LOST = (OSError, atoll.ApiError, ValueError, http.client.HTTPException)
FAULTS = (None, "cut", (500, []), "half", (429, [("Retry-After", "1")]), "lost", (503, []), "garbled")
# What creates ask for: the last needs the isolation of this machine's or the cluster's provider.
WANTS = ({}, {"provider": "far"}, {"isolation": "namespaces"})


class Caller(threading.Thread):
    """Makes, uses and removes sandboxes; each answer may be lost. `lived`: id -> [begin of the create, end of the delete]."""

    def __init__(self, server, number, stops):
        super().__init__()
        self.server, self.number, self.stops = server, number, stops
        self.lived, self.weak, self.by = {}, [], {}

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
        self.by[made["provider"]] = self.by.get(made["provider"], 0) + 1
        if wanted.get("isolation") and made["isolation"] == "remote":
            self.weak.append(made)
        api.exec(made["id"], "true")
        if turn % 8:
            api.remove(made["id"])
            self.lived[made["id"]][1] = time.time()


def storm(server, account, kills):
    stops = threading.Event()
    callers = [Caller(server, number, stops) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        for number in range(kills):
            fault = FAULTS[number // 5 % len(FAULTS)]
            account.proxy.fault = lambda method, target, fault=fault: fault if "/sandboxes" in target else None
            time.sleep(PAUSES[number % len(PAUSES)])
            with contextlib.suppress(ProcessLookupError):
                server.kill9("broker" if number % 3 == 2 else "api")
            server.wait_ready(60)
    finally:
        account.proxy.fault = None
        stops.set()
        for caller in callers:
            caller.join()
    return callers


def remove_rows(server):
    """The time at which each row was gone."""
    gone = {}

    def is_empty():
        with contextlib.suppress(*LOST), contextlib.closing(server.api(timeout=60)) as api:
            for row in server.rows(api):
                api.remove(row["id"])
                gone[row["id"]] = time.time()
            return server.rows(api) == []
        return False

    atoll.wait_for(is_empty, 180, "the removal of every row")
    return gone


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
    if kubernetes_cluster.reason(True):
        return None
    return kubernetes_cluster.open_cluster(SPACE)


def test_fail_over_leaves_nothing_and_bills_once():
    account, pods, server = remote_proxy.Account(), open_pods(), None
    far = account.options(e2b_api_url=account.proxy.url, e2b_sandbox_url=account.proxy.url, e2b_template="host", allow_weaker="true",
                          create_timeout="10s")
    names = ["native", *(["pods"] if pods else []), "far"]
    parts = ["native", *([f"pods=kubernetes:{kubernetes_cluster.options(pods, SPACE, allow_weaker='true')}"] if pods else []), f"far=e2b:{far}"]
    try:
        server = atoll.Server(environment={"E2B_API_KEY": account.server.key},
                              flags=["--providers", ",".join(parts), "--routing", f"all:providers={' '.join(names)}", "--sandboxes-max", "2000"]).start()
        callers = storm(server, account, KILLS)
        gone = remove_rows(server)
        assert not [made for caller in callers for made in caller.weak]
        by = {name: sum(caller.by.get(name, 0) for caller in callers) for name in names}
        seconds = check_bill(server, callers, gone)
        print("figures", json.dumps({"kills": KILLS, "by": by, "billed_s": round(seconds)}))
        assert by["native"] and by["far"], by
        atoll.wait_for(lambda: account.rows() == [], 130, lambda: f"an empty account: {account.rows()}")
        if pods:
            assert kubernetes_cluster.is_empty_soon(pods, SPACE)
        atoll.Host(server.data).wait_clean(90)
    finally:
        if server:
            server.remove_all()
        account.remove()
        if pods:
            pods.remove()
