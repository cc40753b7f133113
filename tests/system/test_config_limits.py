# SPDX-License-Identifier: Apache-2.0
"""Limits of a config hold for whatever runs in its sandboxes: commands, code, jobs, tools, leases, each surface."""

import json
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
CONFIGS = "/accounts/me/sandboxes"
INSTANCES = "/api/sandbox/instances"
LOUD = "head -c 50000 /dev/zero | tr '\\0' x"
LIMIT, KEPT = 2000, 2200  # and the line that tells how much was cut


@pytest.fixture(scope="module")
def limited(server):
    """A sandbox of a config, and a lease's."""
    api = server.api()
    name, key = f"limits-{time.time_ns()}", f"limits:{time.time_ns()}"
    api.post(CONFIGS, {"name": name, "config": {
        "template": "host", "internet": False, "timeout": 1, "outputLimitBytes": LIMIT, "memoryLimit": 128}})
    box = api.post(INSTANCES, {"config": name, "resources": {"memory_mb": 512}})
    api.post("/v1/tools/bash", {"lease": key, "config": name, "input": {"command": "true"}})
    yield {"box": box, "key": urllib.parse.quote(key, safe=""), "config": name}
    api.remove(box["id"])
    api.delete(f"/v1/leases?prefix={urllib.parse.quote(key, safe='')}")
    api.delete(f"{CONFIGS}/{name}")


def paths(limited):
    return {"sandbox": f"{INSTANCES}/{limited['box']['id']}", "lease": f"/v1/leases/{limited['key']}"}


@pytest.mark.parametrize("where", ["sandbox", "lease"])
@pytest.mark.parametrize("more", [{}, {"timeout_ms": 60000}])
def test_a_command_has_the_time_of_the_config(api, limited, where, more):
    began = time.monotonic()
    ended = api.post(f"{paths(limited)[where]}/exec", {"command": "sleep 90", **more})
    assert ended["timed_out"] and time.monotonic() - began < 50


@pytest.mark.parametrize("where", ["sandbox", "lease"])
def test_code_has_the_time_of_the_config(api, limited, where):
    began = time.monotonic()
    ended = api.post(f"{paths(limited)[where]}/code", {"language": "bash", "code": "sleep 90"})
    assert ended["timed_out"] and time.monotonic() - began < 50


def test_code_of_a_context_has_the_time_of_the_config(api, limited):
    api.post(f"{paths(limited)['sandbox']}/code", {"language": "python", "contextId": "default", "code": "1"})
    began = time.monotonic()
    ended = api.post(f"{paths(limited)['sandbox']}/code",
                     {"language": "python", "contextId": "default", "code": "import time; time.sleep(90)"})
    assert ended["timed_out"] and time.monotonic() - began < 50


@pytest.mark.parametrize("way", ["exec", "tool"])
def test_a_job_has_the_time_of_the_config(api, limited, way):
    box = limited["box"]["id"]
    if way == "exec":
        job = api.post(f"{INSTANCES}/{box}/exec", {"command": "sleep 300", "background": True})["resultId"]
    else:
        told = api.post("/v1/tools/bash", {"sandboxId": box, "input": {"command": "sleep 300", "background": True}})
        job = told["structuredContent"]["resultId"]
    atoll.wait_for(lambda: api.get(f"/v1/jobs/{job}")["status"] != "running", 60, "the job's end")
    assert "time" in api.get(f"/v1/jobs/{job}")["reason"]


def test_a_command_by_daytonas_surface_has_the_time_of_the_config(api, limited):
    began = time.monotonic()
    body = json.dumps({"command": "sleep 90", "timeout": 60})
    ended = api.raw("POST", f"/daytona/toolbox/{limited['box']['id']}/process/execute", body, {"Content-Type": "application/json"})
    assert ended.status == 408 and time.monotonic() - began < 50


