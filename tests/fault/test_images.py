# SPDX-License-Identifier: Apache-2.0
"""kill -9 while a create pulls its image: nothing half-made is used or left, and the next create pulls again."""

import contextlib
import http.client
import os
import re
import signal
import threading

import pytest

import atoll
from image_registry import Registry
from small_root import as_tar, busybox
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
TEMPLATES, INSTANCES = "/api/sandbox/templates", "/api/sandbox/instances"
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)
STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("template-")]


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = busybox(tmp_path_factory.mktemp("root"))
    tar = as_tar(folder, folder.parent / "root.tar").read_bytes()
    running = Registry(tmp_path_factory.mktemp("registry"))
    running.root = tar
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def image(registry):
    registry.put_image("app", "1", [(registry.root, "gzip")], {"Env": ["FROM_IMAGE=yes"]})
    return f"{registry.address}/app:1"


def works_again(server, image, folders):
    api = server.api()
    for template in api.get(TEMPLATES)["items"]:
        assert template["state"] != "building" and (template["base_image"] != image or template["state"] != "failed"), template
    box = api.post(INSTANCES, {"image": image, "internet": False})
    assert api.exec(box["id"], "echo $FROM_IMAGE")["stdout"] == "yes\n"
    api.delete(f"{INSTANCES}/{box['id']}")
    made, = [t for t in api.get(TEMPLATES)["items"] if t["base_image"] == image]
    left = {path.name for path in (server.data / "templates").iterdir()} - folders
    assert len(left) == 2, f"more than the folder and the description of {made['id']}: {left}"
    for other in api.get(INSTANCES)["items"]:
        assert other["state"] == "failed", other
        api.delete(f"{INSTANCES}/{other['id']}")


def test_the_steps_are_known():
    assert len(STEPS) >= 2


@pytest.mark.parametrize("wait", ["true", "false"])
@pytest.mark.parametrize("step", STEPS)
def test_the_api_process_dies_at_a_step_of_a_pull(private_server, image, step, wait):
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    folders = {path.name for path in (private_server.data / "templates").iterdir()}
    with contextlib.suppress(*FAILURES):
        private_server.api(timeout=8).post(f"{INSTANCES}?wait={wait}", {"image": image, "internet": False})
        atoll.wait_for(lambda: False, 3, "the end of the process")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    works_again(private_server, image, folders)


def test_the_broker_dies_during_a_pull(private_server, image):
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.start()
    folders = {path.name for path in (private_server.data / "templates").iterdir()}
    failures = []

    def create():
        try:
            api = private_server.api(timeout=60)
            api.delete(f"{INSTANCES}/{api.post(INSTANCES, {'image': image, 'internet': False})['id']}")
        except FAILURES as failure:
            failures.append(failure)

    running = threading.Thread(target=create)
    running.start()
    atoll.wait_for(lambda: any(t["state"] == "building" for t in private_server.api().get(TEMPLATES)["items"]), 20, "the pull")
    private_server.kill9("broker")
    running.join(60)
    assert not running.is_alive()
    atoll.wait_for(lambda: private_server.pid_of("broker"), 30, "another broker")
    works_again(private_server, image, folders)


@pytest.mark.parametrize("step", STEPS)
def test_the_api_process_dies_while_it_pulls_a_newer_image(private_server, registry, step):
    image = f"{registry.address}/moving:{step}"
    registry.put_image("moving", step, [(registry.root, "gzip")], {"Env": ["FROM_IMAGE=old"]})
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.start()
    api = private_server.api()
    old = api.post(INSTANCES, {"image": image, "internet": False, "persistent": True})
    registry.put_image("moving", step, [(registry.root, "gzip")], {"Env": ["FROM_IMAGE=new"]})
    private_server.stop()
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    with contextlib.suppress(*FAILURES):
        private_server.api(timeout=8).post(INSTANCES, {"image": image, "internet": False, "pull": "always"})
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    # The old image is there still, and the next create that asks gets the new one.
    for pull, value in (("never", "old"), ("always", "new"), ("never", "new")):
        box = api.post(INSTANCES, {"image": image, "internet": False, "pull": pull})
        assert api.exec(box["id"], "echo $FROM_IMAGE")["stdout"].strip() == value, pull
        api.delete(f"{INSTANCES}/{box['id']}")
    assert api.exec(old["id"], "echo $FROM_IMAGE")["stdout"] == "old\n"
    rows = [t for t in api.get(TEMPLATES)["items"] if t["base_image"] == image]
    assert sorted(t["state"] for t in rows) == ["ready", "ready"] and not any("+" in t["name"] for t in rows), rows


def kill_all(server):
    """As a power cut does: each process of the server at once."""
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(20)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["api", "server"])
def test_a_default_template_is_built_after_a_kill_in_the_middle(private_server, victim):
    """The sandbox that waited says so; the next create begins the build anew, and what the first left is gone."""
    private_server.start()
    folder, path = private_server.data / "templates", f"{TEMPLATES}/minimal"
    request = {"template": "minimal", "internet": False}
    waited = private_server.api().post(f"{INSTANCES}?wait=false", request)["id"]

    def is_in_the_middle():
        row = private_server.api().get(path)
        return row["state"] == "building" and int(re.match(r"(\d+) %", row["state_text"])[1]) > 5
    atoll.wait_for(is_in_the_middle, 60, "the build's middle")
    if victim == "api":
        private_server.kill9("api")
        private_server.wait_ready()
    else:
        kill_all(private_server)
        private_server.start()
    api = private_server.api(timeout=300)
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{waited}")["state"] == "failed", 30, "the failure of the sandbox that waited")
    assert "the server went away" in api.get(f"{INSTANCES}/{waited}")["last_event"]["text"]
    assert api.get(path)["state"] != "failed"
    box = api.post(INSTANCES, request)["id"]
    assert api.get(path)["state"] == "ready" and api.exec(box, "echo works")["stdout"] == "works\n"
    assert {path.name for path in folder.iterdir() if "minimal" in path.name} == {"minimal", ".minimal.json"}
