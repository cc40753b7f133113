# SPDX-License-Identifier: Apache-2.0
"""Real programs use services that want a login, and never have it: docs/use/credentials-in-requests.md. They trust the sandbox's authority by
what they read: a variable, the system's bundle, or a store of Java. After that the login is nowhere inside."""

import json
import pathlib
import shutil
import subprocess

import pytest

import atoll
import far_services

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl", "git"))), reason="needs ip, nft, openssl, curl and git")]
PATH = "/api/sandbox/instances"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def needs(*programs):
    missing = [name for name in programs if not shutil.which(name, path="/usr/bin:/bin")]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def header(value, name="authorization"):
    return [{"kind": "header", "name": name, "value": value}]


RULES = [
    {"id": "api", "host": "api.test", "action": "inject", "inject": header("Bearer ${credential.api.token}")},
    {"id": "git", "host": "git.test", "action": "inject", "inject": [{"kind": "basic", "username": "me", "password": "${credential.git.password}"}]},
    {"id": "pip", "host": "pypi.test", "action": "inject", "inject": [{"kind": "basic", "username": "me", "password": "${credential.pip.password}"}]},
    {"id": "npm", "host": "npm.test", "match": {"encoded_slash": True}, "action": "inject", "inject": header("Bearer ${credential.npm.token}")},
    {"id": "github", "host": "github.test", "action": "inject", "inject": header("token ${credential.github.token}")},
    {"id": "aws", "host": "s3.test", "action": "inject", "inject": [
        {"kind": "sigv4", "access_key_id": "${credential.aws.access_key_id}", "secret_access_key": "${credential.aws.secret_access_key}"}]},
]
EGRESS = {"allow": ["*.test"], "deny": ["0.0.0.0/0"], "rules": RULES}


@pytest.fixture(scope="module")
def world():
    with far_services.running() as (there, server):
        kept, api = there.kept, server.api()
        for name, kind, host, fields in [
                ("api", "token", "api.test", {"token": kept["token"]}), ("npm", "token", "npm.test", {"token": kept["npm"]}),
                ("git", "basic", "git.test", {"username": "me", "password": kept["password"]}), ("pip", "basic", "pypi.test", {"username": "me", "password": kept["password"]}),
                ("github", "token", "github.test", {"token": kept["github"]}),
                ("aws", "aws", "s3.test", {"access_key_id": kept["aws_id"], "secret_access_key": kept["aws_secret"]})]:
            api.post("/v1/credentials", {"name": name, "kind": kind, "hosts": [host], "consent": "project", "fields": fields})
        api.close()
        yield there, server


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


def authority_of(api, sandbox):
    return api.exec(sandbox, "cat /etc/atoll/authority.crt 2>/dev/null")["stdout"]


def await_trust(api, sandbox, before=""):
    """A moment after its start a sandbox trusts its authority."""
    def trusts():
        own = authority_of(api, sandbox)
        return own if own and own != before and own in api.exec(sandbox, f"cat {BUNDLE}; test -s /etc/atoll/ca-bundle.jks || echo no store")["stdout"] else None
    return atoll.wait_for(trusts, 30, lambda: f"trust: {api.exec(sandbox, f'ls -l /etc/atoll {BUNDLE}')}")


@pytest.fixture(scope="module")
def box(server):
    api = server.api()
    with api.sandbox(internet=True, egress=EGRESS) as sandbox:
        await_trust(api, sandbox)
        yield sandbox
    api.close()


def run(api, sandbox, command, user=None, **env):
    done = api.exec(sandbox, command, env={"HOME": "/tmp", **env}, timeout_ms=120000, **({"user": user} if user else {}))
    assert done["exit_code"] == 0, f'{done["stdout"]}\n{done["stderr"]}\n{done}'
    return done["stdout"] + done["stderr"]


@pytest.fixture
def clean(api, there, server, box):
    """After a test: nothing that a sandbox, its disk or its recorded output has shows a login."""
    yield
    assert far_services.places_with(server, api, box, there.kept.values()) == []


