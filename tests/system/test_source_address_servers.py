# SPDX-License-Identifier: Apache-2.0
"""Two servers on one store, of which only one has the source address of a project."""

import contextlib
import ctypes
import os
import subprocess

import pytest

import atoll
import far
import postgres
from test_egress_quota import new_project
from test_postgres import remove_own
from test_source_address import There, pytestmark, set_source, who_came  # noqa: F401

PATH = "/api/sandbox/instances"


class Elsewhere(atoll.Server):
    """A server on another host: this thread enters its network for each call."""

    def __init__(self, network, flags):
        super().__init__(flags=flags)
        self.network = network

    def api(self, key=None, timeout=60):
        return Calls(self.network, "127.0.0.1", self.port, key or self.key, timeout)


class Calls(atoll.Api):
    def __init__(self, network, *arguments):
        super().__init__(*arguments)
        self.network = network

    def open(self, *arguments, **options):
        with entered(self.network):
            return super().open(*arguments, **options)


@contextlib.contextmanager
def entered(network):
    """This thread is in another network for as long as the block runs."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    library = ctypes.CDLL(None, use_errno=True)
    try:
        assert library.setns(network, far.CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert library.setns(before, far.CLONE_NEWNET) == 0
        os.close(before)


@contextlib.contextmanager
def two_hosts(database):
    """The first server is in a network of its own, as on another host."""
    with far.own_network(), contextlib.closing(There()) as there:
        network = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there.own = there.near.rsplit(".", 1)[0] + ".51"
        subprocess.run(["ip", "addr", "add", f"{there.own}/24", "dev", there.link], check=True)
        has = Elsewhere(network, flags_of(database, there, 0)).start()
        with far.own_network(), contextlib.closing(There()) as other:
            lacks = atoll.Server(flags=flags_of(database, other, 1)).start()
            try:
                yield (has, lacks), (there, other)
            finally:
                remove_own(lacks)
        remove_own(has)
        os.close(network)


def flags_of(database, there, number):
    return ["--store", database.dsn, "--network-subnet", f"10.{236 + number}.0.0/16", "--cells", "1", "--network-nameservers", there.addresses[0]]


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as why:
        call(*arguments, **options)
    return why.value


def test_only_the_server_that_has_the_address_makes_sandboxes_of_the_project():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database = postgres.Postgres()
    try:
        with two_hosts(database) as ((has, lacks), (there, other_there)):
            admin, api = new_project(has)
            other = lacks.api(api.key)
            early = other.create(internet=True)["id"]
            ruled = other.create(internet=True, egress={"allow": ["allowed.test"], "deny": ["0.0.0.0/0"]})["id"]
            assert who_came(other_there, other, early)[0] == {other_there.near}
            why = refused(set_source, lacks.api(), api.project, there.own)
            assert why.status == 409 and f"this host does not have the source address {there.own}" in why.message, why
            set_source(admin, api.project, there.own)
            with api.sandbox(internet=True) as sandbox:
                assert who_came(there, api, sandbox)[0] == {there.own}
            why = refused(other.create, internet=True)
            assert why.status == 409 and f"this host does not have the source address {there.own} of the project" in why.message, why
            assert "use a server whose host has it" in why.hint, why
            other.remove(other.create(internet=False)["id"])
            # Those that the other server has already reach nothing, within two ticks.
            atoll.wait_for(lambda: not who_came(other_there, other, early)[0], 20, "the change")
            result = who_came(other_there, other, ruled, 'print(http("allowed.test"))')[1]
            assert {row["code"] for row in result["network"]} == {"source-address-missing"}, result
            for one in (early, ruled):
                assert other.get(f"{PATH}/{one}/egress/check?host=allowed.test")["code"] == "source-address-missing"
            set_source(admin, api.project, "")
            atoll.wait_for(lambda: who_came(other_there, other, early)[0] == {other_there.near}, 20, other_there.came)
            other.remove(early)
            other.remove(ruled)
    finally:
        database.remove()
