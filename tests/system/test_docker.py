# SPDX-License-Identifier: Apache-2.0
"""The provider docker: a server whose sandboxes are containers of a daemon that belongs to these tests."""

import base64
import http.client
import json
import pathlib
import threading

import pytest

import atoll
import docker_daemon
import image_registry

pytestmark = pytest.mark.providers


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    daemon = docker_daemon.Daemon()
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture(scope="module")
def server(daemon):
    server = atoll.Server(provider="docker", environment={"DOCKER_HOST": daemon.host, "SANDBOX_MEM_LIMIT": "96m",
                                                          "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE,
                                                          "ATOLL_DOCKER_IMAGES": "other:1, 127.0.0.1:1/varied:1"}).start()
    yield server
    server.remove_all()
    assert daemon.containers() == []


@pytest.mark.smoke
def test_a_sandbox_is_a_container_and_says_so(daemon, api):
    with api.sandbox() as sandbox:
        shown = api.get(f"/api/sandbox/instances/{sandbox}")
        assert (shown["provider"], shown["isolation"]) == ("docker", "namespaces")
        assert shown["resources"]["memory_mb"] == 96 and shown["resources"]["disk_advisory"]
        names = [name for container in daemon.containers() for name in container["Names"]]
        assert any(name.endswith(sandbox) for name in names)
    assert daemon.containers() == []


@pytest.mark.smoke
def test_commands_run_as_the_user_of_a_template(api):
    with api.sandbox(env={"MINE": "kept"}) as sandbox:
        result = api.exec(sandbox, "id -un; pwd; echo $MINE; echo error >&2; exit 3")
        assert result["stdout"].split() == ["user", "/home/user/project", "kept"], result
        assert result["stderr"] == "error\n" and result["exit_code"] == 3


def test_files_are_written_and_read(api):
    with api.sandbox() as sandbox:
        api.write(sandbox, "/home/user/project/note", b"\0\1kept")
        assert api.read(sandbox, "/home/user/project/note") == b"\0\1kept"
        assert api.exec(sandbox, "wc -c < note")["stdout"].strip() == "6"


def test_code_inside_has_few_rights_and_no_network(daemon, server, api):
    with api.sandbox() as sandbox:
        inside = api.exec(sandbox, "grep -E 'CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ls /sys/class/net; id -u")
        words = inside["stdout"].split()
        capabilities = int(words[words.index("CapBnd:") + 1], 16)
        assert not capabilities & (1 << 21 | 1 << 12 | 1 << 13 | 1 << 19 | 1 << 27), "SYS_ADMIN, NET_*, SYS_PTRACE, MKNOD"
        assert words[words.index("NoNewPrivs:") + 1] == "1" and words[words.index("Seccomp:") + 1] == "2"
        assert words[-2] == "lo" or "eth0" not in words
        # The agent's token, the daemon's socket and the other sandboxes' sockets.
        assert api.exec(sandbox, "cat /proc/1/environ", user="root")["stdout"].replace("\0", "").find("TOKEN=") < 0
        assert api.exec(sandbox, f"ls {daemon.socket} {server.data}", user="root")["exit_code"] != 0
        assert api.exec(sandbox, "ls /.atoll/link", user="root")["stdout"].split() == ["agent.sock"]
        assert api.exec(sandbox, "touch /.atoll/link/mine || rm /.atoll/link/agent.sock", user="root")["exit_code"] != 0
        assert api.exec(sandbox, "echo x > /.atoll/agent", user="root")["exit_code"] != 0


def test_files_outlive_a_stop_and_processes_a_pause(api):
    with api.sandbox() as sandbox:
        api.exec(sandbox, "echo kept > file")
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "cat file")["stdout"] == "kept\n"
        api.post(f"/api/sandbox/instances/{sandbox}/pause")
        assert api.get(f"/api/sandbox/instances/{sandbox}")["state"] == "paused"
        assert api.exec(sandbox, "echo awake")["stdout"] == "awake\n"


def test_sandboxes_outlive_the_api_process(server, api):
    with api.sandbox() as sandbox:
        api.exec(sandbox, "echo kept > /tmp/file")
        server.kill9("api")
        server.wait_ready()
        with_new = server.api()
        assert with_new.exec(sandbox, "cat /tmp/file")["stdout"] == "kept\n"
        with_new.close()


