# SPDX-License-Identifier: Apache-2.0
"""Routing rules, limits of providers, providers that are added at run time, and defaults of templates and projects."""

import contextlib
import json

import atoll
import pytest

import fake_docker

PROVIDERS = "native,bare=host:allow_weaker=true;max_sandboxes=1,nothing=null:allow_weaker=true"
RULES = ("small:memory_mb_max=128;providers=nothing,gold:label=tier=gold;providers=bare nothing,"
         "kernel:isolation=gvisor;providers=bare native,far:project=elsewhere;providers=bare")


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", PROVIDERS, "--routing", RULES]).start()
    yield server
    server.remove_all()


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value.status, caught.value.message


def show(api, sandbox):
    return api.get(f"/api/sandbox/instances/{sandbox}")


def placed(api, sandbox):
    shown = show(api, sandbox)
    return shown["provider"], shown["placed"]


@contextlib.contextmanager
def routing(api, *rules):
    api.call("PUT", "/v1/routing", {"rules": list(rules)})
    try:
        yield
    finally:
        api.delete("/v1/routing")


def test_the_first_matching_rule_decides(api):
    with api.sandbox(resources={"memory_mb": 64}) as sandbox:
        assert placed(api, sandbox) == ("nothing", "rule 'small'")
    with api.sandbox(resources={"memory_mb": 64}, labels={"tier": "gold"}) as sandbox:
        assert placed(api, sandbox) == ("nothing", "rule 'small'")
    with api.sandbox(labels={"tier": "silver"}) as sandbox:
        assert placed(api, sandbox) == ("native", None)


def test_a_full_provider_of_a_rule_gives_way_to_the_next(api):
    with api.sandbox(labels={"tier": "gold"}) as first, api.sandbox(labels={"tier": "gold"}) as second:
        assert placed(api, first) == ("bare", "rule 'gold'")
        provider, why = placed(api, second)
        assert provider == "nothing" and "rule 'gold'; not bare: it has 1 sandboxes, its limit" == why


def test_a_request_that_names_a_provider_needs_no_rule(api):
    with api.sandbox(labels={"tier": "gold"}, provider="native") as sandbox:
        assert placed(api, sandbox) == ("native", "named by the request")


def test_no_rule_makes_isolation_weaker_than_asked(api):
    status, message = refused(api.create, labels={"tier": "gold"}, isolation="namespaces")
    assert status == 501 and "bare: its isolation is none, less than namespaces" in message
    status, message = refused(api.create, isolation="gvisor")
    assert status == 501 and "native: its isolation is namespaces, less than gvisor" in message


def test_rules_are_set_at_run_time_and_reset(server, api):
    assert api.get("/v1/routing")["source"] == "configuration"
    rule = {"name": "all", "template": "host", "cpu_min": 0.1, "price_max": 1000, "providers": ["nothing", "native"]}
    with routing(api, rule):
        shown = api.get("/v1/routing")
        assert shown["source"] == "stored" and shown["rules"] == [rule]
        with api.sandbox() as sandbox:
            assert placed(api, sandbox) == ("nothing", "rule 'all'")
        assert "all" in server.cli("routing", "ls", text=True).stdout
    assert [r["name"] for r in api.get("/v1/routing")["rules"]] == ["small", "gold", "kernel", "far"]


def test_bad_rules_are_refused(api):
    for rule, why in [({"name": "a", "providers": ["cloud"]}, "unknown 'cloud'"), ({"name": "a", "providers": []}, "providers"),
                      ({"name": "a", "providers": ["native"], "isolation": "strong"}, "isolation"),
                      ({"name": "a", "providers": ["native"], "memory_mb_min": 9, "memory_mb_max": 3}, "memory_mb_min is above"),
                      ({"name": "a", "providers": ["native"], "label": "a,b"}, "label")]:
        status, message = refused(api.call, "PUT", "/v1/routing", {"rules": [rule]})
        assert status == 400 and why in message, message
    assert api.get("/v1/routing")["source"] == "configuration"


