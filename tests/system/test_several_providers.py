# SPDX-License-Identifier: Apache-2.0
"""Several providers in one server: each sandbox is its own provider's."""

import atoll
import pytest


def providers(text):
    return atoll.Server(flags=["--providers", text]).start()


@pytest.fixture(scope="module")
def server():
    server = providers("native,bare=host:allow_weaker=true,nothing=null:max_sandboxes=2;allow_weaker=true")
    yield server
    server.remove_all()


def show(api, sandbox):
    return api.get(f"/api/sandbox/instances/{sandbox}")


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value.status, caught.value.message


def test_the_first_provider_makes_what_names_none(api):
    with api.sandbox() as sandbox:
        shown = show(api, sandbox)
        assert (shown["provider"], shown["isolation"]) == ("native", "namespaces")
        assert "take snapshots" not in shown["unsupported"]
        assert api.exec(sandbox, "cat /proc/1/comm")["stdout"].strip() == "atoll-agent"


def test_a_create_names_its_provider(api):
    with api.sandbox(provider="bare") as sandbox:
        shown = show(api, sandbox)
        assert (shown["provider"], shown["isolation"]) == ("bare", "none")
        assert "take snapshots" in shown["unsupported"]
        assert "host-files" in api.exec(sandbox, "pwd")["stdout"]
        for verb in ("pause", "resume", "stop", "start"):
            api.post(f"/api/sandbox/instances/{sandbox}/{verb}")
        assert "host-files" in api.exec(sandbox, "pwd")["stdout"]


def test_an_absent_ability_is_refused_by_name(api):
    with api.sandbox(provider="bare") as sandbox:
        status, message = refused(api.post, f"/api/sandbox/instances/{sandbox}/snapshot", {})
        assert status == 501 and "take snapshots" in message
    status, message = refused(api.create, provider="bare", internet=False)
    assert status == 501
    assert "bare: it cannot do this: block the network" in message


def test_a_weaker_provider_is_refused_unless_its_operator_allows_it():
    server = providers("native,bare=host")
    try:
        api = server.api()
        for request in ({"provider": "bare"}, {"isolation": "none", "provider": "bare"}):
            status, message = refused(api.create, **request)
            assert status == 501 and "allow_weaker" in message
        with api.sandbox(isolation="none") as sandbox:
            assert show(api, sandbox)["provider"] == "native"
    finally:
        server.remove_all()


def test_isolation_is_the_least_that_is_accepted(api):
    with api.sandbox(isolation="namespaces") as sandbox:
        assert show(api, sandbox)["provider"] == "native"
    status, message = refused(api.create, isolation="microvm")
    assert status == 501
    assert "native: its isolation is namespaces" in message and "bare: its isolation is none" in message
    assert refused(api.create, provider="bare", isolation="namespaces")[0] == 501


def test_unknown_words_are_refused_with_the_known_ones(api):
    status, message = refused(api.create, provider="cloud")
    assert status == 400 and "native, bare, nothing" in message
    status, message = refused(api.create, isolation="strong")
    assert status == 400 and "microvm" in message


def test_a_full_provider_takes_no_more(api):
    made = [api.create(provider="nothing")["id"] for _ in range(2)]
    try:
        status, message = refused(api.create, provider="nothing")
        assert status == 503 and "it has 2 sandboxes, its limit" in message
    finally:
        for sandbox in made:
            api.remove(sandbox)
    with api.sandbox(provider="nothing") as sandbox:
        assert show(api, sandbox)["isolation"] == "nothing runs"


def test_a_list_is_filtered_by_provider_and_isolation(api):
    with api.sandbox() as native, api.sandbox(provider="bare") as bare:
        def found(query):
            return {s["id"] for s in api.get(f"/api/sandbox/instances?{query}")["items"]}
        assert found("provider=bare") == {bare}
        assert found("isolation=namespaces") == {native}


def test_a_lease_keeps_its_provider(api):
    lease = api.post("/v1/leases/acquire", {"key": "one", "provider": "bare", "template": "host"})
    try:
        assert lease["type"] == "bare"
        assert api.get("/v1/leases/one")["specification"]["provider"] == "bare"
    finally:
        api.delete("/v1/leases/one")


def test_each_sandbox_is_found_again_by_its_own_provider():
    server = providers("native,bare=host:allow_weaker=true")
    try:
        api = server.api()
        made = [api.create()["id"], api.create(provider="bare")["id"]]
        texts = [api.exec(s, "cat /proc/sys/kernel/random/uuid > id; cat id")["stdout"] for s in made]
        server.kill9("api")
        server.wait_ready()
        api = server.api()
        assert [api.exec(s, "cat id")["stdout"] for s in made] == texts
    finally:
        server.remove_all()


def restarted(server, text):
    server.stop()
    server.flags = ["--providers", text, "--host-keep", "true"]
    server.start()
    return server.api()


def test_sandboxes_of_an_absent_provider_are_left_alone():
    server = atoll.Server(flags=["--providers", "native,bare=host:allow_weaker=true", "--host-keep", "true"]).start()
    try:
        api = server.api()
        bare = api.create(provider="bare", persistent=True)["id"]
        api.exec(bare, "echo kept > file")
        api = restarted(server, "native")
        assert show(api, bare)["state"] == "started"
        status, message = refused(api.exec, bare, "true")
        assert status == 503 and "'bare'" in message
        assert refused(api.remove, bare)[0] == 503
        api = restarted(server, "native,bare=host:allow_weaker=true")
        assert api.exec(bare, "cat file")["stdout"] == "kept\n"
    finally:
        server.remove_all()


