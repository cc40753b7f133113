# SPDX-License-Identifier: Apache-2.0
"""What tests of the provider microvm need. ATOLL_MICROVM_KERNEL names the folder that a kernel package is unpacked in; without
it the kernel of this machine is taken."""

import contextlib
import glob
import os
import shutil
import time

import atoll
import small_root

KERNEL = os.environ.get("ATOLL_MICROVM_KERNEL", "/")
PROGRAMS = ("od", "nc", "ip", "nslookup", "awk", "dd", "df", "grep", "head", "hostname", "kill", "ps", "seq", "sleep", "sort", "tail", "touch", "tr", "uname", "wc", "wget", "nproc",
            "test", "false", "yes", "env", "mv", "cp", "rmdir", "stty", "tty", "pidof", "find", "date")


def reason():
    """Why no virtual machine can run here, or None."""
    if not shutil.which("qemu-system-x86_64"):
        return "'qemu-system-x86_64' is not installed (Debian package qemu-system-x86)"
    if not shutil.which("qemu-img"):
        return "'qemu-img' is not installed (Debian package qemu-utils)"
    if not glob.glob(f"{KERNEL}/boot/vmlinuz-*"):
        return f"there is no kernel in '{KERNEL}/boot' (Debian package linux-image-cloud-amd64)"
    return None


def root(folder):
    """A small root filesystem below `folder`."""
    made = small_root.busybox(folder)
    for name in PROGRAMS:
        os.symlink("busybox", made / "bin" / name)
    (made / "root").mkdir()
    os.chmod(made / "opt", 0o750)
    return made


def template(server, folder, name="small"):
    """A template of that root."""
    archive = small_root.as_tar(root(folder), folder / "root.tar").read_bytes()
    with contextlib.closing(server.api()) as api:
        api.call("POST", f"/api/sandbox/templates/import?name={name}&format=tar", archive, {"Content-Type": "application/octet-stream"})


def make_image(server, **options):
    """The image of this size, which a first create makes. Beside other work that may take longer than a create waits."""
    deadline = time.monotonic() + 300
    with contextlib.closing(server.api(timeout=180)) as api:
        while True:
            try:
                return api.remove(api.create(internet=False, provider="vm", template="small", **options)["id"])
            except atoll.ApiError as failure:
                if failure.status not in (503, 504) or time.monotonic() > deadline:
                    raise


def machines(names):
    """Process ids of the machines of the sandboxes with these names."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().decode(errors="replace")
            variables = open(path.replace("cmdline", "environ"), "rb").read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words.startswith("/usr/bin/qemu-system-x86_64") and any(f"ATOLL_MACHINE={name}" in variables for name in names):
            found.append(int(path.split("/")[2]))
    return found
