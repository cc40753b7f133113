# SPDX-License-Identifier: Apache-2.0
"""In a real browser, below a path in the browser's sandbox and at a host of its own: a real Vite app that is edited inside its sandbox reloads;
a folder's pages, a counter of events, a WebSocket and a page with a policy of its own work."""

import contextlib
import io
import os
import shutil
import subprocess
import tarfile

import pytest

import atoll
from chromium import CHROMIUM

HERE = atoll.ROOT / "tests/browser"
pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not CHROMIUM, reason="there is no chromium (apt-get install chromium-headless-shell)"),
              pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host's /usr has no node")]
PORT = 5173
APP = {
    "index.html": '<!doctype html><html><head><title>app</title></head><body><div id="app"></div>'
                  '<script type="module" src="/main.js"></script></body></html>',
    "main.js": 'import { text } from "/text.js";\nconst app = document.getElementById("app");\napp.textContent = text;\n'
               'import.meta.hot.accept("/text.js", (m) => { app.textContent = m.text; });\n',
    "text.js": 'export const text = "one";\n',
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with node_modules; skipped where the registry cannot be reached."""
    folder = tmp_path_factory.mktemp("browser")
    for name in ("package.json", "package-lock.json", "visit.mjs", "show.mjs"):
        shutil.copy(HERE / name, folder)
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    done = subprocess.run(["npm", "ci", "--omit=optional", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, timeout=120)
    if done.returncode:
        pytest.skip(f"npm cannot install vite and playwright-core: {done.stderr.decode(errors='replace')[-300:]}")
    return folder


@pytest.fixture(scope="module")
def server():
    running = atoll.Server()
    running.environment["SANDBOX_PREVIEW_DOMAIN"] = f"preview.localhost:{running.port}"
    running.start()
    yield running
    running.remove_all()


def pack(modules):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        tar.add(modules / "node_modules", "node_modules", filter=lambda t: None if "playwright" in t.name else t)
        for name, text in APP.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture(scope="module")
def app(server, modules):
    """A sandbox in which Vite serves an app."""
    with contextlib.closing(server.api()) as api, api.sandbox(internet=True) as sandbox:
        api.write(sandbox, "/tmp/app.tar.gz", pack(modules))
        done = api.exec(sandbox, "mkdir /tmp/app && cd /tmp/app && tar xzf ../app.tar.gz && (setsid node node_modules/vite/bin/vite.js "
                                 f"--port {PORT} --strictPort >/tmp/log 2>&1 </dev/null &)")
        assert done["exit_code"] == 0, done
        atoll.wait_for(lambda: api.raw("GET", f"/api/sandbox/instances/{sandbox}/preview/{PORT}/").status == 200, 30,
                       "Vite")
        yield sandbox


@pytest.mark.parametrize("form, origin", [("url", "null"), ("hostUrl", "http://5173-")])
def test_an_app_that_is_edited_reloads(server, app, modules, form, origin):
    with contextlib.closing(server.api()) as api:
        api.write(app, "/tmp/app/text.js", APP["text.js"].encode())
        made = api.post(f"/api/sandbox/instances/{app}/preview-tokens", {"port": PORT, "private": True})
        visit = subprocess.Popen(["node", "visit.mjs", CHROMIUM, made[form]], cwd=modules, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        try:
            first = visit.stdout.readline()
            if first.startswith("one"):
                api.write(app, "/tmp/app/text.js", b'export const text = "two";\n')
            rest, errors = visit.communicate(timeout=60)
        finally:
            visit.kill()
            visit.wait()
        assert first.startswith(f"one {origin}"), errors
        assert rest == "two\n", errors


# What a page of tests/preview_server.py may by a policy like code-server's, of a header and of a meta: that, and no more.
STRICT = "hash module fetched module echo inline"
# What tests/preview_server.py finds out of cookies, storage and attributes.
LIKENESS = "b=2; c=3 4; d=5=6|b=2; e=|1|3|4|true|||true|1|form|object|video|a|/x|/x|/x|/x"


def test_a_folders_page_events_a_websocket_and_a_policy_work_in_both_forms(server, modules):
    with contextlib.closing(server.api()) as api, api.sandbox(internet=True) as sandbox:
        api.write(sandbox, "/tmp/site/index.html", b'<!doctype html><html><head></head><body><p id="app"></p>'
                                                   b'<script src="/js/main.js"></script></body></html>')
        api.write(sandbox, "/tmp/site/js/main.js", b'fetch("/text.txt").then((r) => r.text()).then((t) => '
                                                   b'{ document.getElementById("app").textContent = t; });')
        api.write(sandbox, "/tmp/site/text.txt", b"served")
        api.write(sandbox, "/tmp/server.py", (atoll.ROOT / "tests/preview_server.py").read_bytes())
        done = api.exec(sandbox, "(setsid python3 -m http.server 8000 -d /tmp/site >/tmp/log 2>&1 </dev/null &) && "
                                 "(setsid python3 /tmp/server.py 8080 >/tmp/log2 2>&1 </dev/null &)")
        assert done["exit_code"] == 0, done
        pages, origins = [], []
        for port, path, text in ((8000, "", "served"), (8080, "live", f"0 1 2 hello first12 second12 {LIKENESS}"), (8080, "strict", STRICT)):
            atoll.wait_for(lambda: api.raw("GET", f"/api/sandbox/instances/{sandbox}/preview/{port}/").status == 200, 30, "a server")
            made = api.post(f"/api/sandbox/instances/{sandbox}/preview-tokens", {"port": port, "private": True})
            pages += [text, made["url"] + path, text, made["hostUrl"].replace("/?", f"/{path}?")]
            origins += [f"{text} null", f"{text} http://{port}-{sandbox}.preview.localhost:{server.port}"]
        shown = subprocess.run(["node", "show.mjs", CHROMIUM, *pages], cwd=modules, capture_output=True, text=True, timeout=120)
        assert shown.stdout.splitlines() == origins, shown.stderr
