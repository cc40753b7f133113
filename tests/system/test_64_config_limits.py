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