@pytest.mark.smoke
def test_a_container_that_dies_is_noticed(daemon, api):
    with api.sandbox() as sandbox:
        name = next(c["Id"] for c in daemon.containers() if c["Names"][0].endswith(sandbox))
        assert daemon.call("POST", f"/containers/{name}/kill?signal=KILL")[0] == 204
        shown = atoll.wait_for(lambda: (lambda row: row["state"] != "started" and row)(
            api.get(f"/api/sandbox/instances/{sandbox}")), 15, "the end of the sandbox")
        assert shown["state"] in ("stopped", "failed"), shown


@pytest.mark.smoke
def test_what_docker_cannot_do_is_refused_by_name(api):
    with api.sandbox() as sandbox:
        with pytest.raises(atoll.ApiError) as refused:
            api.get(f"/api/sandbox/instances/{sandbox}/changes")
        assert refused.value.status == 501 and "docker" in str(refused.value)


def test_an_image_is_the_root_and_its_variables_reach_commands(daemon, api):
    status, text = daemon.call("POST", "/images/create?fromSrc=-&repo=127.0.0.1%3A1/varied&tag=1&changes=ENV%20WORD%3Dfrom-image", daemon.root,
                               "application/x-tar")
    assert status == 200, text
    made = api.post("/api/sandbox/instances", {"image": "127.0.0.1:1/varied:1", "env": {"MINE": "kept"}})
    try:
        result = api.exec(made["id"], "echo $WORD $MINE; id -un; echo $HOME; env | grep -c TOKEN", user="user")
        assert result["stdout"].split() == ["from-image", "kept", "user", "/home/user", "0"], result
    finally:
        api.remove(made["id"])


def test_terminals_and_servers_inside(server, api):
    with api.sandbox() as sandbox:
        made = api.post(f"/api/sandbox/instances/{sandbox}/terminal", {"name": "main", "command": "tty; exec cat"})
        screen = api.post(f"/api/sandbox/instances/{sandbox}/windows/main/keys", {"keys": ["hello"], "wait_text": "/dev/pts"})
        assert screen["reason"] == "found" and made["name"] == "main", screen
        api.exec(sandbox, "(nc -l -p 7000 -e echo hello > /dev/null 2>&1 &)")
        ports = api.get(f"/api/sandbox/instances/{sandbox}/ports")
        assert any(port["port"] == 7000 for port in ports["items"]), ports


