# SPDX-License-Identifier: Apache-2.0
"""What /proc and /sys tell inside is about the sandbox: facts about the host are masked, also those of a kernel to come."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.needs_root
# Everything else in /proc is empty, is unreadable or is not there.
SHOWN = {"self", "thread-self", "mounts", "net", "sys", "sysvipc", "tty", "crypto", "dma", "execdomains", "filesystems",
         "version", "cgroups", "cpuinfo", "meminfo", "stat", "uptime", "loadavg", "swaps", "vmstat"}
LOOK = r"""for f in /proc/* /proc/sys/fs/file-nr /proc/sys/fs/inode-nr /proc/sys/fs/inode-state /proc/sys/fs/dentry-state; do
  case $f in */[0-9]*) continue;; esac
  if [ -d $f ]; then [ -n "$(ls -A $f 2>/dev/null)" ] && echo $f; elif [ -n "$(head -c1 $f 2>/dev/null | od -An -tx1)" ]; then echo $f; fi
done"""


@pytest.mark.parametrize("user", ["user", "root"])
def test_nothing_in_proc_speaks_but_what_is_meant_to(api, box, user):
    names = api.exec(box, LOOK, user=user)["stdout"].split()
    assert len(names) > 10
    assert {name.removeprefix("/proc/") for name in names} <= SHOWN


def test_what_is_shown_is_the_sandboxs_own(api, box):
    def inside(path):
        return api.exec(box, f"cat {path}", user="root")["stdout"]
    for name in ("meminfo", "stat", "uptime", "vmstat"):
        assert inside(f"/proc/{name}") != pathlib.Path(f"/proc/{name}").read_text()
    host_disks = set(re.findall(r"\b(?:[vsx]?[vhs]d[a-z]\d*|nvme\w+|dm-\d+)\b", pathlib.Path("/proc/partitions").read_text()))
    for name in ("partitions", "diskstats", "swaps", "interrupts"):
        assert not host_disks & set(inside(f"/proc/{name}").split())
    assert "ctxt 0\n" in inside("/proc/stat") and "intr 0\n" in inside("/proc/stat")


def test_there_is_no_sysfs(api, box):
    found = api.exec(box, "find /sys -xdev -not -type d | sort; ls -A /sys /sys/class /sys/kernel /sys/devices; cat /sys/class/dmi/id/* /sys/block/*",
                     user="root")["stdout"]
    for word in ("block", "firmware", "dmi", "uevent", "debug", "virtual", "pci"):
        assert not re.search(rf"\b{word}\b", found), found


def test_no_view_can_be_changed_or_uncovered(api, box):
    for path in ("/proc/meminfo", "/proc/uptime", "/proc/loadavg", "/proc/cpuinfo", "/proc/cmdline", "/proc/sys/kernel/random/boot_id",
                 "/sys/devices/system/cpu/online"):
        before = api.exec(box, f"wc -c < {path}", user="root")["stdout"]
        for attempt in (f"echo 1 > {path}", f"chmod 777 {path}", f"rm -f {path}", f"mv {path} {path}2", f"umount {path}", f"mount --bind /dev/null {path}"):
            assert api.exec(box, attempt, user="root")["exit_code"] != 0, attempt
        assert api.exec(box, f"wc -c < {path}", user="root")["stdout"] == before or "uptime" in path or "loadavg" in path


def test_a_signal_from_inside_is_not_taken_for_the_brokers(api, box):
    # The one that tells process 1 of new limits: a thousand of them cost it nothing, and it serves on.
    assert api.exec(box, "for i in $(seq 1000); do kill -WINCH 1; done; kill -TERM 1; true", user="root")["exit_code"] == 0
    assert api.exec(box, "echo alive")["stdout"] == "alive\n"