def test_git_clones_and_pushes_without_the_password(api, there, box, clean):
    run(api, box, """set -e
rm -rf /tmp/work; git init -q -b main /tmp/work; cd /tmp/work
git config user.name a; git config user.email a@b
head -c 3000000 /dev/urandom > big; echo one > one; git add .; git commit -qm one
git push -q https://git.test/one.git main
rm -rf /tmp/again; git clone -q https://git.test/one.git /tmp/again; cmp /tmp/again/big big""", GIT_TERMINAL_PROMPT="0")
    assert "good" in there.logins("git.test") and "bad" not in there.logins("git.test")
    found = subprocess.run(["git", "-C", there.repositories / "one.git", "-c", "safe.directory=*", "log", "--format=%s", "main"], capture_output=True, text=True)
    assert found.stdout.strip() == "one", found


@pytest.mark.parametrize("name", ["plain-package", "@acme/scoped"])
def test_npm_publishes_and_installs_with_a_token_that_is_no_token(api, there, box, clean, name):
    needs("npm", "node")
    run(api, box, f"""set -e
rm -rf /tmp/package /tmp/user; mkdir -p /tmp/package /tmp/user
printf 'registry=https://npm.test/\\n//npm.test/:_authToken=npm_000000000000000000000000000000000000\\n' > /tmp/.npmrc
cd /tmp/package; printf '%s' '{json.dumps({"name": name, "version": "1.0.0", "main": "x.js"})}' > package.json; echo 'module.exports = 42' > x.js
npm publish --access public --no-update-notifier --cache /tmp/npm-cache 2>&1
cd /tmp/user; echo '{{}}' > package.json
npm install --no-audit --no-fund --no-update-notifier --cache /tmp/npm-cache {name} 2>&1
node -e 'process.exit(require("{name}") === 42 ? 0 : 1)'""")
    assert set(there.logins("npm.test")) == {"good"}


def test_pip_installs_from_an_index_that_wants_a_login(api, there, box, clean):
    needs("pip")
    said = run(api, box, """set -e
/usr/bin/python3 -m pip install -q --no-cache-dir --no-deps --disable-pip-version-check --target /tmp/packages --index-url https://pypi.test/simple sample-of-atoll 2>&1
PYTHONPATH=/tmp/packages /usr/bin/python3 -c 'import sample_of_atoll; print(sample_of_atoll.answer)'""", PIP_NO_INPUT="1")
    assert said.strip().split("\n")[-1] == "42" and set(there.logins("pypi.test")) == {"good"}, said


def test_gh_calls_its_api(api, there, box, clean):
    needs("gh")
    said = run(api, box, "gh api user --jq .login; gh api -X POST repos/acme/one/issues -f title=x --jq .number",
               GH_HOST="github.test", GH_ENTERPRISE_TOKEN="ghp_" + "0" * 36)
    assert said.split() == ["octo", "7"] and set(there.logins("github.test")) == {"good"}


def test_aws_stores_lists_and_fetches(api, there, box, clean):
    needs("aws")
    said = run(api, box, """set -e
printf '[default]\\ns3 =\\n  addressing_style = path\\n' > /tmp/aws.conf
head -c 200000 /dev/urandom > /tmp/object
A="/usr/bin/aws --endpoint-url https://s3.test"
$A s3 cp --no-progress /tmp/object "s3://bucket/a folder/object"
$A s3 ls --recursive s3://bucket/
$A s3 cp --no-progress "s3://bucket/a folder/object" /tmp/object.back
cmp /tmp/object /tmp/object.back; $A s3 rm "s3://bucket/a folder/object" """,
               AWS_ACCESS_KEY_ID="AKIA0000000000000000", AWS_SECRET_ACCESS_KEY="0" * 40, AWS_CONFIG_FILE="/tmp/aws.conf", AWS_DEFAULT_REGION="eu-west-1")
    assert "200000 a folder/object" in said and set(there.logins("s3.test")) == {"good"}, (said, there.came[-10:])


