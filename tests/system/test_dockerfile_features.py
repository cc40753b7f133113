# SPDX-License-Identifier: Apache-2.0
"""Dockerfiles of real life: stages, here-documents, mounts, owners, and what hostile stages try."""

import os
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BUILDS = "/api/sandbox/templates/builds"
ENDED = ("ready", "error", "cancelled")


@pytest.fixture
def build(api, server, tmp_path):
    """Builds a Dockerfile by the CLI: status, standard output, errors."""
    names = []

    def run(text, *options, name="dockerfile"):
        names.append(name)
        (tmp_path / "Dockerfile").write_text(text)
        done = server.cli("template", "build", "-f", "Dockerfile", "--name", name, "--no-internet", *options, ".",
                          cwd=tmp_path)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    run.folder = tmp_path
    yield run
    for name in reversed(names):
        api.raw("DELETE", f"/api/sandbox/templates/{name}")


def passed(result):
    assert result[0] == 0, result
    return result[1]


def out(api, box, command):
    answer = api.exec(box, command)
    assert answer["ok"], answer
    return answer["stdout"].strip()


STAGES = """\
FROM host AS tools
WORKDIR /out
RUN <<EOF
set -e
mkdir -p bin share/deep
echo tool > bin/tool
chmod 4755 bin/tool
echo deep > share/deep/file
ln -s ../bin/tool share/link
chown -R 1000:1000 share
ln -s /etc/hostname escape
ln -s / root
EOF

FROM host AS unused
RUN echo this is not executed; exit 1

FROM tools AS more
RUN echo more > /out/more

FROM host
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
COPY --from=tools /out/bin/tool /opt/new/name
COPY --from=0 /out/share /opt/share
COPY --from=more --chown=1000:100 --chmod=0640 /out/mor? /out/bin/tool /opt/many/
COPY --from=tools /out/escape /opt/escaped
COPY --from=host /usr/bin/true /opt/true
COPY --chown=user:100 <<"ONE" <<TWO /opt/written/
keep $HOME
ONE
say ${WHO:-nobody}
TWO
RUN python3 - <<PY >/opt/python && echo "${BASH_VERSION:0:1}" >/opt/bash
print(6 * 7)
PY
VOLUME /opt/volume
MAINTAINER somebody
"""


def test_stages_give_their_files_to_later_ones(api, build):
    said = passed(build(STAGES))
    assert "MAINTAINER is ignored" in said and "this is not executed" not in said
    with api.sandbox(template="dockerfile", internet=False) as box:
        assert out(api, box, "cd /opt; cat new/name share/deep/file many/more written/ONE written/TWO python bash"
                   ).split("\n")[:6] == ["tool", "deep", "more", "keep $HOME", "say nobody", "42"]
        # Owners and modes are those of the stage unless the instruction says another.
        assert out(api, box, "cd /opt; stat -c '%u:%g %a %n' new/name share/deep/file many/more many/tool written/ONE"
                   ).split("\n") == ["0:0 4755 new/name", "1000:1000 644 share/deep/file", "1000:100 640 many/more",
                                     "1000:100 640 many/tool", "1000:100 644 written/ONE"]
        # A link of the stage leads to files of the stage.
        with open("/proc/sys/kernel/hostname", encoding="ascii") as host:
            assert out(api, box, "cat /opt/escaped") != host.read().strip()
        assert out(api, box, "readlink /opt/share/link; test -d /opt/volume; cmp /opt/true /usr/bin/true; ls -d /out || true"
                   ) == "../bin/tool"
    again = passed(build(STAGES))
    assert again.count("\ncached") >= 8 and "done in" not in again, again
    # The earlier stage alone, by its name.
    passed(build(STAGES, "--target", "more", name="earlier"))
    with api.sandbox(template="earlier", internet=False) as box:
        assert out(api, box, "pwd; cat more bin/tool") == "/out\nmore\ntool"


def test_a_changed_stage_changes_what_was_copied_from_it(api, build):
    text = "FROM host AS a\nRUN {} > /opt-a\nFROM host\nCOPY --from=a /opt-a /opt-b\n"
    passed(build(text.format("echo one")))
    passed(build(text.format("echo two")))
    with api.sandbox(template="dockerfile", internet=False) as box:
        assert out(api, box, "cat /opt-b") == "two"