def test_each_provider_shows_its_health(server, api):
    with api.sandbox(provider="bare"):
        listed = {p["name"]: p for p in api.get("/v1/providers")["items"]}
        assert list(listed) == ["native", "bare", "nothing"]
        assert [p["primary"] for p in listed.values()] == [True, False, False]
        bare = listed["bare"]
        assert (bare["kind"], bare["isolation"], bare["sandboxes"]) == ("host", "none", 1)
        assert bare["healthy"] and bare["creates"] > 0 and bare["p99_ms"] >= bare["p50_ms"] > 0
        assert "take snapshots" in listed["native"]["abilities"] and "take snapshots" not in bare["abilities"]
        assert listed["nothing"]["max_sandboxes"] == 2
        ready = api.get("/readyz")["providers"]
        assert [(p["name"], p["healthy"]) for p in ready] == [(name, True) for name in listed]
        metrics = api.raw("GET", "/metrics").body.decode()
        assert 'atoll_provider_sandboxes{provider="bare"} 1' in metrics
        assert 'atoll_provider_healthy{provider="native"} 1' in metrics


def test_a_check_makes_a_sandbox_and_ends_it(server, api):
    for name in ("native", "bare", "nothing"):
        checked = api.post(f"/v1/providers/{name}/check")
        assert checked["name"] == name and (checked["took_ms"] > 0 or name == "nothing")
    assert refused(api.post, "/v1/providers/cloud/check") == (404, "no provider 'cloud'")
    shown = server.cli("provider", "ls", text=True)
    assert "bare" in shown.stdout and "healthy" in shown.stdout
    assert "host-files" in server.cli("run", "--template", "host", "--provider", "bare", "pwd", text=True).stdout
    assert "microvm" in server.cli("run", "--template", "host", "--isolation", "microvm", "pwd", text=True).stderr
    assert "ended it in" in server.cli("provider", "check", "bare", text=True).stdout


def test_a_configuration_is_refused_with_its_mistake(server):
    for text, why in [("native,native", "'native' is there twice"), ("a=cloud", "unknown kind 'cloud'"),
                      ("native:max=3", "unknown setting 'max'"), ("native:max_sandboxes=x", "max_sandboxes")]:
        shown = server.cli("config", f"--providers={text}", text=True)
        assert shown.returncode != 0 and why in shown.stderr, shown


def test_a_file_lists_providers(tmp_path, server):
    file = tmp_path / "atoll.yaml"
    file.write_text("providers:\n  - name: native\n  - name: bare\n    kind: host\n    max_sandboxes: 3\n    allow_weaker: true\n")
    shown = server.cli("config", f"--config={file}", text=True).stdout
    assert "native=native,bare=host:max_sandboxes=3;allow_weaker=true" in shown


def test_a_config_that_no_provider_can_meet_is_refused(api):
    configs = "/accounts/me/sandboxes"
    status, message = refused(api.post, configs, {"name": "cloud", "config": {"provider": "cloud"}})
    assert status == 400 and "native, bare, nothing" in message
    made = api.post(configs, {"name": "strong", "config": {"isolation": "namespaces", "provider": "native"}})
    try:
        status, message = refused(api.call, "PATCH", f"{configs}/strong", {"config": {"isolation": "microvm"}})
        assert status == 501 and "native: its isolation is namespaces, less than microvm" in message and "nothing:" in message
        assert refused(api.post, configs, {"name": "both", "config": {"isolation": "namespaces", "provider": "bare"}})[0] == 501
        assert api.get(f"{configs}/strong")["config"] == made["config"]
    finally:
        api.delete(f"{configs}/strong")
    assert api.post(configs, {"name": "weak", "config": {"provider": "bare"}})["config"]["provider"] == "bare"
    api.delete(f"{configs}/weak")


def test_a_refused_create_hints_at_the_list(api):
    with pytest.raises(atoll.ApiError) as caught:
        api.create(isolation="microvm")
    assert "GET /v1/providers" in caught.value.body["error"]["hint"]


def test_every_project_is_told_of_a_provider_that_fails():
    server = atoll.Server(flags=["--providers", "nothing=null,far=docker", "--docker-host", "unix:///nonexistent/docker.sock"]).start()
    try:
        api = server.api()
        far = next(p for p in api.get("/v1/providers")["items"] if p["name"] == "far")
        assert "keep pools" in far["unsupported"] and not set(far["unsupported"]) & set(far["abilities"])
        for _ in range(3):
            assert refused(api.post, "/v1/providers/far/check")[0] == 503
        other = api.post("/v1/projects", {"name": "other", "owner": "ann@example.com"})["id"]
        for project in ("default", other):
            def told():
                answer = api.raw("GET", "/v1/events?kind=provider.*", headers={"X-Atoll-Project": project}).json()
                return [e["kind"] for e in answer["items"]]
            atoll.wait_for(lambda told=told: told() == ["provider.unhealthy"])
    finally:
        server.remove_all()
