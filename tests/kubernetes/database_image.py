# SPDX-License-Identifier: Apache-2.0
"""An image that stands for the official one of PostgreSQL, made without a network from this machine's Debian package: the same user
(999), variables and paths, and a first start that makes the database."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import postgres

USER = 999
PROGRAMS = ("postgres", "initdb", "pg_isready", "psql")
# What a first start is killed in has no PG_VERSION in its place, and is made again.
ENTRY = """#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	rm -rf "$PGDATA" "$PGDATA.new"
	printf '%s\\n' "$POSTGRES_PASSWORD" |
		initdb -D "$PGDATA.new" -U "$POSTGRES_USER" --pwfile=/dev/stdin --auth-local=trust --auth-host=scram-sha-256 -E UTF8
	echo 'host all all all scram-sha-256' >>"$PGDATA.new/pg_hba.conf"
	echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | postgres --single -D "$PGDATA.new" postgres
	mv "$PGDATA.new" "$PGDATA"
fi
exec postgres -D "$PGDATA" -c 'listen_addresses=*'
"""


def libraries(paths):
    """With the loader, by the names under which it looks for them."""
    said = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", said, re.M)))


def copy_file(root, path):
    target = root / str(path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)


def fill(root):
    programs = pathlib.Path(postgres.programs())
    version = programs.parent
    for name in PROGRAMS:
        copy_file(root, programs / name)
    # llvmjit is left out: PostgreSQL does without it.
    modules = [path for path in (version / "lib").glob("*.so") if not path.name.startswith("llvmjit")]
    for path in modules + libraries([programs / name for name in PROGRAMS] + modules):
        copy_file(root, path)
    for folder in (pathlib.Path("/usr/share/postgresql") / version.name, pathlib.Path("/usr/share/zoneinfo"), pathlib.Path("/usr/lib/locale/C.utf8")):
        shutil.copytree(folder, root / str(folder).lstrip("/"), symlinks=True)
    copy_file(root, "/bin/busybox")
    for name in ("sh", "rm", "mv", "env"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "entry").write_text(ENTRY)
    (root / "entry").chmod(0o755)
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text(f"root:x:0:0::/:/bin/sh\npostgres:x:{USER}:{USER}::/var/lib/postgresql:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\npostgres:x:{USER}:\n")
    for name in ("tmp", "var/run/postgresql", "var/lib/postgresql/data"):
        (root / name).mkdir(parents=True)
        (root / name).chmod(0o1777)
    return programs


def build(archive, name):
    """An OCI archive, of which `name` is the image's name."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="atoll-database-image-"))
    try:
        root, image = work / "root", f"{work}/layout:image"
        programs = fill(root)
        root.chmod(0o755)
        subprocess.run(["umoci", "init", "--layout", work / "layout"], check=True)
        subprocess.run(["umoci", "new", "--image", image], check=True)
        subprocess.run(["umoci", "insert", "--image", image, root, "/"], check=True, capture_output=True)
        subprocess.run(["umoci", "config", "--image", image, "--config.user", f"{USER}:{USER}", "--config.entrypoint", "/entry",
                        "--config.env", f"PATH={programs}:/bin", "--config.env", "LC_ALL=C.UTF-8", "--config.stopsignal", "SIGINT"], check=True)
        if os.path.exists(archive):
            os.unlink(archive)
        subprocess.run(["skopeo", "copy", "-q", f"oci:{image}", f"oci-archive:{archive}:{name}"], check=True)
    finally:
        shutil.rmtree(work)
