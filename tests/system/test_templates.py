# SPDX-License-Identifier: Apache-2.0
"""Templates: seeding, import from each format, hostile archives, the built Debian base."""

import io
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

import atoll
from small_root import as_tar, busybox as busybox_root

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"


def import_file(api, name, kind, path):
    with open(path, "rb") as source:
        return api.call("POST", f"{PATH}/import?name={name}&format={kind}", source.read(),
                        {"Content-Type": "application/octet-stream"})


def check_template(api, name):
    with api.sandbox(template=name, internet=False) as sandbox:
        assert "busybox-test" in api.exec(sandbox, "cat /etc/os-release")["stdout"]
        assert api.exec(sandbox, "id -u")["stdout"] == "0\n", "an image that names no user runs as root"
        assert api.exec(sandbox, "id -u", user="1000")["stdout"] == "1000\n"
        assert api.exec(sandbox, "id -u", user="root")["stdout"] == "0\n"


def test_seeding_is_idempotent(api):
    first = {t["name"] for t in api.get(PATH)["items"]}
    assert {"base", "minimal", "python", "node", "data", "web", "browser", "host"} <= first
    assert api.post(f"{PATH}/seed")["added"] == 0
    assert api.post(f"{PATH}/seed")["added"] == 0
    assert sorted(t["name"] for t in api.get(PATH)["items"]) == sorted(first)


def test_a_template_says_what_it_is(api):
    shown = api.get(f"{PATH}/host")
    for member in ("id", "name", "runtime", "isolation", "resources", "env", "entrypoint", "ports", "state"):
        assert member in shown, member
    assert shown["state"] == "ready"


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_import_of_a_tar(api, tmp_path, mode):
    name = "tar-" + mode.replace(":", "-")
    path = as_tar(busybox_root(tmp_path), tmp_path / "root.tar", mode)
    import_file(api, name, "tar", path)
    try:
        told = api.get("/v1/events?kind=template.*&limit=1000")["items"]
        assert [e["kind"] for e in told if e["text"] == name] == ["template.created", "template.updated", "template.ready"]
        check_template(api, name)
    finally:
        api.delete(f"{PATH}/{name}")


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    path = tmp_path_factory.mktemp("bomb") / "bomb.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("usr/zeros")
        member.size = 400 << 20
        with open("/dev/zero", "rb") as zeros:
            tar.addfile(member, zeros)
    assert path.stat().st_size < 1 << 20
    return path


@pytest.mark.parametrize("kind", ["tar", "docker-archive"])
def test_an_archive_that_grows_200_times_is_refused_and_leaves_nothing(server, api, bomb, kind):
    folders = set(os.listdir(server.data / "templates"))
    with pytest.raises(atoll.ApiError) as refused:
        import_file(api, "bomb", kind, bomb)
    if kind == "tar":
        assert refused.value.status == 413 and "200 times" in refused.value.message
    assert set(os.listdir(server.data / "templates")) == folders
    assert "bomb" not in [t["name"] for t in api.get(PATH)["items"]]


def oci_layout(folder):
    for program in ("umoci", "skopeo"):
        if not shutil.which(program):
            pytest.skip(f"'{program}' is not installed")
    root, layout = busybox_root(folder), folder / "layout"
    subprocess.run(["umoci", "init", "--layout", layout], check=True, capture_output=True)
    subprocess.run(["umoci", "new", "--image", f"{layout}:latest"], check=True, capture_output=True)
    subprocess.run(["umoci", "insert", "--image", f"{layout}:latest", root, "/"], check=True, capture_output=True)
    subprocess.run(["umoci", "config", "--image", f"{layout}:latest", "--config.env", "FROM_IMAGE=yes",
                    "--config.exposedports", "3000/tcp"], check=True, capture_output=True)
    return layout


