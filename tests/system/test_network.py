# SPDX-License-Identifier: Apache-2.0
"""Blocked means loopback only; internet means NAT with private and link-local ranges refused."""

import shutil
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root


def registry_reason():
    """Why no package registry can be reached from here, or None."""
    if not shutil.which("apt-get"):
        return "no apt-get on this machine"
    probe = subprocess.run(["apt-get", "update", "-qq", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=5",
                            "-o", "APT::Update::Error-Mode=any"], capture_output=True, text=True)
    return None if probe.returncode == 0 else "no package registry can be reached: " + probe.stderr.strip()[-100:]


def test_blocked_has_loopback_only(api):
    with api.sandbox(internet=False) as sandbox:
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", (
            "import socket, os\nprint(sorted(os.listdir('/sys/class/net')) if os.path.isdir('/sys/class/net') else "
            "[n for _, n in socket.if_nameindex()])\ns=socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
            "c=socket.create_connection(s.getsockname()); print('loopback works')\n"
            "d=socket.socket(); d.settimeout(2); print(d.connect_ex(('203.0.113.1', 80)) != 0)")])
        assert result["stdout"] == "['lo']\nloopback works\nTrue\n", result


def test_low_ports_can_be_bound_and_ping_sockets_work(api):
    with api.sandbox(internet=False) as sandbox:
        code = ("import socket\ns=socket.socket(); s.bind(('0.0.0.0', 80)); print('bound')\n"
                "p=socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); print('ping')")
        assert api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", code])["stdout"] == "bound\nping\n"


def test_internet_has_an_address_a_route_and_names(api):
    with api.sandbox(internet=True) as sandbox:
        result = api.exec(sandbox, "cat /etc/resolv.conf; cat /proc/net/route | awk 'NR>1{print $2}'")
        assert "nameserver" in result["stdout"] and "00000000" in result["stdout"]


def test_a_registry_is_reached_through_nat(api):
    reason = registry_reason()
    if reason:
        pytest.skip(reason)
    target = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)"], capture_output=True, text=True
                            ).stdout.split()[0]
    host = target.split("//")[1].split("/")[0]
    with api.sandbox(internet=True) as sandbox:
        code = ("import socket, sys\na = socket.getaddrinfo(sys.argv[1], 80)[0][4]\n"
                "s = socket.create_connection(a, 10)\n"
                "s.sendall(b'HEAD / HTTP/1.0\\r\\nHost: ' + sys.argv[1].encode() + b'\\r\\n\\r\\n')\nprint(s.recv(8))")
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", code, host], timeout_ms=30000)
        assert "HTTP" in result["stdout"], result


def test_traffic_is_counted(api):
    reason = registry_reason()
    if reason:
        pytest.skip(reason)
    with api.sandbox(internet=True) as sandbox:
        api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", (
            "import socket\ns=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(50): s.sendto(b'x'*500, ('203.0.113.1', 9))")])
        stats = api.get(f"/api/sandbox/instances/{sandbox}/stats")
        assert stats["network_out_bytes"] > 20000


def test_blocking_is_the_default_of_no_one_but_sessions(api):
    made = api.post("/api/sandbox/instances", {"template": "host"})
    try:
        assert made["network"] == "internet"
    finally:
        api.remove(made["id"])


def host_routes():
    """Addresses of sandboxes that have a link into the host's network."""
    lines = [line for family in ("-4", "-6")
             for line in subprocess.run(["ip", "-o", family, "route"], capture_output=True, text=True, check=True).stdout.splitlines()]
    return {line.split()[0] for line in lines if " dev atoll" in line}


def test_the_network_of_one_that_ended_ends_beside_its_neighbours(private_server):
    """Sandboxes are made in batches: none may hold on to the network of the one that was made before it."""
    api = private_server.start().api()
    made = [api.create(internet=True)["id"] for _ in range(12)]
    addresses = {one: set(api.exec(one, "hostname -I")["stdout"].split()) for one in made}
    ended, alive = made[::2], made[1::2]
    assert set.union(*addresses.values()) <= host_routes()
    for one in ended:
        api.remove(one)
    atoll.wait_for(lambda: not set.union(*(addresses[one] for one in ended)) & host_routes(), 20, "the end of their networks")
    assert set.union(*(addresses[one] for one in alive)) <= host_routes()
    assert all(api.exec(one, "echo here")["stdout"] == "here\n" for one in alive)


def test_two_servers_share_a_machine():
    first, second = atoll.Server().start(), atoll.Server().start()
    try:
        a, b = first.api().create(internet=True), second.api().create(internet=True)
        addresses = [s.api().exec(m["id"], "cat /proc/self/uid_map /proc/net/fib_trie | grep -E '^ +0|/32 host'; true")
                     ["stdout"] for s, m in ((first, a), (second, b))]
        assert addresses[0] != addresses[1]
    finally:
        first.remove_all()
        assert second.api().exec(b["id"], "echo still")["stdout"] == "still\n"
        second.remove_all()