MOUNTS = """\
FROM host AS made
RUN mkdir /made && echo staged > /made/file && ln -s / /made/root

FROM host
WORKDIR /work
RUN --mount=type=bind,source=input.txt,target=input.txt \\
    --mount=type=bind,from=made,source=/made,target=/bound \\
    --mount=type=bind,source=folder,target=/context \\
    --mount=type=tmpfs,target=/scratch-folder \\
    cat input.txt /bound/file /context/inside > all; echo x > /bound/new; echo y > /scratch-folder/y
RUN --mount=type=cache,target=/var/cache/mine,uid=1000,gid=100,mode=0750 \\
    stat -c 'cache %u:%g %a' /var/cache/mine; echo "seen: $(cat /var/cache/mine/count 2>&1)"; echo {count} \\
    > /var/cache/mine/count
WORKDIR /empty
RUN --mount=type=bind,target=. ls -A > /listed
"""


def test_mounts_are_there_while_the_command_runs(api, build):
    (build.folder / "input.txt").write_text("input\n")
    (build.folder / "folder").mkdir()
    (build.folder / "folder" / "inside").write_text("inside\n")
    said = passed(build(MOUNTS.format(count=1)))
    assert "cache 1000:100 750" in said and "seen: cat" in said
    with api.sandbox(template="dockerfile", internet=False) as box:
        assert out(api, box, "cd /work; cat all; ls -A /work; ls -d /bound /context /scratch-folder 2>&1 | grep -vc such "
                             "|| true") == "input\nstaged\ninside\nall\n0"
        assert out(api, box, "cat /listed; ls -A /empty /var/cache/mine").split("\n") == [
            "Dockerfile", "folder", "input.txt", "/empty:", "", "/var/cache/mine:"]
    # The next build finds the cache.
    assert "seen: 1" in passed(build(MOUNTS.format(count=2)))


def test_a_cache_belongs_to_one_project(api, server, build):
    text = "FROM host\nRUN --mount=type=cache,id=shared,target=/cache cat /cache/mine; echo own{} > /cache/mine\n"
    passed(build(text.format(1)))
    assert "own1" in passed(build(text.format(2)))
    project = api.post("/v1/projects", {"name": "cache-other"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "k"}, {"X-Atoll-Project": project})["key"]
    other = api.clone(key=key)
    step = {"type": "run", "command": "ls -A /cache",
            "mounts": [{"type": "cache", "id": "shared", "path": "/cache"}]}
    made = other.post(BUILDS, {"name": "other", "from": "host", "internet": False, "steps": [step]})["id"]
    atoll.wait_for(lambda: other.get(f"{BUILDS}/{made}")["status"] in ENDED, 30, "its end")
    lines = [line["text"] for line in other.get(f"{BUILDS}/{made}/logs")["lines"]]
    assert "mine" not in lines and other.get(f"{BUILDS}/{made}")["status"] == "ready", lines
    other.delete("/api/sandbox/templates/other")


SECRET = "correct-horse-battery-7341"
SECRETS = """\
FROM host
RUN --mount=type=secret,id=token,env=TOKEN --mount=type=secret,id=token,target=/root/deep/key,uid=1000,mode=0440 \\
    --mount=type=secret,id=token,target=/run/secrets/token --mount=type=secret,id=absent \\
    stat -c '%u %a' /root/deep/key; test "$(cat /run/secrets/token)" = "$TOKEN" && test ! -e /run/secrets/absent && \\
    echo "printed $TOKEN" && sha256sum /root/deep/key | cut -c1-8 > /opt-sum
"""


def files_with(folder, text):
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 64 << 20:
                with open(path, "rb") as file:
                    if text.encode() in file.read():
                        found.append(path)
    return found


def test_a_secret_is_in_no_layer_log_store_or_key(api, server, build):
    (build.folder / "token").write_text(SECRET)
    said = passed(build(SECRETS, "--secret", "id=token,src=token"))
    assert "1000 440" in said and "printed ***" in said and SECRET not in said
    with api.sandbox(template="dockerfile", internet=False) as box:
        assert out(api, box, "cat /opt-sum; ls -A /root/deep /run/secrets 2>/dev/null; env | grep -c battery || true"
                   ).split("\n")[-1] == "0"
    # Another secret is the same step.
    (build.folder / "token").write_text("another secret altogether")
    assert "cached" in passed(build(SECRETS, "--secret", "id=token,src=token"))
    assert not files_with(server.data, SECRET)
    status, _, errors = build(SECRETS, "--secret", "src=token")
    assert status != 0 and "has no id=NAME" in errors
    status, _, errors = build(SECRETS, "--secret", "id=token,src=nowhere")
    assert status != 0 and "secret 'token'" in errors