def test_import_of_an_oci_layout(api, tmp_path):
    layout = oci_layout(tmp_path)
    import_file(api, "from-oci", "oci", as_tar(layout, tmp_path / "layout.tar"))
    try:
        check_template(api, "from-oci")
        assert api.get(f"{PATH}/from-oci")["ports"] == [3000]
        with api.sandbox(template="from-oci", internet=False) as sandbox:
            assert api.exec(sandbox, "echo $FROM_IMAGE")["stdout"] == "yes\n"
    finally:
        api.delete(f"{PATH}/from-oci")


def test_import_of_a_docker_archive(api, tmp_path):
    layout = oci_layout(tmp_path)
    subprocess.run(["skopeo", "copy", f"oci:{layout}:latest", f"docker-archive:{tmp_path}/image.tar:test:latest"],
                   check=True, capture_output=True)
    import_file(api, "from-docker", "docker-archive", tmp_path / "image.tar")
    try:
        check_template(api, "from-docker")
    finally:
        api.delete(f"{PATH}/from-docker")


def test_import_by_the_command_line(server, api, tmp_path):
    path = as_tar(busybox_root(tmp_path), tmp_path / "root.tar")
    result = server.cli("template", "import", "by-cli", path)
    assert result.returncode == 0, result.stderr
    try:
        check_template(api, "by-cli")
    finally:
        assert server.cli("template", "rm", "by-cli").returncode == 0


def hostile_tars():
    def entry(tar, name, kind=tarfile.REGTYPE, link="", data=b"x"):
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
        tar.addfile(info, io.BytesIO(data) if kind == tarfile.REGTYPE else None)

    def climb(tar):
        entry(tar, "../../../../var/tmp/atoll-climbed")

    def absolute(tar):
        entry(tar, "/var/tmp/atoll-climbed")

    def through_link(tar):
        entry(tar, "out", tarfile.SYMTYPE, "/var/tmp")
        entry(tar, "out/atoll-climbed")

    def hard_link(tar):
        entry(tar, "passwd", tarfile.LNKTYPE, "/etc/passwd")
    return [climb, absolute, through_link, hard_link]


@pytest.mark.parametrize("make", hostile_tars(), ids=lambda f: f.__name__)
def test_a_hostile_tar_writes_nothing_outside(api, tmp_path, make):
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        make(tar)
    before = os.stat("/etc/passwd").st_nlink
    try:
        import_file(api, "hostile", "tar", tmp_path / "bad.tar")
        api.delete(f"{PATH}/hostile")
    except atoll.ApiError as failure:
        assert failure.status in (400, 413)
    assert not pathlib.Path("/var/tmp/atoll-climbed").exists()
    assert os.stat("/etc/passwd").st_nlink == before


@pytest.mark.parametrize("kind, data, word", [("tar", b"this is no tar at all" * 100, "tar"), ("oci", b"\0" * 2048, "oci"),
                                              ("zip", b"PK", "format")])
def test_bad_imports_say_what_is_wrong(api, tmp_path, kind, data, word):
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(atoll.ApiError) as failure:
        import_file(api, "bad-import", kind, tmp_path / "bad")
    assert word in (failure.value.message + failure.value.hint).lower()
    assert "bad-import" not in {t["name"] for t in api.get(PATH)["items"] if t["state"] == "ready"}


def test_no_image_is_pulled_from_the_servers_own_network_by_default(api):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "near", "image": "127.0.0.1:1/x"})
    assert failure.value.status == 403 and "an address of the server's own network" in failure.value.message, failure.value
    assert "registry_allow_private" in failure.value.hint, failure.value


def test_a_template_in_use_is_not_deleted(api, tmp_path):
    import_file(api, "in-use", "tar", as_tar(busybox_root(tmp_path), tmp_path / "root.tar"))
    with api.sandbox(template="in-use", internet=False):
        with pytest.raises(atoll.ApiError) as failure:
            api.delete(f"{PATH}/in-use")
        assert failure.value.status == 409
    api.delete(f"{PATH}/in-use")


