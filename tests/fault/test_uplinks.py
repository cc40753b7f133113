# SPDX-License-Identifier: Apache-2.0
"""kill -9 while uplinks are made to forward for sandboxes, and an administrator who empties nftables meanwhile: no uplink forwards for
others, and none is forgotten, so that the last server can end it. All of it happens in a network namespace of this test's own."""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import atoll
import far
import far6
from test_kills import named_steps

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
STEPS = [step for step in named_steps("broker", r'fault_point\("broker", ') if step.startswith("uplink-")]


def forwards():
    return far6.sysctl("uplink/force_forwarding") == "1"


def listing(what, family=6):
    return subprocess.run(["nft", "list", what, "inet", "atoll", {"set": "forced", "chain": "forward"}[what] + str(family)],
                          capture_output=True, text=True, check=False).stdout


def is_guarded(family=6):
    return '"uplink"' in listing("set", family) and f"iifname @forced{family}" in listing("chain", family)


def is_known():
    return far6.note_path().exists()


ROUTER_OPTION = pathlib.Path("/proc/sys/net/ipv4/ip_forward")


@pytest.fixture
def there():
    if far6.obstacle():
        pytest.skip(far6.obstacle())
    with far.own_network(), contextlib.closing(far6.Far6()) as beyond:
        ROUTER_OPTION.write_text("1")  # the steps below are those of IPv6
        yield beyond


@pytest.fixture
def server(there):
    server = atoll.Server(flags=["--network-nameservers", far6.ROUTER4])
    yield server
    server.environment.pop("ATOLL_FAULT", None)
    server.remove_all()


