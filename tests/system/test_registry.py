# SPDX-License-Identifier: Apache-2.0
"""Images of a registry: what is pulled, with and without a login, over http and TLS, and what is refused."""

import base64
import contextlib
import hashlib
import os
import subprocess

import pytest

import atoll
import clients
from image_registry import PASSWORD, USER, Registry, compress, layer
from small_root import as_tar, busybox as busybox_root

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
LOGIN = {"username": USER, "password": PASSWORD}
CONFIG = {"Env": ["FROM_IMAGE=yes"], "WorkingDir": "/opt"}
HERE, ELSEWHERE = ("amd64", "arm64") if os.uname().machine == "x86_64" else ("arm64", "amd64")


@pytest.fixture(scope="module")
def server():
    """Its registries are on this machine's loopback."""
    running = atoll.Server(flags=["--registry-allow-private", "true"]).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The tar of a small root, with what clients of E2B and Daytona call."""
    folder = busybox_root(tmp_path_factory.mktemp("root"))
    for name in ("env", "sleep", "mktemp", "mkfifo", "kill", "test"):
        os.symlink("busybox", folder / "bin" / name)
    (folder / "bin/bash").write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    (folder / "bin/bash").chmod(0o755)
    return as_tar(folder, folder.parent / "root.tar").read_bytes()


@contextlib.contextmanager
def registry(folder, **options):
    running = Registry(folder, **options)
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with registry(tmp_path_factory.mktemp("guarded"), with_login=True) as running:
        yield running


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    with registry(tmp_path_factory.mktemp("public")) as running:
        yield running


def refused(api, image, **more):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "refused", "image": image, **more})
    assert "refused" not in {t["name"] for t in api.get(PATH)["items"]}
    return failure.value


def test_layers_of_every_kind_become_one_root(server, api, guarded, root):
    """Of an index, the image for this processor; a login; layers plain, of gzip and zstd; whiteouts; links."""
    second = layer(**{"etc/gone": "x", "etc/hidden": None, "etc/hidden/old": "o", "etc/same": ("same", "etc/os-release")})
    third = layer(**{"etc/.wh.gone": "", "etc/hidden": None, "etc/hidden/.wh..wh..opq": "", "etc/hidden/new": "n",
                     "etc/again": ("same", "etc/same"), "etc/link": ("link", "os-release")})
    layers = [(root, "zstd"), (second, "gzip"), (third, "")]
    guarded.put_index("forms", "v1", {ELSEWHERE: guarded.put_image("forms", None, [(second, "gzip")], architecture=ELSEWHERE),
                                      HERE: guarded.put_image("forms", None, layers, CONFIG, architecture=HERE)})
    image = f"{guarded.address}/forms:v1"
    for login in ({}, {"login": {**LOGIN, "password": "wrong"}}):
        failure = refused(api, image, **login)
        assert failure.status == 403 and "login" in failure.hint, failure
    made = api.post(PATH, {"name": "forms", "image": image, "login": LOGIN})
    assert made["env"] == {"FROM_IMAGE": "yes"} and PASSWORD not in str(made)
    with api.sandbox(template="forms", internet=False) as box:
        said = api.exec(box, "pwd; cd /etc; cat again link hidden/new; ls hidden; stat -c %h same; ls gone")
    assert said["stdout"] == "/opt\nID=busybox-test\nID=busybox-test\nnnew\n3\n" and said["exit_code"] != 0, said
    api.delete(f"{PATH}/forms")
    # As it is, and as a login is written for a registry. Files may vanish meanwhile, so only what it finds counts.
    written = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    found = subprocess.run(["grep", "-rlsF", "-e", PASSWORD, "-e", written, server.data], stdout=subprocess.PIPE, text=True)
    assert found.stdout == "", "the password is on disk"


def test_what_cannot_be_pulled_is_refused_by_name(api, public, root):
    spoilt = layer(**{"etc/spoilt": "x" * 2000})
    public.put_image("spoilt", "v1", [(spoilt, "gzip")], architecture=HERE)
    path = public.blob_path("sha256:" + hashlib.sha256(compress(spoilt, "gzip")).hexdigest())
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    other = public.put_image("other", "v1", [(spoilt, "")], architecture=ELSEWHERE)
    public.put_index("index", "v1", {ELSEWHERE: public.put_image("index", None, [(spoilt, "")], architecture=ELSEWHERE)})
    for image, status, words in ((f"{public.address}/spoilt:v1", 400, "Digest did not match"),
                                 (f"{public.address}/spoilt:v2", 404, "manifest unknown"),
                                 (f"{public.address}/nothing", 404, "manifest unknown"),
                                 (f"{public.address}/index:v1", 400, "no image found"),
                                 (f"{public.address}/other@{other['digest']}", 400, f"the image is for '{ELSEWHERE}'"),
                                 ("127.0.0.1:1/x", 503, "nothing answers")):
        failure = refused(api, image)
        assert failure.status == status and words in str(failure), (image, failure)
    for login in ({"username": "a:b", "password": "x"}, {"username": "a", "password": ""}):
        failure = refused(api, f"{public.address}/spoilt:v1", login=login)
        assert failure.status == 400 and "login" in failure.message, failure


CLIENTS = clients.checks("registry.mjs")


@pytest.fixture(scope="module")
def outcomes(server, guarded, public, root):
    guarded.put_image("clients", "v1", [(root, "gzip")], CONFIG, architecture=HERE)
    public.put_image("clients", "v1", [(root, "zstd")], CONFIG, architecture=HERE)
    made = server.api().post("/api/sandbox/keys", {"name": "e2b"})
    origin = f"http://127.0.0.1:{server.port}"
    return clients.outcomes("registry.mjs", packages=("e2b", "@daytona/sdk"), IMAGE=f"{guarded.address}/clients:v1",
                            OPEN_IMAGE=f"{public.address}/clients:v1", REGISTRY_USER=USER, REGISTRY_PASSWORD=PASSWORD,
                            E2B_API_KEY=made["e2b_key"], E2B_API_URL=origin, E2B_SANDBOX_URL=origin,
                            DAYTONA_API_URL=f"{origin}/daytona/api", DAYTONA_API_KEY=server.key, DAYTONA_USE_DEPRECATED_POLLING="true")


@pytest.mark.parametrize("check", CLIENTS)
def test_the_clients(outcomes, check):
    clients.succeeded(outcomes[check])


# In a network of its own a registry can have an address of the internet, and the machine keeps its authorities.
PUBLIC_ADDRESS, PRIVATE_ADDRESS = "11.0.0.1", "10.0.0.1"


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """What puts a command into such a network, and a certificate with its key for both addresses."""
    key, certificate = (tmp_path_factory.mktemp("tls") / name for name in ("key.pem", "certificate.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=registry", "-addext", f"subjectAltName=IP:{PUBLIC_ADDRESS},IP:{PRIVATE_ADDRESS},DNS:localhost"],
                   check=True, capture_output=True)
    addresses = " && ".join(f"ip addr add {address}/32 dev lo" for address in (PUBLIC_ADDRESS, PRIVATE_ADDRESS))
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", f"ip link set lo up && {addresses} && echo ready && exec cat"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "ready\n"
    yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"], certificate, key
    holder.communicate()


def pull(apart, folder, name, source, *more, **environment):
    inside, _, _ = apart
    templates = folder / "templates"
    templates.mkdir(exist_ok=True)
    unset = {"http_proxy", "https_proxy", "no_proxy"}
    return subprocess.run([*inside, atoll.BUILD / "atoll-image", "import", "--templates", templates, "--name", name, "--recipe", "registry",
                           "--source", source, *more], capture_output=True, text=True,
                          env={**{key: value for key, value in os.environ.items() if key.lower() not in unset}, **environment})


def test_tls_is_checked_against_the_machines_authorities(tmp_path, apart, root):
    inside, certificate, key = apart
    with registry(tmp_path / "data") as plain:
        plain.put_image("tls", "v1", [(root, "gzip")], CONFIG, architecture=HERE)
    served = Registry(tmp_path / "data", host=PUBLIC_ADDRESS, tls=(certificate, key), prefix=inside)
    try:
        source = f"{served.address}/tls:v1"
        strange = atoll.wait_for(lambda: (lambda done: "onnection refused" not in done.stdout and done)(pull(apart, tmp_path, "strange", source)), 20, "registry")
        assert strange.returncode != 0 and "x509" in strange.stdout and "authority" in strange.stdout, strange
        known = pull(apart, tmp_path, "known", source, SSL_CERT_FILE=str(certificate))
        assert known.returncode == 0, known
        assert (tmp_path / "templates/known/rootfs/etc/os-release").read_text() == "ID=busybox-test\n"
    finally:
        served.stop()


# Registries of the internet that lead to neighbours of the machine's: by a redirect, and by the place of their tokens. The neighbours tell of each who comes.
HOSTILE = r"""
import http.server, socket, ssl, sys, threading
public, private, certificate, key = sys.argv[1:]
def answers(status, name, value):
    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if status == 401 or self.path != "/v2/" else 200)
            self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
        def log_message(self, *_): pass
    return Registry
