# SPDX-License-Identifier: Apache-2.0
"""Far machines that real programs use with a login: git's own CGI, a registry of npm, an index of pip, an API as gh knows it, an S3 that checks signatures,
and a page that repeats what came. All speak HTTP/1.1 over TLS; a name decides which it is. What came is told without values: a login is
"good", "none" or "bad"."""

import contextlib
import json
import pathlib
import secrets
import subprocess
import tempfile

import atoll
import far
import secured

SERVE = r"""
import base64, hashlib, http.server, io, json, os, socket, ssl, subprocess, sys, threading, urllib.parse, xml.sax.saxutils, zipfile
names, allowed, other, pem, root, tests, kept = sys.argv[1:8]
sys.path.insert(0, tests)
import aws_signature
kept = json.loads(kept)
def tell(*words):
    sys.stdout.write(" ".join(words) + "\n"); sys.stdout.flush()
def nameserver():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind((names, 53))
    while True:
        data, peer = server.recvfrom(4096)
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode()); at += 1 + data[at]
        is_name = labels[-1].lower() in ("test", "com", "org")
        found = [allowed] if is_name and data[at + 1:at + 3] == b"\0\1" else []
        records = [b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(one) for one in found]
        server.sendto(data[:2] + (b"\x81\x80" if is_name else b"\x81\x83") + b"\0\1" + len(records).to_bytes(2, "big") + bytes(4)
                      + data[12:at + 5] + b"".join(records), peer)
packages, tarballs, objects = {}, {}, {}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def reply(self, status, body=b"", headers=(), kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in [("Content-Type", kind), *headers]:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size); self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body
    def judge(self, wanted):
        came = self.headers.get("Authorization")
        word = "none" if came is None else "good" if came == wanted else "bad"
        tell("came", self.headers["Host"], self.command, self.path, word)
        return word == "good"
    def serve(self):
        body = self.read_body()
        host = self.headers.get("Host", "").split(":")[0]
        if host.endswith(".amazonaws.com"):
            host = "s3.test"
        {"git.test": self.git, "github.com": self.git, "npm.test": self.npm, "registry.npmjs.org": self.npm, "github.test": self.github,
         "api.github.com": self.github, "api.anthropic.com": self.anthropic, "s3.test": self.s3, "pypi.test": self.pypi}.get(host, self.page)(body)
    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = serve
    def page(self, body):
        if not self.judge("Bearer " + kept["token"]):
            return self.reply(401, {"error": "no login"})
        self.reply(200, {"path": self.path, "headers": dict(self.headers), "length": len(body)})
    def git(self, body):
        login = "me:" + kept["password"] if self.headers["Host"] == "git.test" else "x-access-token:" + kept["github"]
        if not self.judge("Basic " + base64.b64encode(login.encode()).decode()):
            return self.reply(401, b"", [("WWW-Authenticate", 'Basic realm="x"')], "text/plain")
        path, _, query = self.path.partition("?")
        made = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env={
            **os.environ, "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type") or "", "REMOTE_USER": "me",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "", "CONTENT_LENGTH": str(len(body))}).stdout
        head, _, body = made.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = [int(value.split()[0]) for name, value in headers if name == "Status"]
        self.send_response(status[0] if status else 200)
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def npm(self, body):
        if not self.judge("Bearer " + kept["npm"]):
            return self.reply(401, {"error": "no login"})
        path = urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")
        if self.command == "PUT":
            document = json.loads(body)
            for name, part in document.pop("_attachments").items():
                tarballs[name] = base64.b64decode(part["data"])
            known = packages.setdefault(path, document)
            known["versions"].update(document["versions"]); known["dist-tags"].update(document["dist-tags"])
            return self.reply(201, {"ok": True})
        name, _, file = path.partition("/-/")
        if file and file.split("/")[-1] in {key.split("/")[-1] for key in tarballs}:
            found = next(data for key, data in tarballs.items() if key.split("/")[-1] == file.split("/")[-1])
            return self.reply(200, found, kind="application/octet-stream")
        if not file and name in packages:
            return self.reply(200, packages[name])
        self.reply(404, {"error": "not found"})
    def pypi(self, body):
        if not self.judge("Basic " + base64.b64encode(("me:" + kept["password"]).encode()).decode()):
            return self.reply(401, b"", [("WWW-Authenticate", 'Basic realm="x"')], "text/plain")
        if self.command == "POST":
            return self.reply(200, {"length": len(body)})
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as made:
            for name, text in (("sample_of_atoll.py", "answer = 42\n"), ("sample_of_atoll-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample-of-atoll\nVersion: 1.0\n"),
                               ("sample_of_atoll-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
                               ("sample_of_atoll-1.0.dist-info/RECORD", "")):
                made.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
        file = "sample_of_atoll-1.0-py3-none-any.whl"
        if self.path.endswith(file):
            return self.reply(200, wheel.getvalue(), kind="application/octet-stream")
        if self.path == "/simple/sample-of-atoll/":
            digest = hashlib.sha256(wheel.getvalue()).hexdigest()
            return self.reply(200, f'<!DOCTYPE html><a href="/files/{file}#sha256={digest}">{file}</a>'.encode(), kind="text/html")
        self.reply(404, {"error": "not found"})
    def github(self, body):
        if not self.judge(("token " if self.headers["Host"] == "github.test" else "Bearer ") + kept["github"]):
            return self.reply(401, {"message": "Bad credentials"})
        found = {"/user": {"login": "octo"}, "/api/v3/user": {"login": "octo"}, "/api/v3/repos/acme/one/issues": {"number": 7}}.get(self.path.partition("?")[0])
        self.reply(200 if found else 404, found or {"message": "Not Found"})
    def anthropic(self, body):
        came = self.headers.get("x-api-key")
        tell("came", self.headers["Host"], self.command, self.path, "good" if came == kept["token"] and "Authorization" not in self.headers else "bad")
        self.reply(200, {"type": "message"})
    def s3(self, body):
        fields = {name.lower(): value for name, value in self.headers.items()}
        why = aws_signature.refusal({kept["aws_id"]: kept["aws_secret"]}, self.command, self.path, fields, body)
        tell("came", self.headers["Host"], self.command, self.path, why or "good")
        if why:
            text = f"<Error><Code>SignatureDoesNotMatch</Code><Message>{why}</Message></Error>"
            return self.reply(403, text.encode(), kind="application/xml")
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        if ".s3." in self.headers["Host"]:
            bucket, key = self.headers["Host"].split(".s3.")[0], urllib.parse.unquote(path).lstrip("/")
        if self.command == "PUT":
            objects[bucket, key] = body
            return self.reply(200, b"", [("ETag", '"%s"' % hashlib.md5(body).hexdigest())])
        if self.command == "DELETE":
            objects.pop((bucket, key), None)
            return self.reply(204)
        if not key:
            rows = "".join(f"<Contents><Key>{xml.sax.saxutils.escape(one)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>{len(data)}</Size></Contents>"
                           for (own, one), data in sorted(objects.items()) if own == bucket and one.startswith(asked.get("prefix", "")))
            return self.reply(200, f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode(), kind="application/xml")
        if (bucket, key) not in objects:
            return self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>", kind="application/xml")
        data = objects[bucket, key]
        self.reply(200, data, [("ETag", '"%s"' % hashlib.md5(data).hexdigest()), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")], "binary/octet-stream")
    def log_message(self, *_):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(pem); context.set_alpn_protocols(["http/1.1"])
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True
    def finish_request(self, request, address):
        try:
            with context.wrap_socket(request, server_side=True) as stream:
                super().finish_request(stream, address)
        except OSError:
            pass
sys.stdin.readline()
threading.Thread(target=nameserver, daemon=True).start()
server = Server(("0.0.0.0", 443), Handler)
tell("ready")
server.serve_forever()
"""

