# SPDX-License-Identifier: Apache-2.0
"""Brokers share their part of each cgroup tree and one nft table: the last to end takes them along. Here and not
beside the system tests, whose own server lives as long as they do."""

import fcntl
import glob
import pathlib
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root
LOCK = pathlib.Path("/run/atoll/instances.lock")


def shared():
    """What every broker of this machine shares: its part of each cgroup tree, and the nft table."""
    table = subprocess.run(["nft", "list", "table", "inet", "atoll"], capture_output=True, check=False)
    return glob.glob("/sys/fs/cgroup/*/atoll") + glob.glob("/sys/fs/cgroup/atoll") + \
        (["inet atoll"] if table.returncode == 0 else [])


def in_use():
    """Whose they still are: the groups with their processes."""
    return {path: pathlib.Path(path, "cgroup.procs").read_text().split() for path in glob.glob("/sys/fs/cgroup/*/atoll/*/")}


def skip_unless_alone():
    """As a broker finds out whether it is the last one: nobody else holds the lock."""
    if not LOCK.exists():
        return
    with open(LOCK, "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pytest.skip("another Atoll runs on this machine: what is shared stays")


def test_the_last_server_takes_along_what_all_share(private_server):
    skip_unless_alone()
    if lasting := {path: pids for path, pids in in_use().items() if pids}:
        pytest.skip(f"sandboxes of another Atoll, which has ended, live on: {lasting}")
    api = private_server.start().api()
    with api.sandbox(internet=True) as sandbox:
        api.exec(sandbox, "true")
        assert [name for name in shared() if name.startswith("/sys")]
    atoll.Host(private_server.data).wait_clean()
    api.close()
    private_server.stop()
    skip_unless_alone()
    atoll.wait_for(lambda: not shared(), 30, lambda: f"nothing shared is left, but {shared()}, {in_use()}")


def test_nothing_global_is_left_when_a_server_is_gone():
    before = atoll.global_resources()
    server = atoll.Server().start()
    api = server.api()
    for internet in (True, False):
        with api.sandbox(internet=internet) as sandbox:
            api.exec(sandbox, "true")
    server.remove_all()
    atoll.wait_for(lambda: all(set(now) <= set(before[name]) for name, now in atoll.global_resources().items()), 30,
                   "cgroups, interfaces and agents as before")
    assert pathlib.Path("/proc/self/mountinfo").read_text().count(str(server.data)) == 0