@pytest.mark.parametrize("text, message", [
    ("FROM host AS a\nFROM host\nCOPY --from=a /missing /y", "'/missing' of the stage"),
    ("FROM host AS a\nFROM host\nCOPY --from=a / /y", "the root of a stage cannot be copied"),
    ("FROM host AS a\nFROM host\nCOPY --from=a /no*thing /y", "matches nothing in the stage"),
    ("FROM host AS a\nFROM host\nCOPY --from=a /dev/null /y", "is no file and no folder"),
    ("FROM host\nRUN echo > /there\nRUN --mount=type=secret,id=s,target=/there true", "'/there' exists"),
    ("FROM host\nCOPY --chown=root:nogroupatall <<E /y\nE", "no group 'nogroupatall'"),
])
def test_what_cannot_be_mounted_or_copied_is_named(build, text, message):
    status, said, errors = build(text, "--secret", "id=s,env=PATH")
    assert status != 0 and message in errors, (said, errors)


@pytest.mark.parametrize("spec, message", [
    ({"from": "a", "stages": [{"name": "a", "from": "a"}]}, "no template 'a'"),
    ({"from": "b", "stages": [{"name": "a", "from": "b"}, {"name": "b", "from": "a"}]}, "no template 'b'"),
    ({"from": "host", "stages": [{"name": "a", "from": "host"}, {"name": "a", "from": "host"}]}, "there is a stage 'a'"),
    ({"from": "host", "steps": [{"type": "copy", "from": "a", "paths": ["/x"], "path": "/y"}]}, "not an earlier stage"),
    ({"from": "host", "steps": [{"type": "copy", "path": "/y"}]}, "give either files or from"),
    ({"from": "host", "steps": [{"type": "write", "path": "/y", "files": "0" * 64}]}, "a write step has none"),
    ({"from": "host", "steps": [{"type": "write", "path": "/y", "text": "x" * 1100000}]}, "too large"),
    ({"from": "host", "secrets": {"a": "x" * 70000}}, "a secret 65536"),
    ({"from": "host", "stages": [{"name": str(i), "from": "host"} for i in range(65)]}, "stages"),
])
def test_a_request_that_makes_no_sense_is_refused(api, spec, message):
    with pytest.raises(atoll.ApiError) as refused:
        api.post(BUILDS, {"name": "refused", **spec})
    assert refused.value.status in (400, 404, 413, 429) and message in refused.value.message, refused.value


def test_two_builds_with_one_cache_wait_for_each_other(api, server):
    def one(number):
        own = server.api()
        step = {"type": "run", "command": f"test ! -e /c/held; touch /c/held; sleep 0.3; rm /c/held # {number}",
                "mounts": [{"type": "cache", "id": "both", "path": "/c"}]}
        made = own.post(BUILDS, {"name": f"both{number}", "from": "host", "internet": False, "steps": [step]})["id"]
        atoll.wait_for(lambda: own.get(f"{BUILDS}/{made}")["status"] in ENDED, 30, "its end")
        done[number] = own.get(f"{BUILDS}/{made}")
        own.close()

    done = {}
    threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done[i]["status"] for i in range(2)] == ["ready", "ready"], done
    for i in range(2):
        api.delete(f"/api/sandbox/templates/both{i}")


def test_a_user_with_a_group_is_that_of_commands_and_of_sandboxes(api, build):
    said = passed(build("FROM host\nRUN mkdir /work && chown 1000:100 /work\nUSER 1000:100\nWORKDIR /work\n"
                        "RUN touch file; echo \"$(id -u):$(id -g):$(id -G)\"\n"))
    assert "1000:100:100" in said
    with api.sandbox(template="dockerfile", internet=False) as box:
        assert out(api, box, "stat -c %u:%g file; id -u; id -g; pwd") == "1000:100\n1000\n100\n/work"
        api.write(box, "/work/written", b"x")
        assert out(api, box, "stat -c %u:%g written") == "1000:100"


def test_daytonas_images_have_stages_and_here_documents(api):
    text = "FROM host AS one\nRUN echo made > /made\nFROM host\nCOPY --from=one /made /opt/made\n" \
           "COPY <<END /opt/text\nwritten\nEND\nRUN <<END\ncat /opt/made /opt/text > /opt/all\nEND\n"
    path = "/daytona/api/sandbox"
    made = api.post(path, {"networkBlockAll": True, "buildInfo": {"dockerfileContent": text}})["id"]
    state = atoll.wait_for(lambda: (lambda s: s if s in ("started", "error", "build_failed") else None)(
        api.get(f"{path}/{made}")["state"]), 30, "the sandbox")
    assert state == "started"
    assert out(api, made, "cat /opt/all") == "made\nwritten"
    template = api.get(f"{path}/{made}")["snapshot"]
    api.remove(made)
    api.raw("DELETE", f"/api/sandbox/templates/{template}")
    refused = api.raw("POST", path, '{"buildInfo": {"dockerfileContent": "FROM host\\nCOPY a b\\nADD c d\\nRUN <<E\\n"}}')
    assert refused.status == 501 and "3 lines cannot be built: 2 COPY without the files, 3 ADD without" in \
        refused.body.decode(), refused.body