NAMES = ["api.test", "pypi.test", "git.test", "npm.test", "github.test", "s3.test", "free.test", "github.com", "api.github.com", "registry.npmjs.org",
         "api.anthropic.com", "s3.eu-west-1.amazonaws.com", "*.s3.eu-west-1.amazonaws.com", "secretsmanager.eu-west-1.amazonaws.com"]


class Services(far.Far):
    serve = SERVE

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="atoll-services-")
        self.path = pathlib.Path(self.folder.name)
        self.path.chmod(0o755)
        self.authority = secured.Authority(self.path, "far")
        self.pem = self.authority.sign(NAMES, self.path / "good.pem")
        # What servers of this machine trust: the system's authorities and this one.
        self.roots = self.path / "roots.crt"
        system = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
        self.roots.write_text((system.read_text() if system.exists() else "") + self.authority.certificate.read_text())
        self.roots.chmod(0o644)
        self.kept = {"token": "tok-" + secrets.token_hex(16), "password": "pw/" + secrets.token_hex(12) + "+x", "npm": "npm_" + secrets.token_hex(18),
                     "github": "ghp_" + secrets.token_hex(18), "aws_id": "AKIA" + secrets.token_hex(8).upper(), "aws_secret": "s3/" + secrets.token_hex(18)}
        self.repositories = self.path / "git"
        for name in ("one", "big", "acme/one"):
            subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.repositories / f"{name}.git"], check=True)
            subprocess.run(["git", "-C", self.repositories / f"{name}.git", "config", "http.receivepack", "true"], check=True)
        super().__init__()

    def arguments(self):
        return [*self.addresses, str(self.pem), str(self.repositories), str(atoll.ROOT / "tests"), json.dumps(self.kept)]

    def close(self):
        super().close()
        self.folder.cleanup()

    def logins(self, host):
        """The words "good", "none" and "bad" of what came to a host. The line of a request that was answered may be on its way."""
        def found():
            return [line.split(" ")[-1] for line in list(self.came) if line.startswith(f"came {host} ")]
        with contextlib.suppress(AssertionError):
            atoll.wait_for(found, 3)
        return found()