def serve(port, *answer):
    server = http.server.ThreadingHTTPServer((public, port), answers(*answer))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
def neighbour(address):
    server = socket.create_server((address, 8443))
    def run():
        while True:
            peer, _ = server.accept(); print("came", address, flush=True); peer.close()
    threading.Thread(target=run, daemon=True).start()
neighbour(private); neighbour("127.0.0.1")
serve(5001, 307, "Location", f"https://{private}:8443/v2")
serve(5002, 307, "Location", "https://localhost:8443/v2")
serve(5003, 401, "WWW-Authenticate", f'Bearer realm="https://{private}:8443/token",service="x"')
serve(5004, 401, "WWW-Authenticate", f'Bearer realm="http://{private}:8443/token",service="x"')
print("ready", flush=True)
sys.stdin.read()
"""
NOT_THERE = "an address of the server's own network"


def test_no_registry_leads_into_the_servers_own_network(tmp_path, apart):
    inside, certificate, key = apart
    hostile = subprocess.Popen([*inside, "/usr/bin/python3", "-c", HOSTILE, PUBLIC_ADDRESS, PRIVATE_ADDRESS, certificate, key],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert hostile.stdout.readline() == "ready\n"
        for registry, said in ((f"{PRIVATE_ADDRESS}:8443", NOT_THERE), ("127.0.0.1:8443", NOT_THERE), ("localhost:8443", NOT_THERE),
                               (f"{PUBLIC_ADDRESS}:5001", NOT_THERE), (f"{PUBLIC_ADDRESS}:5002", ""), (f"{PUBLIC_ADDRESS}:5003", NOT_THERE),
                               (f"{PUBLIC_ADDRESS}:5004", "403")):
            done = pull(apart, tmp_path, "led", f"{registry}/x:v1", SSL_CERT_FILE=str(certificate))
            assert done.returncode != 0 and said in done.stdout, done
            assert said != NOT_THERE or "error forbidden" in done.stdout and "registry_allow_private" in done.stdout, done
        # Where that is allowed they are reached: by the same way, after all others.
        pull(apart, tmp_path, "led", f"{PUBLIC_ADDRESS}:5003/x:v1", "--allow-private", SSL_CERT_FILE=str(certificate))
    finally:
        came, _ = hostile.communicate("")
    assert came.splitlines() == [f"came {PRIVATE_ADDRESS}"], came
