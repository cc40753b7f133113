# SPDX-License-Identifier: Apache-2.0
"""Providers that are added at run time change their settings and secrets without a restart, on every server of a store."""

import contextlib
import json
import subprocess
import threading

import pytest

import atoll
import fake_docker
import postgres

pytestmark = pytest.mark.needs_root
HIDDEN = "cHVsbGVyOmEtc2VjcmV0"  # puller:a-secret


@pytest.fixture(scope="module")
def servers():
    """Two on one PostgreSQL."""
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database = postgres.Postgres()
    made = [atoll.Server(flags=["--store", database.dsn, "--network-subnet", f"10.{241 + number}.0.0/16", "--cells", "1"])
            for number in range(2)]
    try:
        made[0].start()
        subprocess.run(["cp", "-a", made[0].data / "keys", made[1].data], check=True)
        made[1].start()
        key = made[0].key
        yield [server.api(key) for server in made], made
    finally:
        for server in made:
            server.remove_all()
        database.remove()


@pytest.fixture
def daemon():
    daemon = fake_docker.Daemon("500")
    yield daemon
    daemon.remove()


def add(api, name, daemon, **settings):
    return api.post("/v1/providers", {"name": name, "kind": "docker", "settings": {
        "docker_host": daemon.host, "docker_image": "one", "allow_weaker": "true", **settings}})


def change(api, name, **settings):
    return api.call("PATCH", f"/v1/providers/{name}", {"settings": settings})


def shown(api, name):
    return next((p for p in api.get("/v1/providers")["items"] if p["name"] == name), None)


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments, **options)
    return failure.value


def asks(api, daemon, name, **options):
    """What the next create of this server asks the daemon for."""
    daemon.asked.clear()
    refused(api.create, provider=name, internet=False, **options)
    return daemon.asked


def remove(apis, name):
    """With the rows of the creates that failed."""
    for api in apis:
        for row in api.get("/api/sandbox/instances?limit=1000")["items"]:
            with contextlib.suppress(atoll.ApiError):
                api.remove(row["id"])
    apis[0].delete(f"/v1/providers/{name}")


def test_every_server_takes_new_limits_and_options_while_it_runs(servers, daemon):
    (one, two), _ = servers
    add(one, "far", daemon, max_sandboxes="3")
    atoll.wait_for(lambda: (shown(two, "far") or {}).get("connected"), 20, "the provider on the second server")
    assert asks(two, daemon, "far")[0]["Image"] == "one"
    change(one, "far", docker_image="two", max_sandboxes="7", gpu_enabled="true")
    assert shown(one, "far")["max_sandboxes"] == 7 and asks(one, daemon, "far")[0]["Image"] == "two"
    atoll.wait_for(lambda: shown(two, "far")["max_sandboxes"] == 7, 20, "the change on the second server")
    assert asks(two, daemon, "far", gpus=1)[0]["HostConfig"]["DeviceRequests"]
    # "" returns to the default; what is not named stays.
    change(two, "far", max_sandboxes="")
    assert not shown(two, "far")["max_sandboxes"] and asks(two, daemon, "far")[0]["Image"] == "two"
    # Another daemon.
    other = fake_docker.Daemon("500")
    try:
        change(one, "far", docker_host=other.host)
        daemon.asked.clear()
        assert asks(one, other, "far") and not daemon.asked
        atoll.wait_for(lambda: asks(two, other, "far"), 20, "the other daemon on the second server")
    finally:
        change(one, "far", docker_host=daemon.host)
        other.remove()
    remove((one, two), "far")


def test_a_secret_is_rotated_and_never_shown(servers, daemon):
    (one, _), made = servers
    add(one, "sealed", daemon, docker_logins=json.dumps({"auths": {"registry.example": {"auth": HIDDEN}}}))
    change(one, "sealed", docker_logins=json.dumps({"auths": {"registry.example": {"auth": HIDDEN + HIDDEN}}}))
    assert HIDDEN not in json.dumps(one.get("/v1/providers")) and HIDDEN not in made[0].log_text()
    # It is there: text that is no list of logins is found at the next pull, by name.
    change(one, "sealed", docker_logins="{")
    daemon.missing = True
    failure = refused(one.create, provider="sealed", internet=False)
    assert "docker_logins" in failure.message, failure.body
    remove((one,), "sealed")


def test_a_reference_is_no_secret_of_a_request(servers):
    """The server would send it as the key, or read a file of its own for a request."""
    (one, _), _ = servers
    for value in ("file:/etc/shadow", "env:HOME"):
        failure = refused(one.post, "/v1/providers", {"name": "far", "kind": "e2b", "settings": {"e2b_api_key": value}})
        assert failure.status == 400 and "only the configuration file" in failure.message and "@FILE" in json.dumps(failure.body), failure.body
    assert shown(one, "far") is None


def test_what_cannot_change_is_refused_by_name(servers, daemon):
    (one, _), _ = servers
    add(one, "fixed", daemon)
    for settings, status, words in ((dict(max_sandboxes="many"), 400, "max_sandboxes"), (dict(unknown="1"), 400, "unknown"),
                                    (dict(docker_runtime="runsc"), 501, "does not change its docker_runtime")):
        failure = refused(change, one, "fixed", **settings)
        assert failure.status == status and words in str(failure.body), failure.body
    # What no server can take is not stored: each keeps what it has.
    assert "unix:///PATH" in refused(change, one, "fixed", docker_host="tcp://10.0.0.1:1").message
    assert shown(one, "fixed")["last_error"] is None
    change(one, "fixed", docker_host=daemon.host)
    assert refused(change, one, "native", max_sandboxes="1").status == 409
    assert refused(change, one, "missing", max_sandboxes="1").status == 404
    assert refused(one.call, "PATCH", "/v1/providers/fixed", {}).status == 400
    one.post("/v1/providers", {"name": "machine", "kind": "microvm", "settings": {"max_sandboxes": "1"}})
    assert "does not change its microvm_kernel" in refused(change, one, "machine", microvm_kernel="/boot2").message
    change(one, "machine", max_sandboxes="2")
    for name in ("fixed", "machine"):
        remove((one,), name)


def test_creates_go_on_while_settings_change(servers, daemon):
    (one, _), made = servers
    add(one, "busy", daemon)
    stops, statuses = threading.Event(), []

    def call():
        api = made[0].api()
        while not stops.is_set():
            statuses.append(refused(api.create, provider="busy", internet=False).status)
        api.close()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        change(one, "busy", docker_image=f"image-{number}")
    stops.set()
    for thread in threads:
        thread.join()
    assert len(statuses) > 10 and set(statuses) == {503}, statuses
    assert len({body["Image"] for body in daemon.asked}) > 3 and asks(one, daemon, "busy")[0]["Image"] == "image-29"
    remove((one,), "busy")


def test_the_command_line_changes_a_provider(servers, daemon):
    (one, _), made = servers
    add(one, "typed", daemon)
    done = made[0].cli("provider", "set", "typed", "--set", "max_sandboxes=4")
    assert done.returncode == 0, done.stderr
    assert shown(one, "typed")["max_sandboxes"] == 4
    remove((one,), "typed")
