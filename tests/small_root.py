# SPDX-License-Identifier: Apache-2.0
"""A root filesystem that is small enough to be imported in a moment."""

import os
import shutil
import tarfile

import pytest

PROGRAMS = ("sh", "echo", "cat", "id", "ls", "true", "rm", "ln", "mkdir", "stat", "printf", "pwd", "chmod")


def busybox(folder):
    program = shutil.which("busybox")
    if not program:
        pytest.skip("'busybox' is not installed (Debian package busybox-static)")
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "opt").mkdir()
    shutil.copy(program, root / "bin" / "busybox")
    for name in PROGRAMS:
        os.symlink("busybox", root / "bin" / name)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc" / "os-release").write_text("ID=busybox-test\n")
    return root


def rooted(folder):
    """One with more programs, whose commands run as root: for services that take the user from it."""
    root = busybox(folder)
    for name in ("cp", "dirname", "env", "false", "grep", "mv", "ps", "seq", "sleep", "tail", "test", "touch", "tr", "wc"):
        if not (root / "bin" / name).exists():
            os.symlink("busybox", root / "bin" / name)
    (root / "etc" / "group").write_text("root:x:0:\n")
    (root / "root").mkdir()
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    return root


def as_tar(root, path, mode="w"):
    with tarfile.open(path, mode) as tar:
        tar.add(root, ".")
    return path