JAVA = """
import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  var client = HttpClient.newHttpClient();
  System.out.println(client.send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
} }
"""


def give_java(api, sandbox):
    """The program, and the folder of /etc that the template host does not have."""
    if api.exec(sandbox, "ls /etc/java-*-openjdk/security/java.security")["exit_code"]:
        folders = [path.name for path in pathlib.Path("/etc").glob("java-*-openjdk")]
        api.write(sandbox, "/tmp/java.tar", subprocess.run(["tar", "-C", "/etc", "-c", *folders], stdout=subprocess.PIPE, check=True).stdout)
        run(api, sandbox, "tar -C /etc --no-same-owner -xf /tmp/java.tar", user="root")
    api.write(sandbox, "/tmp/Get.java", JAVA.encode())


READERS = {
    "curl": ("curl -sSf {url}", ["curl"]),
    "wget": ("wget -qO- {url}", ["wget"]),
    "python3": ("/usr/bin/python3 -c 'import urllib.request as r; print(r.urlopen(\"{url}\").read().decode())'", ["python3"]),
    "requests": ("/usr/bin/python3 -c 'import requests; a = requests.get(\"{url}\"); a.raise_for_status(); print(a.text)'", ["python3"]),
    "node": ("node -e 'fetch(\"{url}\").then(a => a.text()).then(console.log)'", ["node"]),
    "java": ("java /tmp/Get.java {url}", ["java"]),
}


@pytest.mark.parametrize("name", atoll.sample(list(READERS), ["curl", "requests", "node", "java"]))
def test_a_client_gets_the_answer_and_not_the_token(api, there, box, clean, name):
    command, programs = READERS[name]
    needs(*programs)
    if name == "requests" and subprocess.run(["/usr/bin/python3", "-c", "import requests"], capture_output=True).returncode:
        pytest.skip("needs python3-requests")
    if name == "java":
        give_java(api, box)
    said = run(api, box, command.format(url=f"https://api.test/by-{name}"))
    answer = json.loads(said[said.index("{"):said.rindex("}") + 1])
    assert answer["path"] == f"/by-{name}" and set(answer["headers"]["authorization"].removeprefix("Bearer ")) == {"*"}
    atoll.wait_for(lambda: any(line.startswith(f"came api.test GET /by-{name} good") for line in there.came), 20, lambda: there.came[-10:])


