# SPDX-License-Identifier: Apache-2.0
"""A provider fails in the middle of many creates: every caller gets a sandbox or one clear error, nothing is left at any provider,
and no sandbox is isolated less than it was asked for."""

import concurrent.futures
import json
import threading
import time

import pytest

import atoll
import docker_daemon
import engine_proxy

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
CREATES, CALLERS = (200, 8) if atoll.IS_SLOW else (24, 4)
FAILS_AT = CREATES // 4  # the provider fails from this create on


def serve(host, image):
    return atoll.Server(flags=["--providers", f"native,far=docker:docker_host={host};docker_image={image};create_timeout=15s;allow_weaker=true,bare=host:allow_weaker=true",
                               "--routing", "all:providers=far native bare", "--sandboxes-max", "1000"]).start()


def create_all(server, count, on_create):
    """For each: the sandbox, or the error, and how long it took. on_create gets the number of those that have ended."""
    ended = []

    def create(number):
        on_create(len(ended))
        begun, api = time.monotonic(), server.api(timeout=120)
        try:
            made = api.create(name=f"storm-{number}", internet=False, isolation="namespaces", resources={"memory_mb": 32})
            return made, None, time.monotonic() - begun
        except atoll.ApiError as failure:
            return None, failure, time.monotonic() - begun
        finally:
            ended.append(number)
            api.close()

    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(create, range(count)))


def check_results(server, results):
    api = server.api()
    rows = {row["id"]: row for row in server.rows(api)}
    made = [made for made, _, _ in results if made]
    errors = [failure for _, failure, _ in results if failure]
    for sandbox in made:
        shown = rows[sandbox["id"]]
        assert shown["isolation"] == "namespaces" and shown["provider"] in ("native", "far"), shown
        assert shown["state"] == "started", shown
    assert all(failure.status in (500, 502, 503, 504) and failure.message for failure in errors), errors
    assert next(p for p in api.get("/v1/providers")["items"] if p["name"] == "bare")["creates"] == 0
    took = sorted(took for _, _, took in results)
    figures = {"creates": len(results), "made": len(made), "errors": len(errors), "p50_s": round(took[len(took) // 2], 2),
               "p99_s": round(took[len(took) * 99 // 100], 2), "by": {name: sum(rows[m["id"]]["provider"] == name for m in made) for name in ("native", "far")}}
    print("figures", json.dumps(figures))
    return api, made, errors, figures["by"]


def remove_rows(server, api):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        def remove(row):
            own = server.api()
            own.remove(row["id"])
            own.close()
        list(pool.map(remove, server.rows(api)))
    assert server.rows(api) == []


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    daemon = docker_daemon.Daemon()
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
    finally:
        daemon.remove()


@pytest.mark.parametrize("mode", engine_proxy.FAILURES)
def test_a_provider_fails_in_the_middle_of_creates(daemon, mode):
    proxy = engine_proxy.Proxy(f"{daemon.folder}/proxy-{mode}.sock", daemon.socket)
    server = serve(proxy.host, docker_daemon.IMAGE)
    fails = threading.Event()

    def on_create(number):
        if number >= FAILS_AT and not fails.is_set():
            fails.set()
            proxy.fail(mode)

    try:
        results = create_all(server, CREATES, on_create)
        proxy.recover()
        api, made, errors, by = check_results(server, results)
        # Another provider is left for each create.
        assert len(made) == CREATES and not errors, errors[:3]
        assert by["far"] >= FAILS_AT // 2 and by["native"] > 0, by
        remove_rows(server, api)
        atoll.wait_for(lambda: daemon.containers() == [], 130, "an empty list of the daemon")
        assert list((server.data / "docker" / "links").iterdir()) == []
    finally:
        proxy.recover()
        server.remove_all()
        proxy.stop_listening()
    atoll.Host(server.data).wait_clean()