def reaches(server):
    # The broker that was killed may still have had the request.
    with contextlib.suppress(atoll.ApiError), server.api().sandbox(internet=True) as sandbox:
        return far6.reached(server.api(), sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


# In place of the program nft: as on a kernel that lacks what a rule of the script needs.
NFT = """#!/bin/sh
script=$(cat)
case "$script" in *"{lacks}"*) echo "Error: Could not process rule: No such file or directory" >&2; exit 1;; esac
printf '%s\\n' "$script" | {nft} "$@"
"""


@contextlib.contextmanager
def server_whose_nft_lacks(words, folder, **options):
    """The server sees a mount namespace of its own, so that other programs do not have this nft."""
    nft = folder / "nft"
    shutil.copy(shutil.which("nft"), folder / "real")
    nft.write_text(NFT.format(lacks=words, nft=folder / "real"))
    nft.chmod(0o755)
    server = atoll.Server(flags=["--network-nameservers", far6.ROUTER4], before=[
        "unshare", "-m", "sh", "-c", f'mount --make-rprivate / && mount --bind {nft} {os.path.realpath(shutil.which("nft"))} && exec "$@"', "sh"], **options)
    try:
        yield server
    finally:
        server.remove_all()


def end_hard(server):
    """All processes of the server at once, as when the machine's memory is full."""
    os.killpg(server.process.pid, 9)
    server.process.wait()


def test_the_steps_are_known():
    assert STEPS == ["uplink-forced", "uplink-guarded", "uplink-noted", "uplink-released"]


@pytest.mark.parametrize("step", atoll.sample([step for step in STEPS if step != "uplink-released"], always=["uplink-guarded"]))
def test_a_broker_that_dies_at_a_step_leaves_no_uplink_that_forwards_for_others(server, step):
    server.environment["ATOLL_FAULT"] = f"broker:{step}:kill"
    server.start(wait=False)
    reached_it = {"uplink-noted": is_known, "uplink-guarded": is_guarded, "uplink-forced": forwards}[step]
    atoll.wait_for(reached_it, 20, step)
    end_hard(server)
    assert not forwards() or (is_guarded() and is_known())
    del server.environment["ATOLL_FAULT"]
    server.start()
    assert reaches(server) and forwards() and is_guarded() and is_known()


def test_a_flush_while_no_server_runs_loses_neither_the_rule_nor_whose_option_it_is(server):
    server.start()
    assert reaches(server) and forwards() and is_guarded()
    end_hard(server)
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    server.start()
    assert forwards() and is_guarded() and is_known() and reaches(server)


@pytest.mark.parametrize("flags", [["--network-ipv6", "off"], ["--network-proxy", f"http://{far6.ROUTER4}:3128"]])
def test_a_server_without_ipv6_guards_what_one_before_it_has_let_forward(server, flags):
    """Or ends it, if it is the only one on the host: one of a test beside this one may run."""
    server.start()
    assert reaches(server) and forwards()
    server.stop()
    pathlib.Path("/proc/sys/net/ipv6/conf/uplink/force_forwarding").write_text("1")
    far6.note_path().touch()
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    server.flags += flags
    server.start()
    assert not reaches(server)
    assert not forwards() or (is_guarded() and is_known())
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    atoll.wait_for(lambda: not forwards() or is_guarded(), 15, "the rule that guards the uplink")


def test_where_the_rules_are_lost_for_good_the_uplink_is_guarded_or_does_not_forward(server):
    server.environment["ATOLL_FAULT"] = "broker:rules-restore:fail"
    server.start()
    assert reaches(server) and forwards()
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    atoll.wait_for(lambda: "sandboxes are cut off" in server.log_text(), 20, server.log_text)
    assert not forwards() or is_guarded()


def test_a_host_that_becomes_a_router_forwards_for_others_again(server):
    """Docker and libvirt turn on net.ipv6.conf.all.forwarding."""
    server.start()
    assert reaches(server) and forwards()
    router = pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding")
    router.write_text("1")
    server.kill9("broker")
    server.wait_ready()
    atoll.wait_for(lambda: reaches(server), 20, "IPv6 of sandboxes")
    assert not forwards() and not is_known() and '"uplink"' not in listing("set")
    router.write_text("0")


def test_a_broker_that_dies_while_it_ends_the_forwarding_is_followed_by_one_that_does(server):
    server.start()
    assert reaches(server)
    server.stop()
    router = pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding")
    server.start()
    end_hard(server)
    router.write_text("1")
    server.environment["ATOLL_FAULT"] = "broker:uplink-released:kill"
    server.start(wait=False)
    atoll.wait_for(lambda: not forwards(), 20, "the end of forwarding")
    assert is_known()
    end_hard(server)
    del server.environment["ATOLL_FAULT"]
    server.start()
    assert not forwards() and not is_known()


def test_what_an_administrator_lets_forward_stays_as_it_is(server):
    option = pathlib.Path("/proc/sys/net/ipv6/conf/uplink/force_forwarding")
    option.write_text("1")
    server.start()
    assert reaches(server) and not is_guarded() and not is_known()
    server.stop()
    assert forwards()
    option.write_text("0")


IPV4 = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.connect(("{far6.ROUTER4}", 53))
s.send(bytes.fromhex("000701000001000000000000") + b"\\3six\\4test\\0\\0\\x1c\\0\\1"); print(len(s.recv(999)) > 12)
"""


@pytest.mark.parametrize("lacks", ["fib saddr", "after6 ip6 saddr", "iifname @forced6"])
def test_a_kernel_that_lacks_what_the_rules_need_gives_ipv4_alone(there, tmp_path, lacks):
    """The expression fib, NAT of IPv6, and what the guard of an uplink needs."""
    with server_whose_nft_lacks(lacks, tmp_path) as server:
        api = server.start().api()
        with api.sandbox(internet=True) as sandbox:
            assert far6.own_address(api, sandbox) is None
            assert api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", IPV4])["stdout"] == "True\n"
        assert "sandboxes have no IPv6" in server.log_text() and "Could not process rule" in server.log_text(), server.log_text()
        # A server of a test beside this one keeps the uplink as it is.
        assert not forwards() or (is_guarded() and is_known())


def test_a_running_server_follows_a_host_that_becomes_a_router_and_ends_being_one(server, there):
    server.start()
    router = pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding")
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        for _ in range(2):
            router.write_text("1")
            atoll.wait_for(lambda: not forwards() and not is_known() and '"uplink"' not in listing("set"), 15, "the end of forwarding")
            assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN} and reaches(server)
            router.write_text("0")
            atoll.wait_for(lambda: forwards() and is_known() and is_guarded(), 15, "forwarding for sandboxes")
            assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN} and reaches(server)


def test_an_administrator_who_writes_that_the_host_is_no_router_ends_no_ipv6(server, there):
    """0 over 0, as `sysctl --system` does it: the kernel takes force_forwarding from all interfaces, and sends no message."""
    server.start()
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        for _ in range(2):
            pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("0")
            atoll.wait_for(forwards, 15, "forwarding for sandboxes")
            assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN} and is_guarded() and is_known()


def test_what_is_reset_while_no_broker_runs_is_set_again_for_sandboxes_that_live(server, there):
    server.start()
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        server.stop()
        pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("0")
        api = server.start().api()
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


def test_a_default_route_that_comes_late_gives_new_sandboxes_ipv6(server, there):
    far6.ip("-6", "route", "del", "default")
    server.start()
    assert not reaches(server) and not forwards()
    far6.ip("-6", "route", "add", "default", "via", far6.ROUTER)
    atoll.wait_for(lambda: reaches(server), 20, "IPv6 of sandboxes")
    assert forwards() and is_guarded() and is_known()


def test_a_default_route_that_moves_to_another_interface_takes_the_forwarding_along(server, there):
    server.start()
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        far6.ip("link", "add", "later", "type", "veth", "peer", "name", "beyond6", "netns", str(there.process.pid))
        inside = ["nsenter", "-t", str(there.process.pid), "-n"]
        for words, where in ((["addr", "add", "2600:eeee::1/64", "dev", "beyond6", "nodad"], inside), (["link", "set", "beyond6", "up"], inside),
                             (["addr", "add", "2600:eeee::2/64", "dev", "later", "nodad"], []), (["link", "set", "later", "up"], []),
                             (["-6", "route", "replace", "default", "via", "2600:eeee::1", "dev", "later"], [])):
            far6.ip(*words, inside=where)
        expected = {far6.FIRST: ["hello_2600:eeee::2", "pong"]}
        atoll.wait_for(lambda: far6.reached(api, sandbox, far6.FIRST) == expected, 20, "the way by the other interface")
        assert '"later"' in listing("set") and far6.sysctl("later/force_forwarding") == "1"
    # One that is gone is forgotten: a link that is made again and again, such as that of a modem, has another name each time.
    far6.ip("link", "del", "later")
    far6.ip("-6", "route", "add", "default", "via", far6.ROUTER)
    atoll.wait_for(lambda: is_known() and reaches(server), 20, "the way by the first interface")
    server.kill9("broker")
    atoll.wait_for(lambda: not far6.note_path("later").exists(), 20, "the note to go")


# The same by IPv4, where the option of an interface is also what a router has.

@pytest.fixture
def there4():
    with far.own_network(), contextlib.closing(far6.Far6()) as beyond:
        ROUTER_OPTION.write_text("0")
        yield beyond


@pytest.fixture
def server4(there4):
    server = atoll.Server(flags=["--network-nameservers", far6.ROUTER4, "--network-ipv6", "off"])
    yield server
    server.environment.pop("ATOLL_FAULT", None)
    server.remove_all()


def forwards4(link="uplink"):
    return subprocess.run(["cat", f"/proc/sys/net/ipv4/conf/{link}/forwarding"], capture_output=True, text=True, check=True).stdout == "1\n"


def is_safe4():
    """The uplink forwards for sandboxes alone, and the note says that the option is Atoll's."""
    return not forwards4() or (is_guarded(4) and is_known4())


def is_known4(link="uplink"):
    return far6.note_path(link, 4).exists()


def is_forced4():
    return forwards4() and is_guarded(4) and is_known4()


def asks(api, sandbox):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", IPV4])["stdout"] == "True\n"


def reaches4(server):
    with contextlib.suppress(atoll.ApiError), server.api().sandbox(internet=True) as sandbox:
        return asks(server.api(), sandbox)


def is_only_server():
    """Of all on this host: servers of tests beside this one share the lock. Read, not taken: that would tell them that they are not the last."""
    try:
        inode = os.stat("/run/atoll/instances.lock").st_ino
    except FileNotFoundError:
        return True
    return not any(line.split()[-3].endswith(f":{inode}") for line in pathlib.Path("/proc/locks").read_text().splitlines())


@pytest.fixture
def third_party(there4):
    """Sends datagrams through the host to another network of it; returns how many the host has forwarded."""
    for words in (["link", "add", "inner", "type", "veth", "peer", "name", "behind"], ["addr", "add", "198.18.77.1/24", "dev", "inner"]):
        far6.ip(*words)
    for link in ("inner", "behind"):
        pathlib.Path(f"/proc/sys/net/ipv6/conf/{link}/disable_ipv6").write_text("1")
        far6.ip("link", "set", link, "up")
    far6.ip("neigh", "add", "198.18.77.2", "lladdr", "02:00:00:00:00:02", "dev", "inner", "nud", "permanent")
    inside = ["nsenter", "-t", str(there4.process.pid), "-n"]
    far6.ip("route", "add", "198.18.77.0/24", "via", "192.0.2.2", inside=inside)

    def count():
        return json.loads(subprocess.run(["ip", "-s", "-j", "link", "show", "behind"], capture_output=True, check=True).stdout)[0]["stats64"]["rx"]["packets"]

    def send():
        before = count()
        subprocess.run([*inside, sys.executable, "-c", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                        "for _ in range(5): s.sendto(b'ping', ('198.18.77.2', 9))"], check=True)
        return count() - before
    return send


def test_an_uplink_forwards_ipv4_for_sandboxes_and_nobody_else(server4, third_party):
    option = pathlib.Path("/proc/sys/net/ipv4/conf/uplink/forwarding")
    option.write_text("1")
    assert third_party() == 5
    option.write_text("0")
    assert third_party() == 0
    server4.start()
    assert reaches4(server4) and is_forced4() and ROUTER_OPTION.read_text() == "0\n"
    assert third_party() == 0
    end_hard(server4)
    assert third_party() == 0 and is_forced4()
    server4.start()
    assert third_party() == 0 and reaches4(server4)
    server4.stop()
    assert third_party() == 0 and is_safe4()


@pytest.mark.parametrize("step", atoll.sample([step for step in STEPS if step != "uplink-released"], always=["uplink-guarded"]))
def test_a_broker_that_dies_at_a_step_leaves_no_uplink_that_forwards_ipv4_for_others(server4, third_party, step):
    server4.environment["ATOLL_FAULT"] = f"broker:{step}:kill"
    server4.start(wait=False)
    reached_it = {"uplink-noted": is_known4, "uplink-guarded": lambda: is_guarded(4), "uplink-forced": forwards4}[step]
    atoll.wait_for(reached_it, 20, step)
    end_hard(server4)
    assert is_safe4() and third_party() == 0
    del server4.environment["ATOLL_FAULT"]
    server4.start()
    assert reaches4(server4) and is_forced4()


def test_a_flush_of_nftables_loses_neither_the_rule_of_ipv4_nor_whose_option_it_is(server4, third_party):
    server4.start()
    assert reaches4(server4) and is_forced4()
    end_hard(server4)
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    server4.start()
    assert is_forced4() and third_party() == 0 and reaches4(server4)
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    atoll.wait_for(is_forced4, 15, "the rule that guards the uplink")
    assert third_party() == 0 and reaches4(server4)


def test_the_last_server_ends_the_forwarding_of_ipv4(server4, there4):
    server4.start()
    assert reaches4(server4) and is_forced4()
    server4.stop()
    if is_only_server():
        assert not forwards4() and not is_known4()
    assert is_safe4()


def test_a_broker_that_dies_while_it_releases_the_uplink_of_a_router_is_followed_by_one_that_does(server4, third_party):
    server4.start()
    end_hard(server4)
    ROUTER_OPTION.write_text("1")
    server4.environment["ATOLL_FAULT"] = "broker:uplink-released:kill"
    server4.start(wait=False)
    atoll.wait_for(lambda: server4.log_text().count("starting it again process=atoll-broker") > 1, 20, server4.log_text)
    end_hard(server4)
    assert forwards4() and is_known4() and is_guarded(4)
    del server4.environment["ATOLL_FAULT"]
    server4.start()
    assert forwards4() and not is_known4() and not is_guarded(4) and third_party() == 5


def test_a_default_route_that_comes_back_lets_the_uplink_forward_ipv4_again(server4, third_party):
    server4.start()
    end_hard(server4)
    far6.ip("route", "del", "default")
    server4.start()
    assert is_safe4() and third_party() == 0
    far6.ip("route", "add", "default", "via", far6.ROUTER4)
    atoll.wait_for(is_forced4, 20, "forwarding for sandboxes")
    assert third_party() == 0 and reaches4(server4)


@pytest.mark.parametrize("option", ["ip_forward", "conf/uplink/forwarding"])
def test_what_forwards_ipv4_without_atoll_stays_as_it_is(server4, third_party, option):
    path = pathlib.Path("/proc/sys/net/ipv4") / option
    path.write_text("1")
    pathlib.Path("/proc/sys/net/ipv4/conf/inner/forwarding").write_text("1")
    server4.start()
    assert reaches4(server4) and not is_guarded(4) and not is_known4() and third_party() == 5
    server4.stop()
    assert forwards4() and path.read_text() == "1\n" and third_party() == 5


def test_a_router_whose_uplink_does_not_forward_is_not_changed(server4, there4):
    ROUTER_OPTION.write_text("1")
    pathlib.Path("/proc/sys/net/ipv4/conf/uplink/forwarding").write_text("0")
    server4.start()
    assert not forwards4() and not is_known4() and "an interface with a default route does not forward IPv4" in server4.log_text()


def test_a_running_server_follows_a_host_that_becomes_a_router_of_ipv4_and_ends_being_one(server4, third_party):
    server4.start()
    api = server4.api()
    with api.sandbox(internet=True) as sandbox:
        assert asks(api, sandbox) and third_party() == 0
        for _ in range(2):
            ROUTER_OPTION.write_text("1")
            atoll.wait_for(lambda: not is_known4() and not is_guarded(4), 15, "the end of the guard")
            assert forwards4() and third_party() == 5 and asks(api, sandbox) and reaches4(server4)
            ROUTER_OPTION.write_text("0")
            atoll.wait_for(is_forced4, 15, "forwarding for sandboxes")
            assert third_party() == 0
            atoll.wait_for(lambda: asks(api, sandbox), 15, "the network of a sandbox that runs")
            assert reaches4(server4)


def test_a_host_that_becomes_a_router_of_ipv4_while_no_server_runs_stays_one(server4, third_party):
    server4.start()
    assert is_forced4()
    end_hard(server4)
    ROUTER_OPTION.write_text("1")
    server4.start()
    assert not is_known4() and not is_guarded(4) and third_party() == 5 and reaches4(server4)
    server4.stop()
    assert forwards4() and third_party() == 5


def test_ipv4_that_is_reset_while_no_broker_runs_is_set_again_for_sandboxes_that_live(server4, there4):
    server4.start()
    api = server4.api()
    with api.sandbox(internet=True) as sandbox:
        assert asks(api, sandbox)
        server4.stop()
        ROUTER_OPTION.write_text("1")
        ROUTER_OPTION.write_text("0")
        assert not forwards4()
        api = server4.start().api()
        assert asks(api, sandbox) and is_forced4()


def test_an_uplink_that_an_administrator_stops_forwards_ipv4_again(server4, there4):
    server4.start()
    assert is_forced4()
    pathlib.Path("/proc/sys/net/ipv4/conf/uplink/forwarding").write_text("0")
    atoll.wait_for(is_forced4, 15, "forwarding for sandboxes")
    assert reaches4(server4)


def test_without_what_the_guard_needs_no_uplink_forwards_ipv4(there4, tmp_path):
    with server_whose_nft_lacks("iifname @forced4", tmp_path) as server:
        server.start()
        assert "Could not process rule" in server.log_text() and not forwards4() and not is_known4(), server.log_text()
        assert not reaches4(server)
