# SPDX-License-Identifier: Apache-2.0
"""The network of sandboxes in gVisor: it has the rules of native sandboxes, so it passes their tests of addresses and ports.
test_gvisor_names.py and test_gvisor_previews.py do the same with host names and previews."""

import os
import shutil
import socket

import pytest

import atoll
import far
import far6
import gvisor_parts
from test_network_rules import (test_a_list_of_allowed_addresses_is_all_that_is_reached,  # noqa: F401
                                test_rules_change_while_it_runs_and_cut_what_is_under_way,
                                test_what_is_denied_is_out_of_reach_and_all_else_is_not, test_without_rules_all_is_reached, world)
from test_ports import test_each_port_has_its_address_process_and_preview, box  # noqa: F401

pytestmark = [pytest.mark.providers, pytest.mark.needs_root, gvisor_parts.needed,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(provider="gvisor").start()
    yield server
    server.remove_all()


def python(api, sandbox, code, *args, **options):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", "import socket, sys\n" + code, *args], **options)


def test_it_has_an_address_a_route_names_and_low_ports(api):
    with api.sandbox(internet=True) as sandbox:
        assert api.exec(sandbox, "grep -c nameserver /etc/resolv.conf")["stdout"].strip() != "0"
        code = ("print(sorted(name for _, name in socket.if_nameindex()))\ns = socket.create_server(('127.0.0.1', 80))\n"
                "c = socket.create_connection(s.getsockname()); print(c.getpeername()[1])")
        assert python(api, sandbox, code)["stdout"] == "['eth0', 'lo']\n80\n"
        assert far.address_of(api, sandbox).startswith("10.213.")


def test_a_blocked_sandbox_has_loopback_alone_and_of_its_own_kernel(api):
    with api.sandbox(internet=False) as sandbox:
        code = ("print([name for _, name in socket.if_nameindex()])\nd = socket.socket(); d.settimeout(2)\n"
                "print(d.connect_ex(('203.0.113.1', 80)) != 0)")
        assert python(api, sandbox, code)["stdout"] == "['lo']\nTrue\n"


def namespaces(pid, kind):
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def test_gvisors_parts_have_no_power_over_the_agent_or_each_other(server, api):
    """A taken-over part can trace no process of another user namespace: docs/threats.md."""
    with api.sandbox(internet=True):
        parts = gvisor_parts.parts(server)
        agent = gvisor_parts.parent_of(parts["run"])
        assert len({namespaces(pid, "user") for pid in (parts["boot"], parts["gofer"], agent)}) == 3
        assert namespaces(parts["boot"], "net") == namespaces(agent, "net") != namespaces(parts["gofer"], "net")
        assert sorted(os.listdir(f"/proc/{parts['boot']}/root")) == ["etc", "proc"]


@pytest.fixture
def host_listeners():
    """A port and an abstract name on which the host listens."""
    name = f"atoll-gvisor-{os.getpid()}"
    with socket.create_server(("", 0)) as port, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0" + name)
        abstract.listen()
        yield port.getsockname()[1], name


def test_it_reaches_no_listener_of_the_host_and_no_other_sandbox(api, host_listeners):
    port, name = host_listeners
    with api.sandbox(internet=True) as sandbox, api.sandbox(internet=True) as other:
        python(api, other, "import time\ns = socket.create_server(('', 8000))\ntime.sleep(600)", background=True)
        own = "c = socket.socket(); sys.exit(c.connect_ex(('127.0.0.1', 8000)) != 0)"
        atoll.wait_for(lambda: python(api, other, own)["exit_code"] == 0, 30, "the other sandbox's server")
        code = f"""
for address in (("127.0.0.1", {port}), ("169.254.1.1", {port}), ("10.213.0.1", {port}), ("{far.address_of(api, other)}", 8000)):
    s = socket.socket(); s.settimeout(2)
    print(s.connect_ex(address) != 0)
print(socket.socket(socket.AF_UNIX).connect_ex("\\0{name}") != 0)
"""
        assert python(api, sandbox, code, timeout_ms=60000)["stdout"].split() == ["True"] * 5


KINDS = {
    "raw": "socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP",
    "raw of IPv6": "socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6",
    "packet": "socket.AF_PACKET, socket.SOCK_RAW, 768",
    "ping": "socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP",
    "sctp": "socket.AF_INET, socket.SOCK_STREAM, 132",
    "vsock": "socket.AF_VSOCK, socket.SOCK_STREAM, 0",
    "firewall": "socket.AF_NETLINK, socket.SOCK_RAW, 12",
}


@pytest.mark.parametrize("kind", KINDS)
def test_sockets_are_of_tcp_and_udp_alone(api, hostile, kind):
    answer = python(api, hostile, f"socket.socket({KINDS[kind]})", user="root")
    assert answer["exit_code"] == 1 and "OSError" in answer["stderr"], answer


@pytest.fixture(scope="module")
def hostile(server):
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        yield sandbox
    api.close()


@pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")
def test_it_has_ipv6_and_its_rules():
    with far6.running(provider="gvisor") as (_, server):
        api = server.api()
        with api.sandbox(internet=True) as sandbox:
            assert far6.reached(api, sandbox, far6.FIRST, far6.PRIVATE) == {far6.FIRST: far6.OPEN, far6.PRIVATE: far6.CLOSED}
            api.call("PUT", f"/api/sandbox/instances/{sandbox}/egress", {"allow": [far6.SECOND], "deny": ["0.0.0.0/0"]})
            assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.OPEN}