@contextlib.contextmanager
def running(*flags):
    with far.own_network(), contextlib.closing(Services()) as there:
        subprocess.run(["ip", "addr", "add", "198.51.100.1/24", "dev", "lo"], check=True)
        server = atoll.Server(environment={"SSL_CERT_FILE": str(there.roots)}, flags=["--network-nameservers", there.addresses[0], *flags]).start()
        try:
            yield there, server
        finally:
            server.remove_all()


def memory_has(pid, values):
    """Which of the values a process has in its memory."""
    found = set()
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                span, rights, *_, name = line.split(" ", 5)
                if not rights.startswith("r") or "[v" in name:
                    continue
                first, last = (int(part, 16) for part in span.split("-"))
                try:
                    memory.seek(first)
                    data = memory.read(last - first)
                except OSError:
                    continue
                found.update(value for value in values if value in data)
    except OSError:
        pass
    return found


def processes_of(api, sandbox):
    """The processes of a sandbox, as the host numbers them: those with the user ids that only it has."""
    first, count = map(int, api.exec(sandbox, "cat /proc/self/uid_map")["stdout"].split()[1:3])
    found = []
    for path in atoll.proc_files("status"):
        with contextlib.suppress(OSError):
            user = next(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("Uid:"))
            if first and first <= user < first + count:
                found.append(int(path.parent.name))
    assert found, "the sandbox has no processes"
    return found


def places_with(server, api, sandbox, values):
    """Where a secret is that should be in none of these places: memory, environment and command lines of the sandbox's processes; all files of
    the server, which are the sandbox's disk, the recorded output, the store, and the log."""
    texts = [value.encode() for value in values]
    pids = processes_of(api, sandbox)
    found = [(pid, "memory") for pid in pids if memory_has(pid, texts)]
    for pid in pids:
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):
                data = pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
                found += [(pid, name) for text in texts if text in data]
    for value in values:
        done = subprocess.run(["grep", "-rlsaF", "--devices=skip", "-e", value, str(server.data)], capture_output=True, text=True)
        found += done.stdout.split()
    return found
