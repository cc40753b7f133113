# SPDX-License-Identifier: Apache-2.0
"""Images by name: a create, a lease and a build pull what is missing, once, and keep it."""

import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

import atoll
from image_registry import PASSWORD, USER, compress, layer
from test_registry import CONFIG, HERE, guarded, public, registry, root, server  # noqa: F401 (fixtures)

pytestmark = pytest.mark.needs_root
TEMPLATES, INSTANCES = "/api/sandbox/templates", "/api/sandbox/instances"
BUILDS = TEMPLATES + "/builds"


@pytest.fixture(scope="module")
def app(public, root):
    """An image under some tags; each test takes its own."""
    for tag in ("plain", "pending", "together", "command", "tool", "lease", "sdk", "file", "copied", "kept", "other", "moving", "failing", "shared", "never", "line", "from"):
        public.put_image("app", tag, [(root, "gzip")], CONFIG, architecture=HERE)
    return f"{public.address}/app"


def named(api, image):
    return [t for t in api.get(TEMPLATES)["items"] if t["base_image"] == image]


def ids(api):
    return {box["id"] for box in api.get(INSTANCES)["items"]}


def created(api, image, **more):
    return api.post(INSTANCES, {"image": image, "internet": False, **more})


def test_a_create_pulls_its_image_once_and_keeps_it(api, app, public, root):
    image = f"{app}:plain"
    first = created(api, image)
    template, = named(api, image)
    assert template["state"] == "ready" and template["pulled"] and template["used_at"], template
    assert template["project"] and template["name"] == first["template"], (template, first)
    assert template["name"] == image.replace(":", "-").replace("/", "-"), "the name is that of the reference"
    said = api.exec(first["id"], "pwd; echo $FROM_IMAGE")
    assert said["stdout"] == "/opt\nyes\n", said
    # The registry has another one by now: what is there is used, without asking.
    public.put_image("app", "plain", [(root, "gzip")], {"Env": ["FROM_IMAGE=newer"]}, architecture=HERE)
    second = created(api, image)
    assert [t["id"] for t in named(api, image)] == [template["id"]]
    assert api.exec(second["id"], "echo $FROM_IMAGE")["stdout"] == "yes\n"
    for box in (first, second):
        api.delete(f"{INSTANCES}/{box['id']}")


def put(public, root, tag, value):
    return public.put_image("app", tag, [(root, "gzip")], {**CONFIG, "Env": [f"FROM_IMAGE={value}"]}, architecture=HERE)


def value_in(api, box):
    return api.exec(box["id"], "echo $FROM_IMAGE")["stdout"].strip()


def test_pull_always_follows_a_moving_tag(api, app, public, root):
    image = f"{app}:moving"
    first = created(api, image, pull="always")
    assert value_in(api, first) == "yes"
    # With the same digest no layer is loaded: the registry has none any more.
    blob = public.blob_path("sha256:" + hashlib.sha256(compress(root, "gzip")).hexdigest())
    kept = blob.read_bytes()
    blob.unlink()
    try:
        second = created(api, image, pull="always")
    finally:
        blob.write_bytes(kept)
    assert second["template"] == first["template"] and len(named(api, image)) == 1
    put(public, root, "moving", "newer")
    third = created(api, image, pull="always")
    assert value_in(api, third) == "newer" and value_in(api, first) == "yes"
    # Creates that do not ask get the newer one, too, and the older sandboxes still start.
    fourth = created(api, image)
    assert value_in(api, fourth) == "newer"
    assert sorted(t["name"] == t["id"] for t in named(api, image)) == [False, True], named(api, image)
    api.post(f"{INSTANCES}/{first['id']}/stop")
    api.post(f"{INSTANCES}/{first['id']}/start")
    assert value_in(api, first) == "yes"
    made = api.post(f"{INSTANCES}?wait=false", {"image": image, "internet": False, "pull": "always"})
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{made['id']}")["state"] == "started", 60, "the sandbox")
    for box in (first, second, third, fourth, made):
        api.delete(f"{INSTANCES}/{box['id']}")