@pytest.mark.parametrize("where", ["sandbox", "lease"])
@pytest.mark.parametrize("more", [{}, {"outputLimitBytes": 40000}])
def test_a_result_has_the_bytes_of_the_config_and_says_so(api, limited, where, more):
    ended = api.post(f"{paths(limited)[where]}/exec", {"command": LOUD, **more})
    assert ended["truncated"] and LIMIT <= len(ended["stdout"]) <= KEPT
    less = api.post(f"{paths(limited)[where]}/exec", {"command": LOUD, "outputLimitBytes": 100})
    assert less["truncated"] and len(less["stdout"]) < 300
    short = api.post(f"{paths(limited)[where]}/exec", {"command": "echo short"})
    assert not short["truncated"] and short["stdout"] == "short\n"


def test_a_wait_for_a_process_has_the_bytes_of_the_config(api, limited):
    made = api.exec(limited["box"]["id"], LOUD, background=True)
    ended = api.get(f"{INSTANCES}/{limited['box']['id']}/processes/{made['process']}/wait")
    assert ended["truncated"] and LIMIT <= len(ended["stdout"]) <= KEPT


def test_memory_is_at_most_the_configs(api, limited):
    assert limited["box"]["resources"]["memory_mb"] == 128
    with pytest.raises(atoll.ApiError) as refused:
        api.post(f"{INSTANCES}/{limited['box']['id']}/resize", {"memory_mb": 256})
    assert refused.value.status == 429 or refused.value.status == 400
    assert "128" in str(refused.value)
    assert api.post(f"{INSTANCES}/{limited['box']['id']}/resize", {"memory_mb": 100})["resources"]["memory_mb"] == 100


def test_runtimes_are_those_of_the_config(api):
    name = f"runtimes-{time.time_ns()}"
    api.post(CONFIGS, {"name": name, "config": {"template": "host", "internet": False, "runtimes": ["bash"]}})
    box = api.post(INSTANCES, {"config": name})["id"]
    try:
        for call, body in ((("exec"), {"command": "python3 -c 1"}), ("exec", {"cmd": "python3", "args": ["-c", "1"]}),
                           ("code", {"language": "python", "code": "1"})):
            with pytest.raises(atoll.ApiError) as refused:
                api.post(f"{INSTANCES}/{box}/{call}", body)
            assert refused.value.status == 403 and "bash" in str(refused.value)
        assert api.exec(box, "echo fine")["stdout"] == "fine\n"
        # The limits are the config's as it is now, and gone with it.
        api.call("PATCH", f"{CONFIGS}/{name}", {"config": {"runtimes": ["python"]}})
        assert api.exec(box, "python3 -c 'print(1)'")["stdout"] == "1\n"
    finally:
        api.delete(f"{CONFIGS}/{name}")
        assert api.exec(box, "echo still")["stdout"] == "still\n"
        api.remove(box)


def test_new_labels_do_not_free_a_sandbox_of_its_config(api, limited):
    box = limited["box"]["id"]
    api.call("PUT", f"/daytona/api/sandbox/{box}/labels", {"labels": {"mine": "1", "atoll.config": "another"}})
    labels = api.get(f"{INSTANCES}/{box}")["labels"]
    assert labels == {"mine": "1", "atoll.config": limited["box"]["labels"]["atoll.config"]}
    assert api.post(f"{INSTANCES}/{box}/exec", {"command": "sleep 8"})["timed_out"]


# ---- who may widen a config ----

LIMITED = {"template": "host", "internet": False, "timeout": 5, "outputLimitBytes": LIMIT, "memoryLimit": 128,
           "runtimes": ["bash"], "permissionMode": "edit"}


@pytest.fixture(scope="module")
def writer(server):
    """A key that may make and use sandboxes, and not change the project."""
    api = server.api()
    made = api.post("/api/sandbox/keys", {"name": "writer", "scopes": ["sandbox:read", "sandbox:write"]})
    own = server.api(made["key"])
    yield own
    own.close()
    api.delete(f"/api/sandbox/keys/{made['id']}")


