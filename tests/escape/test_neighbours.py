# SPDX-License-Identifier: Apache-2.0
"""Two sandboxes beside each other: neither sees the other's files, processes, sockets or key."""

import pytest

import atoll

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def pair(server):
    api = server.api()
    first, second = api.create(internet=True), api.create(internet=True)
    yield api, first["id"], second["id"]
    for made in (first, second):
        api.remove(made["id"])
    api.close()


def test_files_are_not_shared(pair):
    api, first, second = pair
    api.exec(first, "echo secret > /home/user/secret; echo secret > /tmp/secret; echo secret > /dev/shm/secret")
    result = api.exec(second, "cat /home/user/secret /tmp/secret /dev/shm/secret")
    assert "secret\n" not in result["stdout"]
    assert result["exit_code"] != 0


def test_root_cannot_change_what_others_start_from(pair):
    api, first, second = pair
    api.exec(first, "echo changed > /etc/atoll-test; echo changed >> /etc/passwd; rm -f /usr/bin/env", user="root")
    assert api.exec(second, "test -x /usr/bin/env && ! test -e /etc/atoll-test && ! grep -q changed /etc/passwd"
                    )["exit_code"] == 0
    with api.sandbox(internet=False) as third:
        assert api.exec(third, "! test -e /etc/atoll-test && ! grep -q changed /etc/passwd")["exit_code"] == 0


def test_processes_are_not_seen(pair):
    api, first, second = pair
    started = api.exec(first, "sleep 61.25 >/dev/null 2>&1 & echo started")
    assert started["stdout"] == "started\n"
    result = api.exec(second, "cat /proc/*/cmdline | tr '\\0' ' '", user="root")
    assert "61.25" not in result["stdout"]


def test_shared_memory_and_queues_are_not_shared(pair):
    api, first, second = pair
    make = "import ctypes; c = ctypes.CDLL(None); print(c.shmget(4242, 4096, 0o1666), c.msgget(4242, 0o1666))"
    find = "import ctypes; c = ctypes.CDLL(None); print(c.shmget(4242, 0, 0), c.msgget(4242, 0))"
    assert "-1" not in api.exec(first, cmd="/usr/bin/python3", args=["-c", make])["stdout"]
    assert api.exec(second, cmd="/usr/bin/python3", args=["-c", find])["stdout"].split() == ["-1", "-1"]


def test_neighbours_cannot_be_reached(pair):
    api, first, second = pair
    serve = ("import socket,threading,time\ns=socket.create_server(('::', 8123), family=socket.AF_INET6, dualstack_ipv6=True)\n"
             "a=socket.socket(socket.AF_UNIX); a.bind('\\0atoll-neighbour'); a.listen()\ntime.sleep(300)")
    api.post(f"/api/sandbox/instances/{first}/exec",
             {"cmd": "/usr/bin/python3", "args": ["-c", serve], "background": True})
    atoll.wait_for(lambda: "@atoll-neighbour" in api.exec(first, "cat /proc/net/unix")["stdout"], 30, "a server in the first sandbox")
    address = api.exec(first, "hostname -I 2>/dev/null || ip -4 -o addr show scope global | awk '{print $4}'"
                       )["stdout"].split()
    code = ("import socket,sys\nfor a in sys.argv[1:]:\n    s=socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET); s.settimeout(2)\n"
            "    print(a, s.connect_ex((a.split('/')[0], 8123)))\n"
            "u=socket.socket(socket.AF_UNIX)\nprint('abstract', u.connect_ex('\\0atoll-neighbour'))")
    result = api.exec(second, cmd="/usr/bin/python3", args=["-c", code, *address], timeout_ms=20000)
    for line in result["stdout"].splitlines():
        assert line.split()[1] != "0", result["stdout"]
    assert "abstract" in result["stdout"]


def test_each_has_its_own_ids(pair):
    api, first, second = pair
    maps = [api.exec(s, "cat /proc/self/uid_map")["stdout"].split() for s in (first, second)]
    assert maps[0][0] == maps[1][0] == "0"
    assert maps[0][1] != maps[1][1]
    assert int(maps[0][1]) >= 1 << 24 and int(maps[0][2]) == 65536


def test_the_environment_holds_nothing_of_the_server(server):
    secret = {"DATABASE_URL": "postgres://secret", "JWT_SECRET": "s", "E2B_API_KEY": "s", "DAYTONA_API_KEY": "s",
              "AWS_SECRET_ACCESS_KEY": "s", "COMPOSIO_API_KEY": "s", "GITHUB_CLIENT_SECRET": "s", "ANY_OTHER": "s"}
    for provider in ("native", "host"):
        private = atoll.Server(provider=provider, environment=secret).start()
        try:
            api = private.api()
            with api.sandbox(template="host") as sandbox:
                names = {line.split("=")[0] for line in api.exec(sandbox, "env")["stdout"].splitlines()}
                assert not names & set(secret), provider
        finally:
            private.remove_all()