def test_the_host_template_shows_no_secret(server):
    """It looks at all of /usr, which takes its time where none of it is in memory."""
    api = server.api(timeout=300)
    with api.sandbox(internet=False, resources={"cpu": 2}) as sandbox:
        result = api.exec(sandbox, "cat /etc/shadow /etc/ssh/* /root/.ssh/* /root/.npmrc /etc/sudoers.d/* 2>/dev/null; "
                          "ls /root /home /var /opt /srv /mnt /media 2>/dev/null", user="root")
        shadow = pathlib.Path("/etc/shadow").read_text().splitlines()
        for line in shadow:
            secret = line.split(":")[1]
            assert len(secret) < 4 or secret not in result["stdout"]
        private = api.exec(sandbox, "find /usr -xdev -type f ! -perm -o=r -readable 2>/dev/null | head", user="root",
                           timeout_ms=240000)
        assert private["exit_code"] == 0 and private["stdout"] == "", "files that only the host's root may read are readable inside"
    api.close()


def built(server, name):
    """A started sandbox of a default template, which is built first; skips where nothing can be built."""
    from test_network import registry_reason
    reason = registry_reason()
    if reason:
        pytest.skip(reason)
    if shutil.which("mmdebstrap") is None:
        pytest.skip("'mmdebstrap' is not installed")
    slow = server.api(timeout=600)
    was_ready = slow.get(f"{PATH}/{name}")["state"] == "ready"
    made = slow.post("/api/sandbox/instances?wait=false", {"template": name, "internet": True})
    seen = set()

    def ready():
        row = slow.get(f"/api/sandbox/instances/{made['id']}")
        assert row["state"] != "failed", row
        seen.add(slow.get(f"{PATH}/{name}")["state_text"])
        return row["state"] == "started"
    atoll.wait_for(ready, 1800, name)
    assert was_ready or len(seen) >= 2, "no progress was shown"
    return slow, made["id"]


def runs_in(api, box, *commands):
    for command in commands:
        result = api.exec(box, command, timeout_ms=120000)
        assert result["exit_code"] == 0, (command, result)


def answer_apt_get(api, box):
    """An install that asks, refused and then allowed, by the agent tools."""
    def tool(name, **given):
        answer = api.post(f"/v1/tools/{name}", {"sandboxId": box, "input": given})
        return {**answer["structuredContent"], "text": answer["content"][0]["text"]}

    def ask():
        begun = tool("execute_command", command="sudo apt-get install --no-install-recommends cowsay", wait_ms=1000)
        return begun["running"] and tool("terminal_operator", wait_regex=r"continue\?.*Y/n", wait_ms=60000)
    asked = ask()
    assert asked["reason"] == "found" and "libtext-charwidth-perl" in asked["text"], asked
    assert tool("terminal_operator", text="n", keys=["Enter"], wait_text="Abort.", wait_ms=20000)["reason"] == "found"
    assert api.exec(box, "test -e /usr/games/cowsay")["exit_code"] == 1
    assert ask()["reason"] == "found"
    done = tool("terminal_operator", text="Y", keys=["Enter"], wait_text="Setting up cowsay", wait_ms=120000)
    assert done["reason"] == "found", done
    said = tool("execute_command", command="/usr/games/cowsay moo", wait_ms=20000)
    assert "< moo >" in said["output"], said


@pytest.mark.slow
def test_minimal_is_built_on_first_use_and_has_its_programs(server):
    api, box = built(server, "minimal")
    runs_in(api, box, "bash --version", "python3 --version", "git --version", "rg --version", "curl --version", "sudo -n id -u", "ps",
            "tput -T xterm cols", "test -d /etc/ssl/certs && echo certs", "test -d /usr/share/man/man1")
    assert api.exec(box, "id -un; pwd")["stdout"] == "user\n/home/user/project\n"
    runs_in(api, box, "sudo apt-get update -qq && sudo apt-get install -y -qq tree && tree --version")
    answer_apt_get(api, box)
    api.remove(box)


