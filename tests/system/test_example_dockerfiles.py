# SPDX-License-Identifier: Apache-2.0
"""examples/dockerfiles: each is built by the command line, and used in a sandbox without network.

Those that begin with the template `host` run always. The others need templates of Debian's packages, and packages of their own.
"""

import shutil

import pytest

import atoll

pytestmark = pytest.mark.needs_root
FOLDER = atoll.ROOT / "examples" / "dockerfiles"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/Dockerfile"))
TEMPLATES = ("host", "minimal", "base", "python", "node", "data", "web", "browser")


class Expectation:
    """The file `expect`: options of the build, and commands with texts that their output contains."""

    def __init__(self, name):
        self.options, self.templates, self.commands = [], set(), []
        for line in (FOLDER / name / "expect").read_text().splitlines():
            word, rest = line.split(" ", 1)
            if word == "arg":
                self.options += ["--build-arg", rest]
                self.templates |= {rest.split("=", 1)[1]} & set(TEMPLATES)
            elif word == "secret":
                self.options += ["--secret", rest]
            elif word == "run":
                self.commands.append((rest, []))
            elif word == "has":
                self.commands[-1][1].append(rest)
            else:
                raise ValueError(f"{name}/expect: '{word}' is not arg, secret, run or has")
        assert self.templates and self.commands and all(texts for _, texts in self.commands), name


@pytest.fixture(scope="module")
def build(server):
    """Builds an example, after the templates that it begins with."""
    ready, reasons = {"host"}, []

    def need(template):
        if not reasons:
            from test_network import registry_reason
            reasons.append(None if shutil.which("mmdebstrap") else "'mmdebstrap' is not installed")
            reasons[0] = reasons[0] or registry_reason()
        if reasons[0]:
            pytest.skip(reasons[0])
        done = server.cli("template", "build", template, timeout=1800)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        ready.add(template)

    def run(name, expected):
        for template in sorted(expected.templates - ready, key=TEMPLATES.index):
            need(template)
        offline = ["--no-internet"] if expected.templates == {"host"} else []
        return server.cli("template", "build", "-f", "Dockerfile", "--name", name, *expected.options, *offline, ".",
                          cwd=FOLDER / name, timeout=900)

    return run


def contains_all(api, box, command, texts):
    """Servers of the sandbox may still be starting."""
    last = {}

    def seen():
        last.update(api.exec(box, command, timeout_ms=60000))
        return all(text in last["stdout"] for text in texts)
    atoll.wait_for(seen, 30, lambda: f"{texts} in the output of '{command}': {last['stdout']!r}, {last['stderr']!r}")


def marks(name):
    return [] if Expectation(name).templates == {"host"} else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in NAMES])
def test_a_dockerfile_is_built_and_used(server, api, build, name):
    expected = Expectation(name)
    try:
        done = build(name, expected)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()[-4000:]
        with api.sandbox(template=name, internet=False) as box:
            for command, texts in expected.commands:
                contains_all(api, box, command, texts)
    finally:
        api.raw("DELETE", f"/api/sandbox/templates/{name}")


def test_the_dockerfiles_are_known():
    assert len(NAMES) >= 20
    listed = (FOLDER / "README.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in listed] == []
