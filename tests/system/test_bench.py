# SPDX-License-Identifier: Apache-2.0
"""The benchmark on a machine that has none of the programs that it compares Atoll with."""

import json
import os
import subprocess
import sys

import pytest

import atoll

pytestmark = pytest.mark.needs_root


def test_a_machine_without_peers_is_measured_and_told_what_is_missing(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gcc", "python3", "as", "ld", "umount"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run([sys.executable, atoll.ROOT / "tests/bench/run.py", "--rounds", "1", "--only", "peers,code", "--json", "report.json"],
                          cwd=tmp_path, env={**os.environ, "PATH": str(programs)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert "busybox-static" in report["skipped"]["podman"] and "bwrap" in report["skipped"]
    assert {"next block of its context", "command python3 -c"} <= {row["name"] for row in report["latency"]}
    assert sorted(os.listdir(tmp_path)) == ["bin", "report.json"]