def test_containers_with_internet_do_not_reach_one_another(tmp_path_factory):
    daemon = docker_daemon.Daemon(network=True)
    server = None
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        server = atoll.Server(provider="docker", environment={"DOCKER_HOST": daemon.host,
                                                              "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
        api = server.api()
        with api.sandbox(internet=True) as one, api.sandbox(internet=True) as other, api.sandbox(internet=False) as none:
            shown = api.exec(other, "ip -4 addr show eth0")["stdout"]
            address = shown.split("inet ")[1].split("/")[0]
            knock = f"nc -w 2 {address} 8000 < /dev/null"
            assert "refused" in api.exec(other, knock)["stderr"]
            assert "timed out" in api.exec(one, knock)["stderr"]
            api.exec(one, "mkdir -p /tmp/www && echo served > /tmp/www/file && (httpd -f -p 7000 -h /tmp/www > /dev/null 2>&1 &)")
            atoll.wait_for(lambda: api.raw("GET", f"/api/sandbox/instances/{one}/preview/7000/file").body == b"served\n", 10,
                           "the server inside")
            assert "eth0" not in api.exec(none, "ip addr")["stdout"]
        api.close()
    finally:
        if server:
            server.remove_all()
        daemon.remove()


def test_beside_the_native_provider(daemon):
    server = atoll.Server(provider="native", flags=["--providers", "native,box=docker:allow_weaker=true"], environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
    try:
        api = server.api()
        with api.sandbox() as native, api.sandbox(provider="box") as box:
            assert api.get(f"/api/sandbox/instances/{native}")["provider"] == "native"
            shown = api.get(f"/api/sandbox/instances/{box}")
            assert shown["provider"] == "box" and "limit the disk" in shown["unsupported"], shown
            assert api.exec(box, "cat /.atoll/agent | head -c 4")["stdout"][1:4] == "ELF"
            assert api.exec(native, "ls /.atoll")["exit_code"] != 0
            server.kill9("api")
            server.wait_ready()
            assert server.api().exec(box, "echo on")["stdout"] == "on\n"
    finally:
        server.remove_all()


def test_a_missing_image_is_named(api):
    with pytest.raises(atoll.ApiError) as refused:
        api.post("/api/sandbox/instances", {"image": "127.0.0.1:1/no/such:1"})
    assert "127.0.0.1:1/no/such" in str(refused.value) and "own network" in str(refused.value), refused.value
    assert "registry_allow_private" in str(refused.value.body), refused.value.body


def images_of(daemon):
    return json.loads(daemon.call("GET", "/images/json")[1])


def test_an_image_of_the_daemon_belongs_to_no_project(daemon, api):
    """Neither by its name, nor by its id or the beginning of that: all of them are asked of a registry."""
    status, text = daemon.call("POST", "/images/create?fromSrc=-&repo=127.0.0.1%3A1/secret&tag=1", daemon.root, "application/x-tar")
    assert status == 200, text
    whole = next(image["Id"] for image in images_of(daemon) if "127.0.0.1:1/secret:1" in (image["RepoTags"] or []))
    for name in ("127.0.0.1:1/secret:1", whole.split(":")[1][:12], whole.split(":")[1], whole):
        with pytest.raises(atoll.ApiError):
            api.post("/api/sandbox/instances", {"image": name})
    daemon.call("DELETE", "/images/127.0.0.1:1/secret:1")


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = image_registry.Registry(tmp_path_factory.mktemp("registry") / "one").wait()
    yield registry
    registry.stop()


@pytest.fixture(scope="module")
def with_registry(daemon):
    server = atoll.Server(provider="docker", flags=["--registry-allow-private", "true"], environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
    yield server
    server.remove_all()


def put_root(daemon, registry, name, word):
    registry.put_image(name, "1", [(daemon.root, "gzip"), (image_registry.layer(word=word), "gzip")])
    return f"{registry.address}/{name}:1"


def test_a_pulled_image_is_counted_and_goes_with_its_template(daemon, registry, with_registry):
    api = with_registry.api()
    image, before = put_root(daemon, registry, "counted", "here"), {i["Id"] for i in images_of(daemon)}
    made = api.post("/api/sandbox/instances", {"image": image})
    assert api.exec(made["id"], "cat /word", user="root")["stdout"] == "here"
    mine = next(t for t in api.get("/api/sandbox/templates")["items"] if t["name"].endswith("counted-1"))
    assert mine["size_bytes"] > len(daemon.root) / 2, mine
    pulled = [i for i in images_of(daemon) if i["Id"] not in before]
    assert len(pulled) == 1 and len(pulled[0]["RepoTags"]) == 1 and pulled[0]["RepoTags"][0].startswith("atoll-"), pulled
    assert not pulled[0]["RepoDigests"], pulled
    api.remove(made["id"])
    api.delete(f"/api/sandbox/templates/{mine['id']}")
    assert {i["Id"] for i in images_of(daemon)} == before


def test_pull_always_takes_the_newer_image(daemon, registry, with_registry):
    api = with_registry.api()
    image = put_root(daemon, registry, "moving", "old")
    words = []
    for pull, word in (("missing", None), ("always", None), ("missing", "new"), ("always", None)):
        if word:
            put_root(daemon, registry, "moving", word)
        made = api.post("/api/sandbox/instances", {"image": image, "pull": pull})
        words.append(api.exec(made["id"], "cat /word", user="root")["stdout"])
        api.remove(made["id"])
    assert words == ["old", "old", "old", "new"]


@pytest.fixture
def closed(tmp_path):
    registry = image_registry.Registry(tmp_path / "closed", with_login=True).wait()
    yield registry
    registry.stop()


def test_an_image_behind_a_login_is_refused(daemon, closed, with_registry):
    image = put_root(daemon, closed, "closed", "secret")
    try:
        # Also when the daemon has it.
        daemon.call("POST", f"/images/create?fromSrc=-&repo={closed.address}/closed&tag=1", daemon.root, "application/x-tar")
        with pytest.raises(atoll.ApiError) as refused:
            with_registry.api().post("/api/sandbox/instances", {"image": image})
        assert "login" in str(refused.value), refused.value
    finally:
        daemon.call("DELETE", f"/images/{closed.address}/closed:1")


def test_a_template_of_an_image_behind_a_login_keeps_no_login(daemon, closed, with_registry):
    api, image = with_registry.api(), put_root(daemon, closed, "private", "mine")
    login = {"username": image_registry.USER, "password": image_registry.PASSWORD}
    for wrong in ({**login, "password": "wrong"}, None):
        with pytest.raises(atoll.ApiError) as refused:
            api.post("/api/sandbox/templates", {"name": "private", "image": image, **({"login": wrong} if wrong else {})})
        assert refused.value.status in (403, 404) and "login" in str(refused.value), refused.value
    made = api.post("/api/sandbox/templates", {"name": "private", "image": image, "login": login})
    sandbox = api.create(template="private", internet=False)["id"]
    assert api.exec(sandbox, "cat /word", user="root")["stdout"] == "mine"
    # Another project, or another image of the registry, does not profit.
    put_root(daemon, closed, "other", "theirs")
    with pytest.raises(atoll.ApiError):
        api.post("/api/sandbox/instances", {"image": f"{closed.address}/other:1", "internet": False})
    api.remove(sandbox)
    api.delete(f"/api/sandbox/templates/{made['id']}")
    for path in with_registry.data.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert image_registry.PASSWORD.encode() not in path.read_bytes(), path


def test_logins_of_the_operator_are_for_listed_images_alone(daemon, closed):
    listed, other = put_root(daemon, closed, "listed", "operators"), put_root(daemon, closed, "unlisted", "x")
    auth = base64.b64encode(f"{image_registry.USER}:{image_registry.PASSWORD}".encode()).decode()
    logins = pathlib.Path(daemon.folder, "config.json")
    logins.write_text(json.dumps({"auths": {closed.address: {"auth": auth}}}, indent=1))
    options = f"docker_host={daemon.host};docker_image={listed};docker_images={listed};docker_logins=file:{logins}"
    server = atoll.Server(flags=["--providers", f"box=docker:{options}", "--registry-allow-private", "true"]).start()
    try:
        api = server.api()
        for source in ({"template": "host"}, {"image": listed}):
            sandbox = api.post("/api/sandbox/instances", {"internet": False, **source})["id"]
            assert api.exec(sandbox, "cat /word", user="root")["stdout"] == "operators"
            api.remove(sandbox)
        with pytest.raises(atoll.ApiError) as refused:
            api.post("/api/sandbox/instances", {"image": other, "internet": False})
        assert "login" in str(refused.value)
        assert image_registry.PASSWORD not in json.dumps(api.get("/v1/providers")) and auth not in server.log_text()
    finally:
        server.remove_all()
        for container in daemon.containers():
            daemon.call("DELETE", f"/containers/{container['Id']}?force=1")
        daemon.call("DELETE", f"/images/{listed}?force=1")


def test_a_daemon_that_is_down_is_named_and_nothing_leaks(daemon, server, api):
    with api.sandbox() as sandbox:
        daemon.end()
        with pytest.raises(atoll.ApiError) as refused:
            api.create()
        assert refused.value.status == 503 and f"docker at {daemon.host}" in str(refused.value)
        daemon.start()
        atoll.wait_for(lambda: api.get(f"/api/sandbox/instances/{sandbox}")["state"] != "started", 30, "its end")
    with api.sandbox() as sandbox:
        assert api.exec(sandbox, "echo again")["stdout"] == "again\n"


def test_another_daemon_loses_no_sandbox(daemon, tmp_path_factory):
    other = docker_daemon.Daemon()
    server = atoll.Server(provider="native", flags=["--providers", "native,box=docker:allow_weaker=true"], environment={
        "DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
    try:
        api = server.api()
        box = api.create(provider="box")["id"]
        server.stop()
        server.environment["DOCKER_HOST"] = other.host
        server.start()
        api = server.api()
        atoll.wait_for(lambda: "docker is another daemon" in server.log_text(), 20, "the warning")
        assert api.get(f"/api/sandbox/instances/{box}")["state"] == "started"
        server.stop()
        server.environment["DOCKER_HOST"] = daemon.host
        server.start()
        assert server.api().exec(box, "echo on")["stdout"] == "on\n"
    finally:
        server.remove_all()
        other.remove()


def test_a_server_killed_in_the_middle_of_creates_leaves_no_container(daemon, server):
    stops = threading.Event()

    def call():
        while not stops.is_set():
            api = server.api(timeout=20)
            try:
                api.remove(api.create()["id"])
            except (OSError, atoll.ApiError, ValueError, http.client.HTTPException):
                stops.wait(0.05)
            api.close()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for pause in (0.4, 0.9, 1.3):
        stops.wait(pause)
        server.kill9("api")
        server.wait_ready()
    stops.set()
    for thread in threads:
        thread.join()
    api = server.api()
    for row in server.rows(api):
        api.remove(row["id"])
    api.close()
    atoll.wait_for(lambda: daemon.containers() == [], 30, "the removal of every container")
    assert list((server.data / "docker" / "links").iterdir()) == []


def test_many_callers_at_once(server):
    failures = []

    def call():
        api = server.api()
        try:
            for _ in range(2):
                with api.sandbox() as sandbox:
                    if api.exec(sandbox, "echo on")["stdout"] != "on\n":
                        failures.append(sandbox)
        except Exception as failure:
            failures.append(failure)
        api.close()

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