def test_rules_of_a_file_are_refused_with_their_line(tmp_path, server):
    file = tmp_path / "atoll.yaml"
    file.write_text("routing:\n  - name: one\n    providers: native\n  - name: two\n    memory: 3\n    providers: [native]\n")
    shown = server.cli("config", f"--config={file}", text=True)
    assert shown.returncode != 0 and ":4: routing: rule 'two': memory: it is unknown; known: project" in shown.stderr
    file.write_text("routing:\n  - name: one\n    providers: cloud\n")
    shown = server.cli("config", f"--config={file}", text=True)
    assert shown.returncode != 0 and "unknown 'cloud'; configured: native" in shown.stderr


def test_templates_and_projects_have_defaults(api):
    api.post("/api/sandbox/templates", {"name": "lean", "from": "host", "provider": "nothing"})
    try:
        with api.sandbox(template="lean") as sandbox:
            assert placed(api, sandbox) == ("nothing", "named by template 'lean'")
        with api.sandbox(template="lean", provider="native") as sandbox:
            assert show(api, sandbox)["provider"] == "native"
        with api.sandbox(template="lean", isolation="namespaces") as sandbox:
            assert show(api, sandbox)["provider"] == "native"
        api.call("PATCH", "/v1/projects/me", {"provider": "bare"})
        with api.sandbox() as sandbox:
            assert placed(api, sandbox) == ("bare", "named by project 'default'")
        with api.sandbox(template="lean") as sandbox:
            assert show(api, sandbox)["provider"] == "nothing"
        api.call("PATCH", "/v1/projects/me", {"provider": "", "isolation": "namespaces"})
        assert refused(api.create, template="lean")[0] == 501
        assert api.get("/api/sandbox/settings")["default_isolation"] == "namespaces"
        api.call("PATCH", "/v1/projects/me", {"isolation": ""})
        shown = api.get("/api/sandbox/settings")["default_isolation"]
        api.call("PUT", "/api/sandbox/settings", {"default_isolation": shown})
        with api.sandbox(template="lean") as sandbox:
            assert show(api, sandbox)["provider"] == "nothing", "settings that are sent back as read change nothing"
    finally:
        api.call("PATCH", "/v1/projects/me", {"provider": "", "isolation": ""})
        api.delete("/api/sandbox/templates/lean")
    assert refused(api.call, "PATCH", "/v1/projects/me", {"provider": "cloud"})[0] == 400
    assert refused(api.call, "PATCH", "/v1/projects/me", {"isolation": "microvm"})[0] == 501


def add(api, name, kind="null", **settings):
    return api.post("/v1/providers", {"name": name, "kind": kind, "settings": {k: str(v) for k, v in settings.items()}})


def listed(api, name):
    return next((p for p in api.get("/v1/providers")["items"] if p["name"] == name), None)


def test_a_provider_is_added_used_and_removed_without_a_restart(server, api):
    add(api, "extra", allow_weaker="true", max_sandboxes=5, token="s3cret")
    shown = listed(api, "extra")
    assert shown["stored"] and shown["connected"] and shown["max_sandboxes"] == 5 and "token" not in json.dumps(shown)
    assert refused(add, api, "extra") == (409, "there is a provider 'extra' already")
    with api.sandbox(provider="extra") as sandbox:
        status, message = refused(api.delete, "/v1/providers/extra")
        assert status == 409 and "has 1 sandboxes" in message
        assert show(api, sandbox)["provider"] == "extra"
    server.kill9("api")
    server.wait_ready()
    api = server.api()
    with api.sandbox(provider="extra") as sandbox:
        assert show(api, sandbox)["provider"] == "extra"
    assert "extra is removed" in server.cli("provider", "rm", "extra", text=True).stdout
    assert listed(api, "extra") is None
    status, message = refused(api.create, provider="extra")
    assert status == 400 and "unknown 'extra'" in message
    assert refused(api.delete, "/v1/providers/extra")[0] == 404
    database = b"".join(p.read_bytes() for p in (server.data / "store").iterdir())
    assert b"s3cret" not in database