def test_a_program_that_runs_on_has_no_login_in_its_memory(api, there, server, box):
    code = ("import signal, ssl, urllib.request as r\nkept = [r.urlopen('https://api.test/kept').read() for _ in range(20)]\n"
            "print('read', flush=True)\nsignal.pause()")
    process = api.post(f"{PATH}/{box}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", code], "background": True})["process"]
    try:
        told = lambda: api.raw("GET", f"{PATH}/{box}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "read" in told(), 30, told)
        assert far_services.places_with(server, api, box, there.kept.values()) == []
        # The search finds what is there: the API's own words.
        assert any(far_services.memory_has(pid, [b'"/kept"']) for pid in far_services.processes_of(api, box))
    finally:
        api.exec(box, f"kill -9 {process}; pkill -9 python3; true")


# ---- trust without a variable ----

@pytest.mark.parametrize("name", atoll.sample(["curl", "wget", "git", "python3", "java"], ["wget", "git"]))
def test_the_system_s_bundle_is_enough(api, there, box, name):
    needs(name)
    command = {"git": "git ls-remote https://git.test/big.git"}.get(name) or READERS[name][0].format(url=f"https://api.test/bare-{name}")
    java = ""
    if name == "java":
        give_java(api, box)
        java = "JAVA_TOOL_OPTIONS=\"$JAVA_TOOL_OPTIONS\""
    run(api, box, f"env -i PATH=/usr/bin:/bin HOME=/tmp {java} {command}")
    assert there.logins("git.test" if name == "git" else "api.test")[-1] == "good"


def test_all_other_authorities_stay(api, box):
    def certificates(text):
        return {part.split("-----END")[0].strip() for part in text.split("-----BEGIN CERTIFICATE-----")[1:]}
    inside = api.exec(box, f"cat {BUNDLE}")["stdout"]
    assert certificates(pathlib.Path(BUNDLE).read_text()) < certificates(inside)
    assert inside.count(authority_of(api, box)) == 1 and "PRIVATE" not in inside


def test_a_restart_a_pause_and_a_fork_keep_trust_and_a_fork_has_its_own(api, there, server):
    with api.sandbox(internet=True, egress=EGRESS) as sandbox:
        own = await_trust(api, sandbox)
        api.post(f"{PATH}/{sandbox}/pause")
        api.post(f"{PATH}/{sandbox}/resume")
        run(api, sandbox, "env -i PATH=/usr/bin:/bin curl -sSf https://api.test/resumed")
        fork = api.post(f"{PATH}/{sandbox}/fork", {})["items"][0]["id"]
        try:
            other = await_trust(api, fork, before=own)
            bundle = api.exec(fork, f"cat {BUNDLE}")["stdout"]
            assert other in bundle and own not in bundle
            run(api, fork, "env -i PATH=/usr/bin:/bin curl -sSf https://api.test/forked")
        finally:
            api.remove(fork)
        api.post(f"{PATH}/{sandbox}/stop")
        atoll.wait_for(lambda: api.get(f"{PATH}/{sandbox}")["state"] == "stopped", 30)
        api.post(f"{PATH}/{sandbox}/start")
        assert await_trust(api, sandbox) == own
        run(api, sandbox, "env -i PATH=/usr/bin:/bin curl -sSf https://api.test/restarted")


def test_hostile_bundles_harm_nothing(api, there, server):
    """A pipe, a folder, a link to a device and a loop in place of the bundle: the sandbox's own variables still work, and others get theirs."""
    for made in ("rm -f {b}; mkfifo {b}", "rm -f {b}; mkdir {b}", "ln -sf /dev/zero {b}", "rm -f {b}; ln -s {b} {b}", "head -c 5000000 /dev/zero > {b}"):
        with api.sandbox(internet=True) as sandbox:
            run(api, sandbox, made.format(b=BUNDLE), user="root")
            api.call("PUT", f"{PATH}/{sandbox}/egress", EGRESS)
            atoll.wait_for(lambda: authority_of(api, sandbox), 30, "the authority's file")
            atoll.wait_for(lambda: api.exec(sandbox, "curl -sSf https://api.test/hostile")["exit_code"] == 0, 30, made)
    with api.sandbox(internet=True, egress=EGRESS) as sandbox:
        await_trust(api, sandbox)
    assert server.crashes() == []


def test_a_system_without_a_bundle_gets_one(api, there):
    with api.sandbox(internet=True) as sandbox:
        run(api, sandbox, f"rm -f {BUNDLE}", user="root")
        api.call("PUT", f"{PATH}/{sandbox}/egress", EGRESS)
        await_trust(api, sandbox)
        run(api, sandbox, "env -i PATH=/usr/bin:/bin curl -sSf https://api.test/made")


# ---- presets: no rule by hand ----

def test_presets_let_programs_work_without_a_login(api, there, server):
    """With the services' own names."""
    kept = there.kept
    for name, preset, fields in [("gh", "github", {"token": kept["github"]}), ("registry", "npm", {"token": kept["npm"]}), ("claude", "anthropic", {"token": kept["token"]}),
                                 ("cloud", "aws", {"access_key_id": kept["aws_id"], "secret_access_key": kept["aws_secret"]})]:
        made = api.post("/v1/credentials", {"name": name, "preset": preset, "consent": "project", "fields": fields})
        assert made["preset"] == preset and made["hosts"]
    with api.sandbox(internet=True, egress={"credentials": ["gh", "registry", "claude", "cloud"]}) as sandbox:
        await_trust(api, sandbox)
        shown = api.get(f"{PATH}/{sandbox}")["egress"]
        assert "*.amazonaws.com" in shown["allow"] and shown["deny"] == ["0.0.0.0/0"] and "gh-deny-gists" in [rule["id"] for rule in shown["rules"]]
        assert shown["rules"][0]["source"] == "preset:github" and "credentials" not in shown
        if shutil.which("gh"):
            assert run(api, sandbox, "gh api user --jq .login").strip() == "octo"
            assert api.exec(sandbox, "gh api -X POST gists -f a=b", env={"HOME": "/tmp"})["exit_code"] != 0
            assert not [line for line in there.came if "/gists" in line]
        run(api, sandbox, """set -e
git clone -q https://github.com/acme/one.git /tmp/one; cd /tmp/one; git config user.name a; git config user.email a@b
echo x > x; git add x; git commit -qm x; git push -q origin HEAD:main""", GIT_TERMINAL_PROMPT="0")
        if shutil.which("npm"):
            run(api, sandbox, """set -e
printf '//registry.npmjs.org/:_authToken=%s' "$NPM_TOKEN" > /tmp/.npmrc
mkdir -p /tmp/p; cd /tmp/p; echo '{"name": "of-a-preset", "version": "1.0.0"}' > package.json
npm publish --no-update-notifier --cache /tmp/npm-cache 2>&1; npm view --cache /tmp/npm-cache of-a-preset version""")
        if shutil.which("aws", path="/usr/bin"):
            said = run(api, sandbox, "set -e; echo hello > /tmp/object; /usr/bin/aws s3 cp --no-progress /tmp/object s3://bucket/hello; /usr/bin/aws s3 ls s3://bucket/",
                       AWS_DEFAULT_REGION="eu-west-1")
            assert "hello" in said
            # What gives out other secrets is not signed.
            assert api.exec(sandbox, "/usr/bin/aws secretsmanager list-secrets", env={"HOME": "/tmp", "AWS_DEFAULT_REGION": "eu-west-1"})["exit_code"] != 0
            assert "good" not in there.logins("secretsmanager.eu-west-1.amazonaws.com")
        run(api, sandbox, "curl -sSf -H \"x-api-key: $ANTHROPIC_API_KEY\" -H 'Authorization: Bearer x' https://api.anthropic.com/v1/messages -d '{}'")
        assert there.logins("api.anthropic.com") == ["good"]
        for host in ("api.github.com", "github.com", "registry.npmjs.org", "bucket.s3.eu-west-1.amazonaws.com"):
            assert "bad" not in there.logins(host)
        assert far_services.places_with(server, api, sandbox, kept.values()) == []
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"credentials": ["gh"], "allow": ["api.test"]})
        again = api.get(f"{PATH}/{sandbox}")["egress"]
        assert set(again["allow"]) == {"api.test", "api.github.com", "uploads.github.com", "github.com"}


def test_a_credential_without_a_preset_needs_rules(api, server):
    for body, status, word in [({"credentials": ["api"]}, 400, "no preset"), ({"credentials": ["nothing"]}, 404, "nothing")]:
        with pytest.raises(atoll.ApiError) as failure:
            api.post(PATH, {"internet": True, "egress": body})
        assert failure.value.status == status and word in str(failure.value), failure.value
    for body in ({"name": "x", "preset": "no-such", "fields": {"token": "a-token"}}, {"name": "x", "fields": {"token": "a-token"}}):
        assert api.raw("POST", "/v1/credentials", body).status == 400
    done = server.cli("credential", "add", "of-the-cli", "--preset", "openai", "--field", "token=a-token", text=True)
    assert done.returncode == 0 and api.get("/v1/credentials/of-the-cli")["hosts"] == ["api.openai.com"], done.stderr
    with api.sandbox(internet=True) as sandbox:
        done = server.cli("network", sandbox, "--credential", "of-the-cli", text=True)
        assert done.returncode == 0 and "of-the-cli-api  api.openai.com  inject" in done.stdout, done.stderr
        assert api.exec(sandbox, "printf %s $OPENAI_API_KEY")["stdout"].startswith("sk-0000")
