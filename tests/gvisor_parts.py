# SPDX-License-Identifier: Apache-2.0
"""gVisor on this machine, and its processes."""

import contextlib
import os
import pathlib

import pytest

import atoll

RUNSC = "/usr/bin/runsc"
needed = pytest.mark.skipif(not os.access(RUNSC, os.X_OK), reason="gVisor is not installed: the Debian package runsc")


def processes(server):
    """{pid: words of its command line} of gVisor's processes in the sandboxes of `server`. Other tests have theirs at the same time."""
    agents = {str(pid) for pid in atoll.Host(server.data).agents()}
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            line = path.read_bytes()
            if line.startswith((b"runsc", b"/proc/self/exe\0gofer", b"/proc/self/exe\0boot")) and agents & ancestors(path.parent.name):
                found[path.parent.name] = line.decode(errors="replace").split("\0")
    return found


def ancestors(pid):
    found = set()
    while pid not in ("0", "1"):
        pid = parent_of(pid)
        found.add(pid)
    return found


def parts(server):
    """{"run": pid, "gofer": pid, "boot": pid} of the only sandbox of `server`."""
    return {word: pid for word in ("run", "gofer", "boot") for pid, words in processes(server).items() if word in words}


def parent_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
