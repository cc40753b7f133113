# SPDX-License-Identifier: Apache-2.0
"""A project loses its source address while its server, or its broker, is away or dies: what left by the address ends all the same."""

import contextlib
import os
import signal
import sqlite3

import pytest

import atoll
from test_source_address import (  # noqa: F401
    datagrams_of, keep_open, project, pytestmark, rules, set_source, state_of, there, who_came, world)


@pytest.fixture
def server(there):
    server = atoll.Server(flags=["--network-nameservers", there.addresses[0]]).start()
    yield server
    server.environment.pop("ATOLL_FAULT", None)
    server.remove_all()


@pytest.fixture
def api(server):
    return server.api()


def ends(there, server, key, sandbox, address):
    """The connection that was open ends, and what the sandbox sends leaves by `address`."""
    own = server.api(key=key)
    atoll.wait_for(lambda: state_of(own, sandbox, "/tmp/kept").startswith("ended"), 30, "the end of the connection")
    del there.came[:]
    atoll.wait_for(lambda: len(there.came) > 10, 15, "datagrams")
    assert datagrams_of(there) == {address}, there.came
    atoll.wait_for(lambda: who_came(there, own, sandbox)[0] == {address}, 20, there.came)


def set_in_store(server, name, address):
    """As another server of the store does it."""
    with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=30)) as store, store:
        assert store.execute("UPDATE projects SET source_address = ? WHERE id = ?", (address, name)).rowcount == 1


@pytest.mark.parametrize("then", ["another", "none"])
def test_an_address_that_is_changed_while_the_server_is_away(api, there, server, project, then):
    name, key = project
    set_source(api, name, there.own[0])
    sandbox = server.api(key=key).create(internet=True)["id"]
    keep_open(there, server.api(key=key), sandbox, "/tmp/kept")
    server.stop()
    set_in_store(server, name, there.own[1] if then == "another" else "")
    server.start()
    ends(there, server, key, sandbox, there.own[1] if then == "another" else there.near)


def test_an_address_that_is_removed_while_the_broker_stands_still_and_dies(api, there, server, project):
    name, key = project
    set_source(api, name, there.own[0])
    sandbox = server.api(key=key).create(internet=True)["id"]
    keep_open(there, server.api(key=key), sandbox, "/tmp/kept")
    os.kill(server.pid_of("broker"), signal.SIGSTOP)
    set_source(api, name, "")
    server.kill9("api")
    server.kill9("broker")
    server.wait_ready()
    ends(there, server, key, sandbox, there.near)


def test_a_broker_that_dies_between_the_rules_and_the_end_of_connections(api, there, server, project):
    name, key = project
    set_source(api, name, there.own[0])
    sandbox = server.api(key=key).create(internet=True)["id"]
    keep_open(there, server.api(key=key), sandbox, "/tmp/kept")
    server.stop()
    server.environment["ATOLL_FAULT"] = "broker:egress-changed:kill"
    server.start(wait=False)
    set_in_store(server, name, "")
    atoll.wait_for(lambda: "snat ip to" not in rules(), 30, "the end of the rules")
    atoll.wait_for(lambda: server.pid_of("broker") is None, 30, "the end of the broker")
    assert tracked(there.own[0]), "the flow has ended too early: nothing is tried"
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()
    ends(there, server, key, sandbox, there.near)


def test_a_broker_that_dies_when_a_server_starts_is_told_again(api, there, server, project):
    name, key = project
    set_source(api, name, there.own[0])
    server.api(key=key).create(internet=True)
    server.stop()
    set_in_store(server, name, "")
    server.environment["ATOLL_FAULT"] = "broker:egress-changed:kill"
    server.start(wait=False)
    brokers = set()

    def seen():
        brokers.add(server.pid_of("broker"))
        return len(brokers - {None}) >= 4
    atoll.wait_for(seen, 40, lambda: brokers)
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()


def tracked(address):
    """Whether the kernel knows something that leaves by this address."""
    with open("/proc/thread-self/net/nf_conntrack", encoding="ascii") as flows:
        return f"dst={address} " in flows.read()
