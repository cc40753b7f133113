# SPDX-License-Identifier: Apache-2.0
"""`atoll setup` after an installation: docs/operate/install.md."""

import json
import os
import socket
import stat
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root


def setup(*arguments, before=(), environment=None):
    values = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
    return subprocess.run([*map(str, before), atoll.ATOLL, "setup", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**values, **(environment or {})})


def steps(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return {step["name"]: step["state"] for step in json.loads(done.stdout)["steps"]}


def missing(done):
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert not answer["able"] and not answer["steps"]
    return {check["name"]: check for check in answer["checks"] if check["verdict"] == "missing"}


@pytest.fixture
def places(tmp_path):
    """Options for a data folder and a configuration of its own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/atoll.yaml").write_text(f"listen: 127.0.0.1:{atoll.free_port()}\n")
    return ["--json", "--data", tmp_path / "data", "--config", tmp_path / "etc/atoll.yaml"]


def test_check_only_looks(tmp_path, places):
    (tmp_path / "data/atoll.yaml").unlink()
    (tmp_path / "data").rmdir()
    done = setup("--check", *places)
    assert done.returncode in (0, 1), done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {"root", "cgroups", "overlay", "disk space", "port", "user", "systemd"} <= set(checks)
    assert all(check["verdict"] == "ok" or check["meaning"] for check in checks.values())
    assert checks["root"]["verdict"] == checks["disk space"]["verdict"] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept(tmp_path, places):
    before = (tmp_path / "data/atoll.yaml").read_text()
    first = steps(setup("--tls", "--name", "box.example", *places))
    assert first == {"data folder": "kept", "configuration": "kept", "TLS": "made", "TLS address": "skipped", "service": "skipped"}
    assert (tmp_path / "data/atoll.yaml").read_text() == before and not (tmp_path / "etc").exists()
    certificate = (tmp_path / "data/tls/server.pem").read_bytes()
    assert steps(setup("--tls", *places))["TLS"] == "kept"
    assert (tmp_path / "data/tls/server.pem").read_bytes() == certificate


def test_a_fresh_machine_gets_all_of_it_once(tmp_path):
    data, config = tmp_path / "a/data", tmp_path / "etc/atoll/atoll.yaml"
    options = ["--json", "--data", data, "--config", config, "--tls"]
    world = ["unshare", "-n"]  # a network of its own: the usual ports are free
    first = steps(setup(*options, before=world))
    assert first == {"data folder": "made", "configuration": "made", "link to it": "made", "TLS": "made", "TLS address": "kept",
                     "service": "skipped"}
    assert stat.S_IMODE(config.stat().st_mode) == 0o640 and os.readlink(data / "atoll.yaml") == str(config)
    shown = subprocess.run([atoll.ATOLL, "config", "--json", "--data", data], capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout)["tls_listen"] == "0.0.0.0:8443"
    config.write_text("listen: 127.0.0.1:7778\n")
    again = steps(setup(*options, before=world))
    assert set(again.values()) == {"kept", "skipped"} and config.read_text() == "listen: 127.0.0.1:7778\n"
    assert sorted(path.name for path in config.parent.iterdir()) == ["atoll.yaml"]


def test_what_is_missing_is_named_with_its_cure_and_nothing_is_made(tmp_path, places):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "data/atoll.yaml").write_text(f"listen: 127.0.0.1:{taken.getsockname()[1]}\n")
        found = missing(setup("--tls", *places))
    assert list(found) == ["port"] and "in use" in found["port"]["found"] and "end the other program" in found["port"]["meaning"]
    (tmp_path / "data/atoll.yaml").write_text("listen: nowhere\n")
    assert "port" in missing(setup(*places))
    (tmp_path / "data/atoll.yaml").write_text("no_such_option: 1\n")
    assert "no_such_option" in missing(setup(*places))["port"]["found"]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["atoll.yaml"]


def test_a_small_disk_is_named(tmp_path):
    world = ["unshare", "-mn", "sh", "-c", f'mount -t tmpfs -o size=64m tmpfs {tmp_path} && exec "$@"', "sh"]
    found = missing(setup("--json", "--data", tmp_path / "data", "--config", tmp_path / "atoll.yaml", before=world))
    assert list(found) == ["disk space"] and "2 GiB" in found["disk space"]["meaning"]


def test_a_user_without_rights_makes_nothing(tmp_path):
    for folder in (atoll.BUILD, *atoll.BUILD.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            pytest.skip(f"'{folder}' is closed to other users")
    found = missing(setup("--json", "--data", tmp_path / "data", "--config", tmp_path / "atoll.yaml",
                          before=["setpriv", "--reuid", "65534", "--clear-groups"]))
    assert "sudo" in found["root"]["meaning"] and not (tmp_path / "data").exists()


@pytest.mark.parametrize(("status", "runs"), [(0, True), (3, False)])
def test_the_unit_is_started_where_systemd_runs(tmp_path, status, runs):
    (tmp_path / "systemctl").write_text(f"#!/bin/sh\necho said: \"$@\"\necho \"$@\" >> {tmp_path}/calls\nexit {status}\n")
    (tmp_path / "systemctl").chmod(0o755)
    world = ["unshare", "-mn", "sh", "-c", "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mkdir -p /run/systemd/system"
             ' && exec "$@"', "sh"]
    done = setup("--json", "--config", tmp_path / "atoll.yaml", before=world,
                 environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (tmp_path / "calls").read_text() == "enable --now atoll.service\n"
    answer = json.loads(done.stdout)
    assert answer["data"] == "/var/lib/atoll" and answer["started"] is runs and "said: enable" in done.stderr
    assert (done.returncode == 0) is runs
    if not runs:
        assert "ended with 3" in done.stderr and "journalctl" in done.stderr


def test_a_place_that_cannot_be_written_is_named(tmp_path, places):
    (tmp_path / "data/atoll.yaml").unlink()
    world = ["unshare", "-n"]
    done = setup(*places[:3], "--config", "/proc/no/atoll.yaml", before=world)
    assert done.returncode != 0 and "/proc/no" in done.stderr
