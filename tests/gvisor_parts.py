# SPDX-License-Identifier: Apache-2.0
"""gVisor on this machine, and its processes."""

import os
import pathlib

import pytest

RUNSC = "/usr/bin/runsc"
needed = pytest.mark.skipif(not os.access(RUNSC, os.X_OK), reason="gVisor is not installed: the Debian package runsc")


def processes():
    """{pid: words of its command line} of all of gVisor's processes on this machine."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if line.startswith((b"runsc", b"/proc/self/exe\0gofer", b"/proc/self/exe\0boot")):
            found[path.parent.name] = line.decode(errors="replace").split("\0")
    return found


def parts(before):
    """{"run": pid, "gofer": pid, "boot": pid} of the sandbox that was made since `before` was looked at."""
    own = {pid: words for pid, words in processes().items() if pid not in before}
    return {word: pid for word in ("run", "gofer", "boot") for pid, words in own.items() if word in words}


def parent_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