def test_a_drained_provider_is_removed_after_its_last_sandbox(server, api):
    assert server.cli("provider", "add", "brief", "--kind", "null", "--set", "allow_weaker=true", text=True).returncode == 0
    sandbox = api.create(provider="brief")["id"]
    assert "brief drains" in server.cli("provider", "rm", "--drain", "brief", text=True).stdout
    assert listed(api, "brief")["draining"]
    status, message = refused(api.create, provider="brief")
    assert status == 503 and "being removed" in message
    api.remove(sandbox)
    atoll.wait_for(lambda: listed(api, "brief") is None, what="removal of the drained provider")
    add(api, "brief", allow_weaker="true")
    with api.sandbox(provider="brief") as sandbox:
        assert show(api, sandbox)["provider"] == "brief"
    api.delete("/v1/providers/brief")


def test_bad_additions_are_refused(api):
    for name, kind, settings, status, why in [
            ("x", "cloud", {}, 400, "unknown kind 'cloud'"), ("native", "null", {}, 409, "configuration"),
            ("x", "null", {"max_sandboxes": "many"}, 400, "max_sandboxes"), ("A B", "null", {}, 400, "name"),
            ("x", "null", {"microvm_kernel": "/"}, 400, "unknown setting"), ("x", "null", {"max_cost_day": "3"}, 400, "price_hour"),
            ("x", "docker", {"docker_host": "a,b"}, 400, "docker_host")]:
        assert refused(add, api, name, kind, **settings)[0] == status
        assert why in refused(add, api, name, kind, **settings)[1]
    assert refused(api.delete, "/v1/providers/native")[0] == 409
    assert listed(api, "x") is None
    other = api.post("/api/sandbox/keys", {"name": "member", "scopes": ["sandbox:read", "sandbox:write"]})
    member = api.clone(other["key"])
    assert refused(add, member, "x")[0] == 403 and refused(member.get, "/v1/routing")[0] == 403
    kinds = {k["kind"]: k for k in api.get("/v1/providers/kinds")["items"]}
    assert [o["name"] for o in kinds["docker"]["options"]] == [
        "docker_host", "docker_image", "docker_images", "docker_logins", "docker_runtime", "gpu_enabled", "gpu_network_enabled"]
    assert kinds["null"]["options"][0]["secret"]


def test_a_provider_at_its_limit_of_cost_makes_no_more(tmp_path):
    server = atoll.Server(flags=["--providers", "native,dear=null:allow_weaker=true;price_hour=100000;max_cost_day=1",
                                 "--usage-flush", "1s"]).start()
    try:
        api = server.api()
        with api.sandbox(provider="dear"):
            atoll.wait_for(lambda: listed(api, "dear")["cost_day"] >= 1, seconds=60, what="cost of the provider")
            status, message = refused(api.create, provider="dear")
            assert status == 503 and "US dollars today, its limit is 1.00" in message
        metrics = api.raw("GET", "/metrics").body.decode()
        assert 'atoll_provider_cost_day_micro_usd{provider="dear"}' in metrics
        assert 'atoll_provider_create_p99_seconds{provider="native"}' in metrics
    finally:
        server.remove_all()


def test_servers_on_one_store_share_added_providers_and_rules(tmp_path):
    """Two servers, one after the other, stand for two at once: the store alone connects them."""
    server = atoll.Server(flags=["--providers", "native"]).start()
    try:
        api = server.api()
        add(api, "shared", allow_weaker="true")
        api.call("PUT", "/v1/routing", {"rules": [{"name": "all", "providers": ["shared"]}]})
        server.stop()
        server.flags = ["--providers", "native,shared=host"]
        api = server.start().api()
        shown = [p for p in api.get("/v1/providers")["items"] if p["name"] == "shared"]
        assert [p["kind"] for p in shown] == ["host", "null"]
        assert "configuration of this server has another provider" in shown[1]["last_error"]
        server.stop()
        server.flags = ["--providers", "native"]
        api = server.start().api()
        with api.sandbox() as sandbox:
            assert placed(api, sandbox) == ("shared", "rule 'all'")
    finally:
        server.remove_all()
