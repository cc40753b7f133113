# SPDX-License-Identifier: Apache-2.0
"""A provider that refuses, hangs, answers 500 or ends in a create: the next provider makes the sandbox, and nothing is left."""

import concurrent.futures
import time

import atoll
import pytest

import fake_docker

pytestmark = pytest.mark.needs_root
CREATES, CALLERS = 12, 6


def serve(daemon, *, timeout="2s", rules="all:providers=far native"):
    return atoll.Server(flags=["--providers", f"native,far=docker:docker_host={daemon.host};docker_image=fake;create_timeout={timeout};allow_weaker=true",
                               "--routing", rules]).start()


def create(server, number, **options):
    """The sandbox, or the one error, and how long it took."""
    begun, api = time.monotonic(), server.api(timeout=90)
    try:
        made = api.create(name=f"over-{number}", internet=False, **options)
        return made, None, time.monotonic() - begun
    except atoll.ApiError as failure:
        return None, failure, time.monotonic() - begun
    finally:
        api.close()


def create_all(server, count=CREATES, **options):
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(lambda number: create(server, number, **options), range(count)))


def assert_nothing_left(server, daemon):
    api = server.api()
    for row in server.rows(api):
        api.remove(row["id"])
    atoll.wait_for(lambda: not daemon.containers, seconds=130, what="an empty list of the daemon")


@pytest.mark.parametrize("mode", atoll.sample(["refuse", "hang", "500", "start500", "die", *fake_docker.NONSENSE], ["refuse", "hang", "start500"]))
def test_every_caller_gets_a_sandbox_of_the_next_provider(mode):
    daemon = fake_docker.Daemon(mode)
    server = serve(daemon)
    try:
        if mode == "refuse":
            daemon.refuse()
        results = create_all(server)
        assert [str(failure) for _, failure, _ in results if failure] == []
        api = server.api()
        for made, _, took in results:
            shown = api.get(f"/api/sandbox/instances/{made['id']}")
            assert (shown["provider"], shown["isolation"], shown["state"]) == ("native", "namespaces", "started")
            assert "rule 'all'" in shown["placed"] and "far" in shown["placed"], shown["placed"]
            assert took < 25
        assert api.exec(results[0][0]["id"], "echo alive")["stdout"] == "alive\n"
        far = next(p for p in api.get("/v1/providers")["items"] if p["name"] == "far")
        assert not far["healthy"] and far["failures"] >= 3 and far["last_error"]
        assert_nothing_left(server, daemon)
    finally:
        daemon.released.set()
        server.remove_all()
        daemon.remove()


def test_without_another_provider_the_caller_gets_one_error_that_lists_what_was_tried():
    daemon = fake_docker.Daemon("500")
    server = serve(daemon, rules="all:providers=far")
    try:
        for made, failure, _ in create_all(server, 4):
            assert made is None and failure.status in (500, 503) and "no space left" in failure.message, failure
        assert_nothing_left(server, daemon)
    finally:
        server.remove_all()
        daemon.remove()


def test_fail_over_never_weakens_the_isolation():
    daemon = fake_docker.Daemon("500")
    server = atoll.Server(flags=["--providers", f"native,far=docker:docker_host={daemon.host};docker_image=fake;allow_weaker=true,bare=host:allow_weaker=true",
                                 "--routing", "all:providers=far bare"]).start()
    try:
        for made, failure, _ in create_all(server, 4, isolation="namespaces"):
            assert made is None and failure.status >= 500, failure
        api = server.api()
        assert next(p for p in api.get("/v1/providers")["items"] if p["name"] == "bare")["creates"] == 0
        assert_nothing_left(server, daemon)
    finally:
        server.remove_all()
        daemon.remove()


def test_a_provider_that_recovers_is_used_again():
    daemon = fake_docker.Daemon("500")
    server = serve(daemon)
    try:
        api = server.api()
        create_all(server, 6)
        before = daemon.creates
        made = create(server, "rested")[0]
        assert daemon.creates == before and "not far: it is unhealthy" in api.get(f"/api/sandbox/instances/{made['id']}")["placed"]
        atoll.wait_for(lambda: create(server, f"again-{time.monotonic_ns()}") and daemon.creates > before, seconds=40,
                       what="a create at the provider that rested")
        assert_nothing_left(server, daemon)
    finally:
        server.remove_all()
        daemon.remove()