def test_a_failed_pull_of_a_newer_image_leaves_the_older(api, app, public, root):
    image = f"{app}:failing"
    api.delete(f"{INSTANCES}/{created(api, image)['id']}")
    public.put_index("app", "failing", {"s390x": public.put_image("app", None, [(layer(a="x"), "")], architecture="s390x")})
    with pytest.raises(atoll.ApiError) as failure:
        created(api, image, pull="always")
    assert failure.value.status == 400 and "no image found" in str(failure.value) and f"pull image '{image}'" in str(failure.value)
    assert "import as" not in str(failure.value) and "template '" not in str(failure.value), failure.value
    box = created(api, image)
    assert value_in(api, box) == "yes"
    api.delete(f"{INSTANCES}/{box['id']}")
    put(public, root, "failing", "mended")
    box = created(api, image, pull="always")
    assert value_in(api, box) == "mended"
    api.delete(f"{INSTANCES}/{box['id']}")


def test_creates_at_once_ask_for_a_newer_image_once(server, api, app, public, root):
    image = f"{app}:shared"
    created(api, image)
    put(public, root, "shared", "newer")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        boxes = list(pool.map(lambda _: created(server.api(), image, pull="always"), range(6)))
    assert {value_in(api, box) for box in boxes} == {"newer"}
    assert len([t for t in named(api, image) if t["name"] != t["id"]]) == 1, named(api, image)
    for box in boxes:
        api.delete(f"{INSTANCES}/{box['id']}")


def test_pull_never_takes_what_is_there(api, app):
    image = f"{app}:never"
    with pytest.raises(atoll.ApiError) as failure:
        created(api, image, pull="never")
    assert failure.value.status == 404 and image in str(failure.value) and "not on this server" in str(failure.value)
    assert "missing" in failure.value.hint and named(api, image) == []
    api.delete(f"{INSTANCES}/{created(api, image, pull='missing')['id']}")
    api.delete(f"{INSTANCES}/{created(api, image, pull='never')['id']}")


def test_an_image_with_settings_is_not_replaced(api, app):
    image = f"{app}:kept"
    api.delete(f"{INSTANCES}/{created(api, image)['id']}")
    template, = named(api, image)
    api.call("PATCH", f"{TEMPLATES}/{template['id']}", {"description": "mine"})
    with pytest.raises(atoll.ApiError) as failure:
        created(api, image, pull="always")
    assert failure.value.status == 409 and template["name"] in str(failure.value) and failure.value.hint, failure.value


def test_pull_on_the_command_line(server, api, app, public, root, tmp_path):
    image = f"{app}:line"
    words = ("run", "--no-internet", "--image", image, "--", "sh", "-c", "echo $FROM_IMAGE")
    said = server.cli("run", "--pull=never", *words[1:], text=True)
    assert said.returncode != 0 and "not on this server" in said.stderr, said
    assert server.cli(*words, text=True).stdout == "yes\n"
    put(public, root, "line", "newer")
    assert server.cli("run", "--pull=missing", *words[1:], text=True).stdout == "yes\n"
    assert server.cli("run", "--pull=always", *words[1:], text=True).stdout == "newer\n"
    said = server.cli("run", "--pull=sometimes", *words[1:], text=True)
    assert said.returncode != 0 and "missing, always, never" in said.stderr, said
    said = server.cli("run", "--pull=always", "-t", "host", "--", "true", text=True)
    assert said.returncode != 0 and "--image" in said.stderr, said