@pytest.fixture
def strict(api):
    name = f"strict-{time.time_ns()}"
    made = api.post(CONFIGS, {"name": name, "config": LIMITED})
    yield f"{CONFIGS}/{made['id']}"
    api.delete(f"{CONFIGS}/{made['id']}")


def without(name):
    return {key: value for key, value in LIMITED.items() if key != name}


WIDER = {"timeout": {**LIMITED, "timeout": 6}, "outputLimitBytes": {**LIMITED, "outputLimitBytes": 4000},
         "memoryLimit": {**LIMITED, "memoryLimit": 256}, "runtimes": {**LIMITED, "runtimes": ["bash", "python"]},
         "permissionMode": {**LIMITED, "permissionMode": "bypass"}}


@pytest.mark.parametrize("limit", WIDER)
@pytest.mark.parametrize("how", ["wider", "left out"])
def test_a_key_that_a_config_limits_does_not_widen_it(api, writer, strict, limit, how):
    body = {"config": WIDER[limit] if how == "wider" else without(limit)}
    with pytest.raises(atoll.ApiError) as refused:
        writer.call("PATCH", strict, body)
    assert refused.value.status == 403 and limit in str(refused.value) and "project:write" in str(refused.value)
    assert api.get(strict)["config"] == LIMITED
    api.call("PATCH", strict, body)  # who may change the project may


def test_it_may_narrow_it_and_change_the_rest(api, writer, strict):
    changed = {**LIMITED, "timeout": 2, "memoryLimit": 64, "internet": True, "lifecycle": {"idleTimeoutSeconds": 60}, "permissionMode": "ask"}
    assert writer.call("PATCH", strict, {"config": changed})["config"] == changed


def test_it_neither_renames_nor_deletes_it(api, writer, strict):
    for call in (lambda: writer.call("PATCH", strict, {"name": f"other-{time.time_ns()}"}), lambda: writer.delete(strict)):
        with pytest.raises(atoll.ApiError) as refused:
            call()
        assert refused.value.status == 403 and "project:write" in str(refused.value)
    free = writer.post(CONFIGS, {"name": f"free-{time.time_ns()}", "config": {"template": "host"}})
    writer.call("PATCH", f"{CONFIGS}/{free['id']}", {"name": free["name"] + "x"})
    writer.delete(f"{CONFIGS}/{free['id']}")


def asks_for_approval(call):
    assert call({"command": "true"})["approvalId"]


def refuses_more_time(call):
    with pytest.raises(atoll.ApiError) as refused:
        call({"command": "true", "timeout_ms": 8000})
    assert refused.value.status == 400 and "2000" in str(refused.value)


def refuses_a_runtime(call):
    with pytest.raises(atoll.ApiError) as refused:
        call({"command": "python3 -c 1"})
    assert refused.value.status == 403 and "bash" in str(refused.value)


def cuts_output(call):
    assert len(call({"command": LOUD})["structuredContent"]["stdout"]) <= KEPT


@pytest.mark.parametrize("narrow,check", [({"permissionMode": "edit"}, asks_for_approval), ({"timeout": 2}, refuses_more_time),
                                          ({"runtimes": ["bash"]}, refuses_a_runtime), ({"outputLimitBytes": LIMIT}, cuts_output)])
def test_a_config_that_a_call_names_widens_nothing(api, writer, narrow, check):
    made = [writer.post(CONFIGS, {"name": f"{name}-{time.time_ns()}", "config": {"template": "host", "internet": False, **limits}})["id"]
            for name, limits in (("narrow", narrow), ("wide", {"permissionMode": "bypass", "timeout": 60}))]
    box = api.post(INSTANCES, {"config": made[0]})["id"]
    try:
        check(lambda given: writer.post("/v1/tools/bash", {"sandboxId": box, "config": made[1], "approvalWaitMs": 0, "input": given}))
    finally:
        api.remove(box)
        for config in made:
            api.delete(f"{CONFIGS}/{config}")
