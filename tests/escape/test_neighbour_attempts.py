# SPDX-License-Identifier: Apache-2.0
"""The attempts on neighbours and on the host by IPv4 and IPv6: between sandboxes they are held, and between two machines on one link they get
through, so that an attempt that tries nothing fails here."""

import contextlib
import json
import os
import shutil
import subprocess

import pytest

import atoll
import far6

pytestmark = [pytest.mark.needs_root, pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
ATTEMPTS = atoll.BUILD / "atoll-attempts"
WORD = "atoll-near"


def attempt(name, argument, inside=()):
    result = subprocess.run([*inside, ATTEMPTS, name, argument], capture_output=True, text=True, timeout=60, check=False)
    return result.returncode, result.stdout


@contextlib.contextmanager
def two_machines():
    """Two network namespaces on one link, as containers on a bridge are; yields how to run in each."""
    with subprocess.Popen(["unshare", "-n", "sleep", "600"]) as first, subprocess.Popen(["unshare", "-n", "sleep", "600"]) as second:
        try:
            for process in (first, second):
                atoll.wait_for(lambda p=process: os.readlink(f"/proc/{p.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 15, "a network namespace")
            both = [["nsenter", "-t", str(process.pid), "-n"] for process in (first, second)]
            far6.ip("link", "add", "near0", "type", "veth", "peer", "name", "near0", "netns", str(second.pid), inside=both[0])
            for number, inside in enumerate(both):
                for words in (["link", "set", "lo", "up"], ["link", "set", "near0", "up"], ["addr", "add", f"192.0.2.{number + 1}/24", "dev", "near0"],
                              ["addr", "add", f"fd00:9::{number + 1}/64", "dev", "near0", "nodad"]):
                    far6.ip(*words, inside=inside)

            def is_ready():
                return all("tentative" not in subprocess.run([*inside, "ip", "-6", "addr"], capture_output=True, text=True, check=True).stdout for inside in both)
            atoll.wait_for(is_ready, 15, "addresses")
            yield both
        finally:
            first.kill()
            second.kill()


@contextlib.contextmanager
def neighbour(inside):
    """The addresses that it prints."""
    served = subprocess.run([*inside, ATTEMPTS, "--serve", WORD], capture_output=True, text=True, timeout=30, check=True)
    try:
        yield served.stdout.strip().split(",")
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid_of(WORD), 9)
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/home/user", "/run"):
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}/{WORD}")


def pid_of(name):
    for comm in atoll.proc_files("comm"):
        with contextlib.suppress(OSError):
            if comm.read_text().strip() == name:
                return int(comm.parent.name)
    raise ProcessLookupError(name)


def test_between_machines_on_one_link_each_way_gets_through():
    with two_machines() as (first, second), neighbour(first) as addresses:
        port = addresses[0].rsplit(":", 1)[1]
        linked, = (a for a in addresses if a.startswith("[fe80::"))
        assert f"192.0.2.1:{port}" in addresses and f"[fd00:9::1]:{port}" in addresses, addresses
        for one in (f"192.0.2.1:{port}", f"[fd00:9::1]:{port}", linked):
            status, out = attempt("connect_to_neighbour", one, second)
            assert status == 1 and "through: connected to" in out, out
        # Where no connection is accepted, all hosts of the link are asked: the address of another machine does not answer.
        far6.ip("addr", "flush", "dev", "near0", "scope", "global", inside=second)
        status, out = attempt("connect_to_neighbour", f"[fd00:9::1]:{port}", second)
        assert status == 1 and "through: a datagram was answered by IPv6" in out, out
        far6.ip("addr", "add", "192.0.2.2/24", "dev", "near0", inside=second)
        far6.ip("-6", "addr", "flush", "dev", "near0", inside=second)
        far6.ip("route", "add", "255.255.255.255", "dev", "near0", inside=second)
        status, out = attempt("connect_to_neighbour", f"203.0.113.9:{port}", second)
        assert status == 1 and "through: a datagram was answered by IPv4" in out, out
        # Nothing listens there.
        assert attempt("connect_to_host", f"192.0.2.1:{int(port) ^ 1},[fd00:9::1]:{int(port) ^ 1}", second)[0] == 0


def test_an_ipv4_address_is_tried_in_ipv6_addresses_too():
    out = attempt("connect_to_host", "192.0.2.200:9")[1]
    for form in ("192.0.2.200:9", "[::ffff:192.0.2.200]:9", "[64:ff9b::c000:2c8]:9", "[64:ff9b:1::c000:2c8]:9", "[2002:c000:2c8::1]:9"):
        assert f"{form}: " in out, out
    assert "fe80::5efe:c000:2c8%" in out or "fe80::5efe:192.0.2.200%" in out, out


def test_a_metadata_service_of_ipv6_is_found():
    with two_machines() as (first, second):
        for address in ("fd00:ec2::254/128", "fe80::a9fe:a9fe/64"):
            far6.ip("addr", "add", address, "dev", "near0", "nodad", inside=first)
            far6.ip("-6", "route", "replace", "default", "dev", "near0", inside=second)
            with subprocess.Popen([*first, "/usr/bin/python3", "-c", "import socket\ns = socket.create_server(('::', 80), family=socket.AF_INET6)\n"
                                   "print('ready', flush=True)\nwhile True: s.accept()"], stdout=subprocess.PIPE, text=True) as service:
                try:
                    assert service.stdout.readline() == "ready\n"
                    status, out = attempt("reach_metadata_service", "", second)
                    assert status == 1 and f"a metadata address answered: [{address.split('/')[0]}" in out, out
                finally:
                    service.kill()
            far6.ip("addr", "del", address, "dev", "near0", inside=first)


needs_ipv6 = pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")


@needs_ipv6
def test_the_check_holds_on_a_host_with_ipv6():
    """With the traps of the check on the host's own addresses, and a neighbour of both families."""
    with far6.running() as (_, server):
        result = server.cli("check", "isolation", "--provider", "native", "--json", timeout=300)
        found = {row["id"]: row for provider in json.loads(result.stdout)["providers"] for row in provider["attempts"]}
        for name in ("connect_to_host", "reach_metadata_service", "connect_to_neighbour"):
            assert found[name]["outcome"] == "held", found[name]


@needs_ipv6
@pytest.mark.parametrize("user", ["root", "user"])
def test_sandboxes_with_ipv6_hold_what_gets_through_between_machines(user):
    with far6.running() as (_, server), subprocess.Popen(
            ["/usr/bin/python3", "-c", f"import socket\ns = socket.create_server(('::', {far6.TCP}), family=socket.AF_INET6, dualstack_ipv6=True)\n"
             "print('ready', flush=True)\nwhile True: print(s.accept()[1][0], flush=True)"], stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout.readline() == "ready\n"
            api = server.api()
            with api.sandbox(internet=True) as first, api.sandbox(internet=True) as second:
                for sandbox in (first, second):
                    api.write(sandbox, "/home/user/atoll-attempts", ATTEMPTS.read_bytes(), mode="0755")

                def run(sandbox, *words):
                    return api.exec(sandbox, cmd="/home/user/atoll-attempts", args=list(words), user=user, timeout_ms=60000)
                addresses = run(first, "--serve", WORD)["stdout"].strip()
                assert "10.213." in addresses and "[fd61:" in addresses, addresses
                # It answers to its own sandbox, so that silence says something.
                assert run(first, "connect_to_neighbour", addresses)["exit_code"] == 1
                result = run(second, "connect_to_neighbour", addresses)
                assert result["exit_code"] == 0 and "held: " in result["stdout"], result
                link = subprocess.run(["ip", "-6", "-o", "addr", "show", "dev", "uplink", "scope", "link"], capture_output=True, text=True, check=True).stdout.split()[3]
                own = [far6.HOST, link.split("/")[0], "fe80::1", "::1", "::ffff:192.0.2.2"]
                listeners = ",".join([f"192.0.2.2:{far6.TCP}", *(f"[{address}]:{port}" for address in own for port in (far6.TCP, server.port))])
                result = run(second, "connect_to_host", listeners)
                assert result["exit_code"] == 0 and "held: " in result["stdout"], result
                assert run(second, "reach_metadata_service")["exit_code"] == 0
        finally:
            host.kill()
        assert host.stdout.read() == ""