def test_a_build_asks_for_a_newer_image(server, app, public, root, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {app}:from\nRUN echo value=$FROM_IMAGE > /value\n")

    def built(*more):
        said = server.cli("template", "build", "--file", tmp_path / "Dockerfile", "--name", "from-moving", *more, text=True, timeout=120)
        assert said.returncode == 0, said
        return server.cli("run", "--no-internet", "-t", "from-moving", "--", "cat", "/value", text=True).stdout
    assert built() == "value=yes\n"
    put(public, root, "from", "newer")
    assert built() == "value=yes\n"
    server.cli("template", "rm", "from-moving")
    assert built("--pull") == "value=newer\n"
    assert built("--pull") == "value=newer\n"


def test_a_create_that_does_not_wait_says_what_it_waits_for(api, app):
    image = f"{app}:pending"
    made = api.post(f"{INSTANCES}?wait=false", {"image": image, "internet": False})
    assert made["state"] == "pending" and f"the pull of image '{image}'" in made["last_event"]["text"], made
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{made['id']}")["state"] == "started", 60, "the sandbox")
    api.delete(f"{INSTANCES}/{made['id']}")


def test_creates_at_once_pull_once(server, api, app):
    image = f"{app}:together"
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        boxes = list(pool.map(lambda _: created(server.api(), image), range(6)))
    assert len({box["template"] for box in boxes}) == 1 and len(named(api, image)) == 1
    for box in boxes:
        api.delete(f"{INSTANCES}/{box['id']}")


@pytest.mark.parametrize("image, status, words", [
    ("{}/app:none", 404, "manifest unknown"), ("{}/nothing:1", 404, "manifest unknown"),
    ("127.0.0.1:1/x:1", 503, "nothing answers"), ("{}/other:alien", 400, "no image found")])
def test_a_failed_pull_fails_the_create_with_its_reason_and_leaves_nothing(api, app, public, image, status, words):
    public.put_index("other", "alien", {"s390x": public.put_image("other", None, [(layer(a="x"), "")], architecture="s390x")})
    image = image.format(public.address)
    before = ids(api)
    with pytest.raises(atoll.ApiError) as failure:
        created(api, image)
    assert failure.value.status == status and words in str(failure.value) and image in str(failure.value), failure.value
    assert failure.value.hint, failure.value
    assert named(api, image) == [] and ids(api) == before
    made = api.post(f"{INSTANCES}?wait=false", {"image": image})
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{made['id']}")["state"] == "failed", 30, "the failure")
    event = api.get(f"{INSTANCES}/{made['id']}")["last_event"]["text"]
    assert image in event and (words in event or "connection refused" in event), event
    api.delete(f"{INSTANCES}/{made['id']}")


def test_the_next_create_tries_again(api, public, root):
    image = f"{public.address}/late:1"
    with pytest.raises(atoll.ApiError):
        created(api, image)
    public.put_image("late", "1", [(root, "gzip")], CONFIG, architecture=HERE)
    api.delete(f"{INSTANCES}/{created(api, image)['id']}")
    assert len(named(api, image)) == 1


def test_an_image_that_needs_a_login_is_refused_and_can_be_imported_with_it(api, guarded, root):
    image = f"{guarded.address}/secret:1"
    guarded.put_image("secret", "1", [(root, "gzip")], CONFIG, architecture=HERE)
    with pytest.raises(atoll.ApiError) as failure:
        created(api, image)
    assert failure.value.status == 403 and "login" in failure.value.hint, failure.value
    name = image.replace(":", "-").replace("/", "-")
    made = api.post(TEMPLATES, {"name": name, "image": image, "login": {"username": USER, "password": PASSWORD}})
    assert not made["pulled"]
    box = created(api, image)
    assert box["template"] == name
    api.delete(f"{INSTANCES}/{box['id']}")


def test_what_cannot_be_meant_is_refused(api, app):
    for body, words in (({"image": f"{app}:plain", "template": "host"}, "either template or image"),
                        ({"image": f"{app}:plain", "snapshot": "x"}, "either snapshot or image"),
                        ({"image": ""}, "image reference"), ({"image": "--help"}, "image reference"),
                        ({"image": "a b"}, "image reference"), ({"image": "docker://x"}, "image reference"),
                        ({"pull": "always"}, "give image"), ({"image": f"{app}:plain", "pull": "often"}, "pull"),
                        ({"image": "../x"}, "image reference"), ({"image": "x" * 600}, "image")):
        with pytest.raises(atoll.ApiError) as failure:
            api.post(INSTANCES, body)
        assert failure.value.status == 400 and words in str(failure.value), (body, failure.value)
    # A template of the server does not become an image's, and an image not a template of that name.
    with pytest.raises(atoll.ApiError) as failure:
        api.post(INSTANCES, {"image": "base"})
    assert failure.value.status == 409 and "'base'" in str(failure.value), failure.value
    with pytest.raises(atoll.ApiError) as failure:
        api.post(INSTANCES, {"template": "ubuntu"})
    assert failure.value.status == 404 and "host" in failure.value.hint and "ubuntu:latest" in failure.value.hint


def test_private_registries_are_refused_without_the_option(private_server):
    private_server.start()
    api = private_server.api()
    for image in ("127.0.0.1:5000/x:1", "localhost:5000/x:1"):
        with pytest.raises(atoll.ApiError) as failure:
            created(api, image)
        assert failure.value.status == 403 and "registry_allow_private" in failure.value.hint, failure.value
        assert named(api, image) == []


def test_the_storage_limit_of_a_project_bounds_images(api, app):
    project = f"/v1/projects/{api.get('/v1/projects/me')['id']}"
    used = api.get("/v1/projects/me/storage")["bytes"]
    try:
        # Of the two, the first has no room at all, and the second too little.
        for limit_mb in (1, used // (1 << 20) + 1):
            api.call("PATCH", project, {"storage_max_mb": limit_mb})
            with pytest.raises(atoll.ApiError) as failure:
                created(api, f"{app}:other")
            assert failure.value.status == 429 and "storage_max_mb" in failure.value.hint, failure.value
            assert named(api, f"{app}:other") == []
    finally:
        api.call("PATCH", project, {"storage_max_mb": 0})


def test_the_command_line_takes_images(server, app):
    said = server.cli("run", "--no-internet", "-t", f"{app}:command", "--", "sh", "-c", "echo $FROM_IMAGE", text=True)
    assert said.returncode == 0 and said.stdout == "yes\n", said
    said = server.cli("run", "--no-internet", "--image", f"{app}:command", "--", "pwd", text=True)
    assert said.returncode == 0 and said.stdout == "/opt\n", said
    said = server.cli("run", "-t", "host", "--image", f"{app}:command", "--", "true", text=True)
    assert said.returncode != 0 and "either --template or --image" in said.stderr, said
    said = server.cli("run", "-t", "nosuch", "--", "true", text=True)
    assert said.returncode != 0 and "host" in said.stderr and "nosuch:latest" in said.stderr, said


def test_the_sdks_take_images(server, app):
    sys.path.insert(0, str(atoll.ROOT / "sdk/python"))
    import atoll_sdk
    url = f"http://127.0.0.1:{server.port}"
    with atoll_sdk.Sandbox.create(image=f"{app}:sdk", internet=False, api_url=url, api_key=server.key) as sandbox:
        assert sandbox.commands.run("echo $FROM_IMAGE").stdout == "yes\n"
    with atoll_sdk.Sandbox.create(image=f"{app}:sdk", pull="always", internet=False, api_url=url, api_key=server.key) as sandbox:
        assert sandbox.commands.run("echo $FROM_IMAGE").stdout == "yes\n"
    with pytest.raises(atoll_sdk.AtollError) as failure:
        atoll_sdk.Sandbox.create(image=f"{app}:none", api_url=url, api_key=server.key)
    assert "manifest unknown" in str(failure.value)
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = """const { Sandbox } = await import(process.argv[1]);
        const sandbox = await Sandbox.create({ image: process.argv[2], pull: 'always', internet: false });
        console.log((await sandbox.commands.run('echo $FROM_IMAGE')).stdout.trim());
        await sandbox.kill();"""
    said = subprocess.run(["node", "--input-type=module", "-e", script, str(atoll.ROOT / "sdk/typescript/src/index.js"), f"{app}:sdk"],
                          env={**os.environ, "ATOLL_API_URL": url, "ATOLL_API_KEY": server.key}, capture_output=True, text=True, timeout=60)
    assert said.stdout == "yes\n", said


def test_leases_and_tools_take_images(api, app):
    lease = api.post("/v1/leases/acquire", {"key": "by-image", "image": f"{app}:lease", "internet": False})
    assert api.get("/v1/leases/by-image")["specification"]["image"] == f"{app}:lease"
    assert named(api, f"{app}:lease") and api.exec(lease["sandbox_id"], "echo $FROM_IMAGE")["stdout"] == "yes\n"
    with pytest.raises(atoll.ApiError) as failure:
        api.post("/v1/leases/acquire", {"key": "both", "image": f"{app}:lease", "template": "host"})
    assert failure.value.status == 400
    with pytest.raises(atoll.ApiError) as failure:
        api.post("/v1/leases/acquire", {"key": "missing", "image": f"{app}:none"})
    assert failure.value.status == 404, failure.value
    again = api.post("/v1/leases/acquire", {"key": "by-image", "template": "host", "update": True, "internet": False})
    specification = api.get("/v1/leases/by-image")["specification"]
    assert again["sandbox_id"] != lease["sandbox_id"] and specification["template"] == "host" and "image" not in specification
    api.delete("/v1/leases/by-image")


def built(api, body):
    made = api.post(BUILDS, body)
    ended = atoll.wait_for(lambda: (b := api.get(f"{BUILDS}/{made['id']}"))["status"] not in ("waiting", "building") and b,
                           90, "the build")
    return ended


def test_a_dockerfile_names_images(server, api, app, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {app}:file AS first\nRUN echo made > /made\nFROM {app}:file\n"
                                         f"COPY --from=first /made /made\nCOPY --from={app}:copied /etc/os-release /copied\n")
    said = server.cli("template", "build", "--no-internet", "-f", tmp_path / "Dockerfile", "--name", "of-images", tmp_path, text=True)
    assert said.returncode == 0, said
    with api.sandbox(template="of-images", internet=False) as box:
        assert api.exec(box, "cat /made; cat /copied; echo $FROM_IMAGE")["stdout"] == "made\nID=busybox-test\nyes\n"
    assert named(api, f"{app}:file")[0]["pulled"] and named(api, f"{app}:copied")[0]["pulled"]
    assert not [t for t in api.get(TEMPLATES)["items"] if t["name"] == "of-images"][0]["pulled"]
    failed = built(api, {"name": "of-nothing", "image": f"{app}:none", "steps": []})
    assert failed["status"] == "error" and "manifest unknown" in failed["message"], failed
    assert named(api, f"{app}:none") == []


def used_long_ago(server, *images):
    """Stops the server, and makes these images look unused for a month."""
    server.stop()
    with contextlib.closing(sqlite3.connect(f"{server.data}/store/atoll.db")) as db, db:
        for image in images:
            assert db.execute("UPDATE templates SET used_at = used_at - 2592000000 WHERE base_image = ?", (image,)).rowcount == 1


def test_unused_images_go_and_used_or_changed_ones_stay(private_server, app):
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.start()
    api = private_server.api()
    images = {tag: f"{app}:{tag}" for tag in ("plain", "kept", "command", "other")}
    boxes = {tag: created(api, image, persistent=True) for tag, image in images.items()}
    for tag in ("plain", "kept", "other"):
        api.delete(f"{INSTANCES}/{boxes[tag]['id']}")
    changed = api.call("PATCH", f"{TEMPLATES}/{boxes['kept']['template']}", {"env": {"MINE": "1"}})
    assert not changed["pulled"]
    folders = private_server.data / "templates"
    before = {path.name for path in folders.iterdir() if not path.name.startswith(".")}
    used_long_ago(private_server, images["plain"], images["kept"], images["command"])
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: not named(api, images["plain"]), 30, "the removal of the unused image")
    assert named(api, images["kept"]) and named(api, images["command"]) and named(api, images["other"])
    assert len(before & {path.name for path in folders.iterdir()}) == len(before) - 1, "its files are gone, too"
    # The size of all that nothing uses is bounded, too; the youngest stay in any case.
    api.delete(f"{INSTANCES}/{boxes['command']['id']}")
    private_server.stop()
    private_server.flags += ["--image-cache-bytes-max", "0", "--image-keep", "0s"]
    used_long_ago(private_server, images["command"])
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: not named(api, images["command"]), 30, "the removal of what is too much")
    assert named(api, images["kept"]) and named(api, images["other"])
    # It is pulled again.
    assert created(api, images["plain"])["state"] == "started"