LIBRARIES = "numpy pandas matplotlib scipy requests bs4 PIL openpyxl pytest"


@pytest.mark.slow
def test_base_is_a_computer_for_an_agent(server):
    api, box = built(server, "base")
    runs_in(api, box, *(f"python -c 'import {name}'" for name in LIBRARIES.split()))
    runs_in(api, box, "python3 -m venv /tmp/v", "python3 -m pip --version", "g++ --version", "make --version", "cmake --version", "jq --version",
            "unzip -v", "zip -v", "ssh -V", "rsync --version", "sqlite3 --version", "tmux -V", "vim --version", "nano --version", "tree --version",
            "file --version", "strace --version", "npm --version", "tsc --version", "tsx --version", "pylsp --version",
            "typescript-language-server --version")
    assert int(api.exec(box, "node --version")["stdout"][1:].split(".")[0]) >= 24
    assert api.exec(box, "dpkg-query -W 'node-*' 2>/dev/null | wc -l")["stdout"] == "0\n"
    assert api.exec(box, "echo 'const a: number = 42; console.log(a)' > a.ts && tsx a.ts && tsc --noEmit a.ts; echo $?")["stdout"] == "42\n0\n"
    result = api.exec(box, "cd /tmp && npm install --no-audit --no-fund is-number@7.0.0 && node -e 'console.log(require(\"is-number\")(5))'",
                      timeout_ms=120000)
    assert result["stdout"].endswith("true\n"), result
    assert api.get(f"{PATH}/minimal")["state"] == "ready", "a template that base starts from is usable by itself"
    api.remove(box)


@pytest.mark.slow
def test_base_runs_typescript_in_contexts(server):
    api, box = built(server, "base")
    def run(code):
        return api.post(f"/api/sandbox/instances/{box}/code", {"language": "typescript", "code": code, "contextId": "default"})
    assert run("enum Color { Red = 1, Green }\nconst kept: number = 40\nkept + Color.Green")["results"][0]["text"] == "42"
    assert run("function twice(_: any, __: string, d: PropertyDescriptor) { const f = d.value; d.value = (n: number) => 2 * f(n) }\n"
               "class A { @twice\n m(n: number) { return n } }\nnew A().m(kept)")["results"][0]["text"] == "80"
    api.remove(box)


@pytest.mark.slow
@pytest.mark.parametrize("name, commands", [
    ("python", ["python --version", "python -m pip --version", "python -m venv /tmp/v", "python -c 'import requests'", "pytest --version"]),
    ("node", ["node --version | grep -E '^v(2[4-9]|[3-9][0-9])'", "npm --version", "pnpm --version", "tsc --version", "tsx --version"]),
    ("data", ["python -c 'import sklearn, statsmodels.api, seaborn, sympy, networkx'", "pandoc --version", "dot -V", "pdftotext -v"]),
    ("web", ["vite --version", "pnpm --version", "yarn --version", "python -c 'import flask, fastapi, uvicorn'", "psql --version", "nginx -v"]),
    ("browser", ["chromium --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<b>seen</b>' | grep seen",
                 "cd $(npm root --global --prefix /usr/local) && node -e 'require(\"playwright-core\")'"]),
])
def test_templates_that_start_from_others(server, name, commands):
    api, box = built(server, name)
    runs_in(api, box, *commands)
    api.remove(box)


EXAMPLES = sorted(path.parent.name for path in (atoll.ROOT / "examples").glob("*/run"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(server, tmp_path, name):
    """Its script says what went wrong; 77 means that it cannot run here, for the reason in its last line."""
    done = subprocess.run([atoll.ROOT / "examples" / name / "run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                          env={**server.cli_environment(), "ATOLL": str(atoll.ATOLL), "OUT": str(tmp_path)})
    if done.returncode == 77:
        pytest.skip(done.stdout.splitlines()[-1])
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_the_examples_are_known():
    assert len(EXAMPLES) >= 4
