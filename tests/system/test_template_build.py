# SPDX-License-Identifier: Apache-2.0
"""Templates by steps: what is executed, what is cached, logs, failures, cancelling, start and ready."""

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import tarfile
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BUILDS = "/api/sandbox/templates/builds"
ENDED = ("ready", "error", "cancelled")


def tar_of(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def put(api, **files):
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    api.call("PUT", f"{BUILDS}/files/{digest}", tar_of(**files), {"Content-Type": "application/x-tar"})
    return digest


def wait_end(api, build, seconds=90):
    return atoll.wait_for(lambda: (lambda b: b if b["status"] in ENDED else None)(api.get(f"{BUILDS}/{build}")),
                          seconds, f"end of build {build}")


def lines(api, build):
    return api.get(f"{BUILDS}/{build}/logs")["lines"]


def texts(api, build):
    return [line["text"] for line in lines(api, build)]


def run(command, **more):
    return {"type": "run", "command": command, **more}


class Builder:
    def __init__(self, api):
        self.api, self.names = api, []

    def start(self, name, *steps, **spec):
        if name not in self.names:
            self.names.append(name)
        spec.setdefault("internet", False)
        spec.setdefault("from", "host")
        return self.api.post(BUILDS, {"name": name, "steps": list(steps), **spec})["id"]

    def build(self, name, *steps, **spec):
        done = wait_end(self.api, self.start(name, *steps, **spec))
        done["texts"] = texts(self.api, done["id"])
        return done


@pytest.fixture
def builder(api, server):
    made = Builder(api)
    yield made
    for item in api.get("/api/sandbox/instances?builds=true")["items"]:
        assert not item["labels"].get("atoll.build"), item
    for name in reversed(made.names):
        try:
            api.delete(f"/api/sandbox/templates/{name}")
        except atoll.ApiError as gone:
            assert gone.status == 404, gone


def out(api, box, command, **options):
    answer = api.exec(box, command, **options)
    assert answer["ok"], answer
    return answer["stdout"].strip()


def layers(server):
    return set(os.listdir(server.data / "snapshots"))


def test_a_template_is_what_its_steps_have_made(api, builder):
    files = put(api, **{"main.py": "print('hello')\n", "deep/data.txt": "data\n"})
    done = builder.build(
        "app",
        {"type": "env", "env": {"MODE": "production", "EMPTY": ""}},
        {"type": "workdir", "path": "/srv/app"},
        run("echo to stdout; echo to stderr >&2; echo $MODE > mode; mkdir -p /opt && id -u > /opt/uid"),
        {"type": "copy", "files": files, "path": ".", "user": "user"},
        {"type": "copy", "files": files, "path": "/opt/both", "mode": "0600"},
        run("", args=["python3", "-c", "open('words', 'w').write('a  b')"], env={"BUILD_ONLY": "1"}),
        {"type": "user", "user": "user"},
        run("id -un > /tmp/x; cat /tmp/x; pwd"),
        description="an app", resources={"memory_mb": 256}, ports=[8000])
    assert done["status"] == "ready", done
    assert (done["step"], done["step_count"], done["cached_count"]) == (8, 8, 0)
    for text in ("to stdout", "to stderr", "user", "/srv/app", "[4/8] COPY " + files[:12] + "… ."):
        assert text in done["texts"], done["texts"]
    levels = {line["text"]: (line["stream"], line["level"], line["step"]) for line in lines(api, done["id"])}
    assert levels["to stderr"] == ("stderr", "warning", 3)
    assert levels["to stdout"] == ("stdout", "info", 3)
    template = api.get("/api/sandbox/templates/app")
    assert template["id"] == done["template"] and template["built"] and template["base_image"] == "host"
    assert template["user"] == "user" and template["workdir"] == "/srv/app"
    assert template["env"] == {"MODE": "production", "EMPTY": ""}
    assert template["resources"]["memory_mb"] == 256 and template["ports"] == [8000]
    with api.sandbox(template="app", internet=False) as box:
        assert out(api, box, "cat mode; cat words; cat /opt/uid; python3 main.py") == "production\na  b0\nhello"
        assert out(api, box, "stat -c '%U %a' main.py deep/data.txt deep") \
            .split("\n") == ["user 644", "user 644", "user 755"]
        assert out(api, box, "stat -c '%U %a' /opt/both/main.py") == "root 600"
        assert out(api, box, "echo $MODE; pwd; echo ${BUILD_ONLY:-none}") == "production\n/srv/app\nnone"
        # Its own files survive a stop, and snapshots of it are the sandbox's own alone.
        out(api, box, "echo more > ~/more")
        api.post(f"/api/sandbox/instances/{box}/stop")
        api.post(f"/api/sandbox/instances/{box}/start")
        assert out(api, box, "cat ~/more mode") == "more\nproduction"
        taken = api.post(f"/api/sandbox/instances/{box}/snapshot", {})
        assert taken["parent"] is None
        assert [item["id"] for item in api.get("/api/sandbox/snapshots")["items"]] == [taken["id"]]
        with api.sandbox(template="app", snapshot=taken["id"], internet=False) as second:
            assert out(api, second, "cat ~/more mode") == "more\nproduction"
        api.delete(f"/api/sandbox/snapshots/{taken['id']}")
        # As it was made: what its template was then, even if that was built anew.
        assert builder.build("app", run("true"))["status"] == "ready"
        api.post(f"/api/sandbox/instances/{box}/reset")
        assert out(api, box, "ls ~/more 2>/dev/null; cat /srv/app/mode") == "production"


def test_a_variable_adds_to_the_path_so_far(api, builder):
    def env(**values):
        return {"type": "env", "env": values}
    usual = builder.build("path", run("echo $PATH; exit 1"))["texts"][-2]
    done = builder.build("path", env(PATH="/opt/a:${PATH}", OTHER="${PATH}"), env(PATH="/opt/b:${PATH}:/opt/c"), run("echo $PATH; echo $OTHER"))
    assert done["status"] == "ready" and usual.count(":") > 2 and usual in done["texts"], (usual, done)
    assert api.get("/api/sandbox/templates/path")["env"] == {"PATH": f"/opt/b:/opt/a:{usual}:/opt/c", "OTHER": usual}
    grown = builder.build("path", *[env(PATH="${PATH}" * 100)] * 3)
    assert grown["status"] == "error" and "variable 'PATH': more than 65536 bytes" in grown["message"], grown


def put_bytes(api, data):
    digest = hashlib.sha256(data).hexdigest()
    answer = api.call("PUT", f"{BUILDS}/files/{digest}", data, {"Content-Type": "application/octet-stream"})
    return digest, answer


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def test_compressed_files_are_the_same_files(api, builder):
    plain = tar_of(**{"a.txt": "alpha", "b.txt": "beta\n" * 1000})
    for form, data in (("gzip", gzip.compress(plain)), ("zstd", zstd(plain)), ("plain", plain)):
        digest, answer = put_bytes(api, data)
        assert answer == {"hash": digest, "present": True, "size_bytes": len(plain)}, form
        built = builder.build(f"packed-{form}", {"type": "copy", "files": digest, "path": "/srv"},
                              run("cat /srv/a.txt; wc -l </srv/b.txt"))
        assert built["status"] == "ready" and any("alpha1000" in text.replace(" ", "") for text in built["texts"]), built


def test_compressed_files_that_are_none_or_too_many_are_refused(api, server):
    bomb = gzip.compress(bytes(32 << 20))
    for data, status, word in ((bomb, 413, "200 times"), (zstd(bytes(32 << 20)), 413, "200 times"),
                               (gzip.compress(b"x" * 5000)[:-9], 400, "cut off"), (b"\x1f\x8b\x08" + b"garbage" * 9, 400, "gzip"),
                               (b"\x28\xb5\x2f\xfd" + b"garbage" * 9, 400, "zstd")):
        with pytest.raises(atoll.ApiError) as failure:
            put_bytes(api, data)
        assert failure.value.status == status and word in failure.value.message, failure.value
        assert not api.get(f"{BUILDS}/files/{hashlib.sha256(data).hexdigest()}")["present"]


def test_steps_that_were_executed_before_are_not_executed_again(api, builder, server):
    steps = [run("date +%s%N > /opt-first"), {"type": "env", "env": {"A": "1"}}, run("echo $A > /opt-second")]
    first = builder.build("one", *steps)
    assert first["status"] == "ready" and first["cached_count"] == 0
    before = layers(server)
    again = builder.build("two", *steps)
    assert again["status"] == "ready" and again["cached_count"] == 2 and "cached" in again["texts"]
    assert layers(server) == before
    changed = builder.build("two", steps[0], {"type": "env", "env": {"A": "2"}}, steps[2])
    assert changed["status"] == "ready" and changed["cached_count"] == 1
    with api.sandbox(template="one", internet=False) as one, api.sandbox(template="two", internet=False) as two:
        assert out(api, one, "cat /opt-first") == out(api, two, "cat /opt-first")
        assert out(api, one, "cat /opt-second") == "1" and out(api, two, "cat /opt-second") == "2"
    forced = builder.build("two", {**steps[0], "force": True}, *steps[1:])
    assert forced["cached_count"] == 0
    assert builder.build("two", *steps, no_cache=True)["cached_count"] == 0
    assert builder.build("two", *steps)["cached_count"] == 2
    # Another file under the same path is another step; the same files are the same.
    copied = [{"type": "copy", "files": put(api, f="1"), "path": "/opt"}]
    assert builder.build("three", *copied)["cached_count"] == 0
    assert builder.build("three", *copied)["cached_count"] == 1
    assert builder.build("three", {**copied[0], "files": put(api, f="2")})["cached_count"] == 0


def test_a_failed_step_is_named_and_leaves_nothing(api, builder, server):
    before = layers(server)
    done = builder.build("broken", run("echo fine > /opt-fine"), run("echo about to fail; exit 3"), run("echo never"))
    assert done["status"] == "error" and done["step"] == 2 and done["exit_code"] == 3
    assert "step 2 of 3 (RUN echo about to fail; exit 3): it ended with status 3" in done["message"]
    assert "about to fail" in done["texts"] and "never" not in done["texts"]
    assert done["template"] is None
    with pytest.raises(atoll.ApiError) as gone:
        api.get("/api/sandbox/templates/broken")
    assert gone.value.status == 404
    assert len(layers(server) - before) == 1
    told = api.get("/v1/events?kind=build.*&limit=1000")["items"]
    assert [(e["kind"], e["detail"]["build"]) for e in told if e["text"] == "broken"] == [
        ("build.started", done["id"]), ("build.failed", done["id"])]
    # What was fine before it is not done again.
    mended = builder.build("broken", run("echo fine > /opt-fine"), run("echo about to succeed"))
    assert mended["status"] == "ready" and mended["cached_count"] == 1
    slow = builder.build("slow", run("sleep 30", timeout_ms=200))
    assert slow["status"] == "error" and "it did not end within 200 ms" in slow["message"]
    late = builder.build("slow", run("sleep 30"), timeout_ms=700)
    assert late["status"] == "error" and "longer than it may" in late["message"]
    lost = builder.build("lost", {"type": "copy", "files": "0" * 64, "path": "/opt"})
    assert lost["status"] == "error" and "are not on this server" in lost["message"]
    assert api.get(f"{BUILDS}/files/{'0' * 64}")["present"] is False


def test_a_log_is_followed_as_it_comes_and_read_again_later(api, server, builder):
    build = builder.start("logged", run("echo one; sleep 1; echo two; sleep 1; printf three"))
    other = server.api()
    response = other.open("GET", f"{BUILDS}/{build}/logs?stream=ndjson")
    seen, first_at = [], None
    for line in response:
        seen.append(json.loads(line))
        if seen[-1]["text"] == "one":
            first_at = time.monotonic()
    assert first_at and time.monotonic() - first_at > 0.5
    assert [line["line"] for line in seen] == list(range(len(seen)))
    said = [line["text"] for line in seen]
    assert said.index("one") < said.index("two") < said.index("three")
    assert api.get(f"{BUILDS}/{build}")["status"] == "ready"
    assert api.get(f"{BUILDS}/{build}")["log_lines"] == len(seen)
    assert lines(api, build) == seen
    assert api.get(f"{BUILDS}/{build}/logs?since=2")["lines"] == seen[2:]
    rest = api.get(f"{BUILDS}/{build}/logs?since={len(seen)}")
    assert rest == {"lines": [], "next": len(seen), "status": "ready"}
    events = api.raw("GET", f"{BUILDS}/{build}/logs", headers={"Accept": "text/event-stream", "Last-Event-ID": "3"})
    data = [json.loads(part[6:]) for part in events.body.decode().split("\n") if part.startswith("data: ")]
    assert data == seen[3:]
    # Too much is not kept, but the end is told.
    chatty = builder.build("logged", run("head -c 6000000 /dev/zero | tr '\\0' x | fold -w 1000; echo; exit 4"))
    assert chatty["exit_code"] == 4
    page, since, read = None, 0, []
    while page is None or page["lines"]:
        page = api.get(f"{BUILDS}/{chatty['id']}/logs?since={since}")
        read, since = read + page["lines"], page["next"]
    assert any("longer than 4 MiB" in line["text"] for line in read)
    assert "ended with status 4" in read[-1]["text"]
    other.close()


def test_a_cancelled_build_ends_at_once_and_leaves_nothing(api, builder, server):
    build = builder.start("long", run("sleep 60"))
    atoll.wait_for(lambda: api.get(f"{BUILDS}/{build}")["sandbox"], 30, "its sandbox")
    box = api.get(f"{BUILDS}/{build}")["sandbox"]
    begun = time.monotonic()
    ended = api.post(f"{BUILDS}/{build}/cancel")
    assert ended["status"] == "cancelled" and ended["message"].endswith("it was cancelled")
    assert time.monotonic() - begun < 30
    assert api.post(f"{BUILDS}/{build}/cancel")["status"] == "cancelled"
    atoll.wait_for(lambda: not (server.data / "sandboxes" / box).exists(), 30, "its sandbox's end")
    # Two run, the others wait for their turn, and one that waits is gone at once.
    running = [builder.start(f"turn{i}", run(f"sleep 30 # {i}")) for i in range(2)]
    waiting = [builder.start(f"turn{i}", run("true")) for i in range(2, 4)]
    assert [api.get(f"{BUILDS}/{b}")["status"] for b in waiting] == ["waiting", "waiting"]
    assert api.post(f"{BUILDS}/{waiting[0]}/cancel")["status"] == "cancelled"
    with pytest.raises(atoll.ApiError) as refused:
        api.post(BUILDS, {"name": "x", "from": "nothing", "steps": []})
    assert refused.value.status == 404
    for b in running:
        api.delete(f"{BUILDS}/{b}")
        with pytest.raises(atoll.ApiError) as gone:
            api.get(f"{BUILDS}/{b}")
        assert gone.value.status == 404
    assert wait_end(api, waiting[1])["status"] == "ready"
    listed = [item["id"] for item in api.get(f"{BUILDS}?name=turn3")["items"]]
    assert listed == [waiting[1]]


def test_two_builds_at_the_same_step_execute_it_once(api, server, builder):
    step = run("date +%s%N > /opt-once; sleep 0.5")
    builds = [builder.start(name, step) for name in ("left", "right")]
    done = [wait_end(api, b) for b in builds]
    assert [d["status"] for d in done] == ["ready", "ready"]
    assert sorted(d["cached_count"] for d in done) == [0, 1]
    with api.sandbox(template="left", internet=False) as left, api.sandbox(template="right", internet=False) as right:
        assert out(api, left, "cat /opt-once") == out(api, right, "cat /opt-once")


SERVER = "import http.server; http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)" \
         ".serve_forever()"
ASK = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/').read()"


def test_a_start_command_has_to_become_ready(api, builder):
    done = builder.build("web", {"type": "workdir", "path": "/srv/www"}, entrypoint=["python3", "-c", SERVER],
                         ready=f'python3 -c "{ASK}"')
    assert done["status"] == "ready", done["texts"]
    template = api.get("/api/sandbox/templates/web")
    assert template["entrypoint"] == ["python3", "-c", SERVER]
    assert template["ready_command"].startswith("python3")
    with api.sandbox(template="web", internet=False) as box:
        atoll.wait_for(lambda: api.exec(box, f'python3 -c "{ASK}"')["ok"], 30, "the server")
    # Its start may take longer than these where the machine is busy: then more time shows what it has said.
    for ready_timeout_ms in (2000, 30000):
        never = builder.build("never", start="echo I am up; sleep 60", ready="false", ready_timeout_ms=ready_timeout_ms)
        assert never["status"] == "error"
        assert f"the ready command did not succeed within {ready_timeout_ms} ms" in never["message"]
        if "I am up" in never["texts"]:
            break
    assert "I am up" in never["texts"]
    ends = builder.build("never", start="echo no port; exit 5", ready="false")
    assert ends["status"] == "error" and ends["exit_code"] == 5
    assert "the start command ended with status 5" in ends["message"] and "no port" in ends["texts"]
    quick = builder.build("never", start="exit 6")
    assert quick["exit_code"] == 6
    missing = builder.build("never", entrypoint=["no-such-program"])
    assert missing["status"] == "error" and "no-such-program" in missing["message"]


def test_templates_on_templates_go_in_order(api, builder, server):
    before = layers(server)
    builder.build("below", run("echo below > /opt-file"), {"type": "env", "env": {"X": "below"}})
    done = builder.build("above", run("cat /opt-file > /opt-copy; echo $X >> /opt-copy"), **{"from": "below"})
    assert done["status"] == "ready", done
    with api.sandbox(template="above", internet=False) as box:
        assert out(api, box, "cat /opt-copy") == "below\nbelow"
    with pytest.raises(atoll.ApiError) as refused:
        api.delete("/api/sandbox/templates/below")
    assert refused.value.status == 409 and "built on it" in refused.value.message
    api.delete("/api/sandbox/templates/above")
    api.delete("/api/sandbox/templates/below")
    # A template of its own that was derived keeps the layer.
    builder.build("below", run("echo below > /opt-file"))
    api.post("/api/sandbox/templates", {"name": "child", "from": "below"})
    builder.names.append("child")
    builder.build("below", run("echo other > /opt-file"), no_cache=True)
    with api.sandbox(template="child", internet=False) as box:
        assert out(api, box, "cat /opt-file") == "below"
    with api.sandbox(template="below", internet=False) as box:
        assert out(api, box, "cat /opt-file") == "other"
    assert len(layers(server)) >= len(before)


@pytest.mark.parametrize("spec, message", [
    ({"steps": [{"type": "run"}]}, "steps[0]: command: a run step needs one"),
    ({"steps": [{"type": "run", "command": "a", "args": ["b"]}]}, "steps[0]: give either command or args"),
    ({"steps": [{"type": "env", "env": {"A": "b"}}, {"type": "copy", "files": "ab", "path": "/x"}]},
     "steps[1]: files: 64 hexadecimal digits"),
    ({"steps": [{"type": "workdir", "path": "../../../x"}]}, "steps[0]: path"),
    ({"steps": [{"type": "user", "user": "a b"}]}, "steps[0]: user: printable characters without spaces"),
    ({"steps": [{"type": "user", "user": "a", "mode": "0644"}]}, "steps[0]: mode: a user step has none"),
    ({"steps": [{"type": "env", "env": {"A=B": "b"}}]}, "steps[0]"),
    ({"ready": "true"}, "ready: needs start or entrypoint"),
    ({"start": "a", "entrypoint": ["b"]}, "give either start or entrypoint"),
    ({"name": "No Good"}, "name"),
    ({"ports": [0]}, "ports[0]: a whole number from 1 to 65535"),
])
def test_what_is_wrong_is_told_before_anything_is_done(api, spec, message):
    with pytest.raises(atoll.ApiError) as refused:
        api.post(BUILDS, {"name": "wrong", "from": "host", "steps": [], **spec})
    assert refused.value.status == 400 and message in refused.value.message, refused.value


def test_a_provider_without_snapshots_says_so(tmp_path):
    server = atoll.Server(provider="host")
    server.start()
    try:
        with pytest.raises(atoll.ApiError) as refused:
            server.api().post(BUILDS, {"name": "x", "from": "host", "steps": [run("true")]})
        assert refused.value.code == "unsupported" and "'host'" in refused.value.message
    finally:
        server.remove_all()


def test_a_server_that_is_killed_leaves_a_failed_build_and_nothing_else(private_server):
    private_server.start()
    api = private_server.api()
    build = api.post(BUILDS, {"name": "app", "from": "host", "internet": False,
                              "steps": [run("echo kept > /opt-kept"), run("sleep 60")]})["id"]
    atoll.wait_for(lambda: api.get(f"{BUILDS}/{build}")["step"] == 2 and api.get(f"{BUILDS}/{build}")["sandbox"],
                   30, "the second step")
    private_server.kill9("api")
    private_server.wait_ready()
    api = private_server.api()
    found = api.get(f"{BUILDS}/{build}")
    assert found["status"] == "error" and "the server went away" in found["message"] and not found["sandbox"]
    assert api.get("/api/sandbox/instances?builds=true")["items"] == []
    done = wait_end(api, api.post(BUILDS, {"name": "app", "from": "host", "internet": False,
                                           "steps": [run("echo kept > /opt-kept"), run("true")]})["id"])
    assert done["status"] == "ready" and done["cached_count"] == 1
    # A little cache is emptied, and what its template needs stays.
    api.delete("/api/sandbox/templates/app")
    assert api.get("/api/sandbox/templates")["items"]


def test_the_cache_keeps_no_more_than_it_may():
    server = atoll.Server(flags=["--build-cache-bytes-max", "0"])
    server.start()
    try:
        api = server.api()
        for _ in range(2):
            done = wait_end(api, api.post(BUILDS, {"name": "app", "from": "host", "internet": False, "steps": [
                run("head -c 100000 /dev/zero > /opt-a"), run("echo b > /opt-b")]})["id"])
            assert done["status"] == "ready" and done["cached_count"] == 0
        with api.sandbox(template="app", internet=False) as box:
            assert out(api, box, "cat /opt-b; stat -c %s /opt-a") == "b\n100000"
        api.delete("/api/sandbox/templates/app")
        atoll.wait_for(lambda: not layers(server), 30, "no layer")
    finally:
        server.remove_all()


def test_many_builds_at_once_come_to_their_end(server, builder):
    def one(number):
        own = server.api()
        ids[number] = own.post(BUILDS, {"name": f"many{number}", "from": "host", "internet": False, "steps": [
            run("echo same > /opt-same"), run(f"echo {number} > /opt-own")]})["id"]
        own.close()

    ids = {}
    builder.names += [f"many{i}" for i in range(6)]
    threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [wait_end(builder.api, b) for b in ids.values()]
    assert [d["status"] for d in done] == ["ready"] * 6
    assert sum(d["cached_count"] for d in done) == 5


def test_a_pool_of_a_built_template_has_its_files(api, server, builder):
    def pool():
        return next(pool for pool in api.get("/api/sandbox/pools")["items"] if pool["template"] == "pooled")

    builder.build("pooled", run("echo first > /opt-file"), resources={"memory_mb": 192})
    api.call("PUT", "/api/sandbox/pools/pooled", {"target": 1, "min": 1, "max": 1})
    for text in ("first", "second"):
        atoll.wait_for(lambda: pool()["ready"] == 1, 15, "a prepared one")
        hits = pool()["hits"]
        with api.sandbox(template="pooled") as box:
            assert out(api, box, "cat /opt-file") == text
        assert pool()["hits"] == hits + 1
        builder.build("pooled", run("echo second > /opt-file"), resources={"memory_mb": 192})
    api.call("PUT", "/api/sandbox/pools/pooled", {"target": 0})


# ---- the command line ----

DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG BASE=nothing
FROM ${BASE} AS app
ARG VERSION=1 \\
    # a comment between
    OTHER
ENV MODE=production "QUOTED=a b" LEVEL=${VERSION}
ENV OLD the rest $MODE
WORKDIR /srv/app
COPY --chown=user main.py *.txt ./
COPY deep /srv/app/below/
COPY main.py /srv/app/renamed.py
ADD --chmod=600 deep/secret keys/secret
RUN echo "version $VERSION $MODE" > made && \\
    cat a.txt >> made
RUN ["python3", "-c", "print('in a list')"]
LABEL some=thing
EXPOSE 8000-8001/tcp 9000
USER user
HEALTHCHECK --interval=5s CMD test -f /srv/app/made
ENTRYPOINT ["python3"]
CMD ["main.py"]
"""


@pytest.fixture
def context(tmp_path):
    for name, text in {"main.py": "import time; time.sleep(60)\n", "a.txt": "a\n", "b.txt": "b\n", "deep/secret": "s\n",
                       "deep/er/file": "file\n", "left/out": "x\n", "c.log": "log\n", "keep.log": "kept\n",
                       ".dockerignore": "# what is not copied\nleft\n**/*.log\n!keep.log\nDockerfile\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "deep" / "link").symlink_to("../a.txt")
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    return tmp_path


def cli(server, *args, **options):
    done = server.cli("template", "build", *args, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_dockerfile_is_built_and_built_again_from_where_it_changed(api, server, builder, context):
    builder.names.append("docker")
    args = ["-f", str(context / "Dockerfile"), "--name", "docker", "--build-arg", "BASE=host", "--no-internet",
            str(context)]
    status, said, errors = cli(server, *args)
    assert status == 0, (said, errors)
    assert "in a list" in said and "template 'docker' is ready" in said
    assert f"{context}/Dockerfile:17: labels are ignored" in said
    template = api.get("/api/sandbox/templates/docker")
    assert template["entrypoint"] == ["python3", "main.py"] and template["ports"] == [8000, 8001, 9000]
    assert template["env"] == {"MODE": "production", "QUOTED": "a b", "LEVEL": "1", "OLD": "the rest production"}
    assert template["ready_command"] == "test -f /srv/app/made"
    with api.sandbox(template="docker", internet=False) as box:
        assert out(api, box, "cat made") == "version 1 production\na"
        assert out(api, box, "find . -mindepth 1 | sort").split() == [
            "./a.txt", "./b.txt", "./below", "./below/er", "./below/er/file", "./below/link", "./below/secret",
            "./keys", "./keys/secret", "./made", "./main.py", "./renamed.py"]
        assert out(api, box, "stat -c '%U %a' main.py keys/secret; readlink below/link; id -un; pwd").split("\n") == [
            "user 644", "root 600", "../a.txt", "user", "/srv/app"]
    builds = api.get(f"{BUILDS}?name=docker")["items"]
    assert builds[0]["cached_count"] == 0
    os.utime(context / "a.txt", (1, 1))
    assert cli(server, *args)[0] == 0
    assert api.get(f"{BUILDS}?name=docker")["items"][0]["cached_count"] == 6
    (context / "deep" / "er" / "file").write_text("changed\n")
    assert cli(server, *args)[0] == 0
    assert api.get(f"{BUILDS}?name=docker")["items"][0]["cached_count"] == 1
    assert cli(server, *args, "--no-cache")[0] == 0
    assert api.get(f"{BUILDS}?name=docker")["items"][0]["cached_count"] == 0


def test_steps_of_a_file_of_json_and_a_failure_by_its_status(api, server, builder, context):
    builder.names.append("json")
    file = context / "steps.json"
    spec = {"from": "host", "internet": False, "steps": [
        {"type": "copy", "source": ".", "path": "/srv/all", "user": "user"},
        run("cd /srv/all; find . -type f | sort; echo to stderr >&2")]}
    file.write_text(json.dumps(spec))
    status, said, errors = cli(server, "-f", str(file), "--name", "json", str(context))
    assert status == 0, (said, errors)
    assert errors == "to stderr\n"
    for name in ("./keep.log", "./deep/er/file", "./steps.json"):
        assert name in said.split("\n")
    assert "./c.log" not in said and "left/out" not in said and "./Dockerfile" not in said.split("\n")
    spec["steps"].append(run("exit 7"))
    file.write_text(json.dumps(spec))
    status, said, errors = cli(server, "-f", str(file), "--name", "json", str(context))
    assert status == 7 and "step 3 of 3 (RUN exit 7): it ended with status 7" in errors, errors
    status, said, errors = cli(server, "-f", str(file), "--name", "json", "--json", str(context))
    lines = said.split("\n")
    assert json.loads(lines[0])["line"] == 0
    assert json.loads(said[said.index("\n{\n") + 1:])["exit_code"] == 7


@pytest.mark.parametrize("text, message", [
    ("RUN true", "Dockerfile:1: FROM must come before RUN"),
    ("FROM scratch", "Dockerfile:1: an empty root filesystem (scratch) is not supported"),
    ("FROM host\nADD https://x.example/y /y\nRUN true\nADD a.tar.gz /y\nRUN --mount=type=ssh true",
     "Dockerfile: 3 lines cannot be built: 2 ADD of a URL, 4 ADD of an archive, 5 RUN --mount=type=ssh"),
    ("FROM host\nRUN --mount=type=secret,id=gone,required true", "the secret 'gone' is required and not given"),
    ("FROM host\nRUN --mount=type=cache,target=/usr/cache true", "'/usr/cache' belongs to the sandbox's system"),
    ("FROM host\nRUN <<EOF", "Dockerfile:2: the here-document 'EOF' has no end"),
    ("FROM host\nCOPY --from=missing /a /b", "missing"),
    ("FROM host\nCOPY ../x /y", "source"),
    ("FROM host\nCOPY c.log /y", "Dockerfile:2: 'c.log' is not in the context, or is excluded"),
    ("FROM host\nENV A='b", "a quote is not closed"),
    ("FROM host\nENV A=1 B", "'B' has no '='"),
    ("FROM host\nFLY high", "Dockerfile:2: 'FLY' is not an instruction"),
    ("FROM host\nRUN true \\", "the last line ends with a backslash"),
    ("", "has no FROM"),
])
def test_what_a_dockerfile_has_that_is_not_known_is_told_by_line(server, context, text, message):
    (context / "Dockerfile").write_text(text)
    status, _, errors = cli(server, "-f", "Dockerfile", "--name", "refused", ".", cwd=context)
    assert status != 0 and message in errors, errors


def test_ctrl_c_ends_the_build(api, server, builder, context):
    builder.names.append("interrupted")
    (context / "Dockerfile").write_text("FROM host\nRUN echo begun; sleep 60\n")
    process = subprocess.Popen([atoll.ATOLL, "template", "build", "-f", "Dockerfile", "--name", "interrupted",
                                "--no-internet"], cwd=context, env=server.cli_environment(), stdout=subprocess.PIPE)
    atoll.wait_for(lambda: process.stdout.readline() == b"begun\n", 30, "the step")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert api.get(f"{BUILDS}?name=interrupted")["items"][0]["status"] == "cancelled"


def test_changes_are_told_against_the_built_template(api, builder):
    builder.build("changed", run("echo built > /opt-built; echo old > /opt-old"))
    with api.sandbox(template="changed", internet=False) as box:
        out(api, box, "echo own > ~/own; echo new > /opt-old", user="root")
        answer = api.get(f"/api/sandbox/instances/{box}/changes")
        found = {item["path"]: item["kind"] for item in answer["items"]}
        assert answer["base"] == "template", answer
        assert found["opt-old"] == "modified" and "opt-built" not in found, found
        api.post(f"/api/sandbox/instances/{box}/changes/revert", {"paths": ["/opt-old"]})
        assert out(api, box, "cat /opt-old /opt-built") == "old\nbuilt"
        taken = api.post(f"/api/sandbox/instances/{box}/snapshot", {})["id"]
        of_snapshot = api.get(f"/api/sandbox/snapshots/{taken}/changes")["items"]
        assert "opt-built" not in [item["path"] for item in of_snapshot]
        api.delete(f"/api/sandbox/snapshots/{taken}")
