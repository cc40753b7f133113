# SPDX-License-Identifier: Apache-2.0
"""The host's administrator empties nftables under living sandboxes: their rules come back, or they lose their network.

All of it happens in a network namespace of this test's own: `nft flush ruleset` is for every server of a host."""

import shutil
import subprocess

import pytest

import atoll
import far

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
PATH = "/api/sandbox/instances"


@pytest.fixture(autouse=True)
def own_network():
    with far.own_network():
        yield


@pytest.fixture
def inside(own_network):
    """A server in that network."""
    server = atoll.Server()
    yield server
    server.environment.pop("ATOLL_FAULT", None)
    server.remove_all()


@pytest.fixture
def world(own_network):
    there = far.Far()
    yield there
    there.close()


def flush():
    subprocess.run(["nft", "flush", "ruleset"], check=True)


def rules():
    return subprocess.run(["nft", "list", "table", "inet", "atoll"], capture_output=True, text=True).stdout


def test_rules_that_are_flushed_come_back(inside, world):
    first, second, _ = world.addresses
    inside.start()
    api = inside.api()
    kept = api.create(internet=True, egress={"allow": [first], "deny": ["0.0.0.0/0"]})["id"]
    changed = api.create(internet=True)["id"]
    api.call("PUT", f"{PATH}/{changed}/egress", {"deny": [first]})
    free = api.create(internet=True)["id"]
    before = rules()
    for _ in range(3):
        flush()
        atoll.wait_for(lambda: rules().count("\n") == before.count("\n"), 15, "the rules")
    assert far.reached(api, kept, first, second) == {first: "tcp udp", second: "no no"}
    assert far.reached(api, changed, first, second) == {first: "no no", second: "tcp udp"}
    assert far.reached(api, free, first, world.near) == {first: "tcp udp", world.near: "no no"}
    # Nobody hears of it while there is no broker; the next one is told what the rules were.
    broker = inside.kill9("broker")
    flush()
    atoll.wait_for(lambda: inside.pid_of("broker") not in (None, broker), 15, "another broker")
    inside.wait_ready()
    both = {far.slot_of(api, kept), far.slot_of(api, changed)}
    for _ in range(2):
        atoll.wait_for(lambda: both <= set(far.slots_with_rules()), 15, "rules of sandboxes")
        atoll.wait_for(lambda: far.reached(api, kept, first, second) == {first: "tcp udp", second: "no no"}, 15, "the rules of one")
        assert far.reached(api, changed, first, second) == {first: "no no", second: "tcp udp"}
        flush()


def test_without_rules_there_is_no_network(inside, world):
    first, *_ = world.addresses
    inside.environment["ATOLL_FAULT"] = "broker:rules-restore:fail"
    inside.start()
    api = inside.api()
    made = api.create(internet=True)["id"]
    assert far.reached(api, made, first) == {first: "tcp udp"}
    flush()
    atoll.wait_for(lambda: "cut off" in (inside.data / "serve.log").read_text(), 15, "the end of the network")
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    assert "atoll" not in links
    assert far.reached(api, made, first) == {first: "no no"}
    with pytest.raises(atoll.ApiError, match="restart Atoll"):
        api.create(internet=True)
    api.create(internet=False)
    inside.environment.pop("ATOLL_FAULT")
    inside.stop()
    inside.start()
    api = inside.api()
    again = api.create(internet=True)["id"]
    assert far.reached(api, again, first) == {first: "tcp udp"}
