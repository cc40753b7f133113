# SPDX-License-Identifier: Apache-2.0
"""`atoll check isolation`: what it reports, and how it ends. tests/isolation runs it on every provider."""

import json
import socket
import subprocess
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root


def check(server, *arguments, **options):
    done = server.cli("check", "isolation", *arguments, text=True, timeout=180, **options)
    return done, {p["name"]: {a["id"]: a for a in p["attempts"]} for p in json.loads(done.stdout)["providers"]} if "--json" in arguments else {}


@pytest.fixture(scope="module")
def both():
    server = atoll.Server(flags=["--providers", "native,open=host:allow_weaker=true"]).start()
    yield server
    server.remove_all()


def test_a_provider_that_isolates_ends_with_0(both, tmp_path):
    page = tmp_path / "page.md"
    done, reports = check(both, "--json", "--provider", "native", "--write", page)
    assert done.returncode == 0, done.stderr
    assert list(reports) == ["native"]
    outcomes = {name: attempt["outcome"] for name, attempt in reports["native"].items()}
    assert "not_held" not in outcomes.values()
    assert outcomes["read_host_marker"] == outcomes["connect_to_host"] == outcomes["find_neighbour_files"] == "held"
    text = page.read_text()
    assert "`native`" in text and all(f"`{name}`" in text for name in outcomes)
    assert both.rows(both.api()) == []


def test_a_provider_without_isolation_is_shown_as_such(both):
    done, _ = check(both, "--provider", "open")
    assert done.returncode == 1
    assert "isolation none" in done.stdout and "NOT HELD" in done.stdout
    assert any(line.split()[0] == "read_host_marker" and "NOT HELD" in line for line in done.stdout.splitlines() if line)


def test_an_unknown_provider_is_refused(both):
    done, _ = check(both, "--provider", "none-such")
    assert done.returncode != 0 and "atoll provider ls" in done.stderr


def test_a_provider_that_makes_no_sandbox_is_not_called_good(both):
    done, _ = check(both, "--provider", "native", "--template", "none-such")
    assert done.returncode == 1 and "NOT CHECKED" in done.stdout and "none-such" in done.stdout


def test_a_server_behind_a_tunnel_has_no_traps(both):
    """What listens here is this test, which passes the bytes on."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                end.close()

    def accept():
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", both.port))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    environment = {**both.cli_environment(), "ATOLL_API_URL": f"http://127.0.0.1:{listener.getsockname()[1]}"}
    try:
        done = subprocess.run([atoll.ATOLL, "check", "isolation", "--json", "--provider", "native"], env=environment,
                              capture_output=True, text=True, timeout=180)
    finally:
        listener.close()
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "tunnel" in answer["without_traps"]
    attempts = {a["id"]: a for a in answer["providers"][0]["attempts"]}
    assert attempts["read_host_marker"]["outcome"] == "not_tried" and "tunnel" in attempts["read_host_marker"]["detail"]
    assert attempts["mount_tmpfs"]["outcome"] == "held"
