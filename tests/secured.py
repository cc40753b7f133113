# SPDX-License-Identifier: Apache-2.0
"""Far machines that want credentials: a nameserver, and a server of HTTPS that tells what came and repeats it in many ways. The
credential proxy is told what it needs as the api process tells it."""

import contextlib
import json
import pathlib
import socket
import struct
import subprocess
import tempfile

import atoll
import far

SERVE = r"""
import base64, gzip, hashlib, json, socket, ssl, sys, threading, time, urllib.parse
names, allowed, other, good, bad = sys.argv[1:6]
def addresses_of(name):
    if name == "turns.test":
        asked.append(name)
        return [allowed] if len(asked) % 2 else ["127.0.0.1"]
    return {"api.test": [allowed], "other.test": [other], "free.test": [other], "a.wild.test": [allowed], "untrusted.test": [allowed],
            "private.test": ["10.0.0.7"], "metadata.test": ["169.254.169.254"], "wrong.test": [allowed], "dead.test": ["198.51.100.77"]}.get(name)
asked = []
def tell(*words):
    sys.stdout.write(" ".join(words) + "\n"); sys.stdout.flush()
def nameserver():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind((names, 53))
    while True:
        data, peer = server.recvfrom(4096)
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode()); at += 1 + data[at]
        found = addresses_of(".".join(labels).lower())
        records = [b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(one) for one in found or ()]
        server.sendto(data[:2] + (b"\x81\x80" if found else b"\x81\x83") + b"\0\1" + len(records).to_bytes(2, "big") + bytes(4)
                      + data[12:at + 5] + b"".join(records), peer)
class Peer:
    def __init__(self, stream):
        self.stream, self.data = stream, b""
    def line(self):
        while b"\r\n" not in self.data:
            more = self.stream.recv(65536)
            if not more:
                raise OSError("ended")
            self.data += more
        line, self.data = self.data.split(b"\r\n", 1)
        return line
    def take(self, size):
        while len(self.data) < size:
            more = self.stream.recv(65536)
            if not more:
                raise OSError("ended")
            self.data += more
        piece, self.data = self.data[:size], self.data[size:]
        return piece
    def body(self, fields):
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.line().split(b";")[0], 16):
                body += self.take(size); self.line()
            while self.line():
                pass
            return body
        return self.take(int(fields.get("content-length", 0)))
def pieces(data, size=1, pause=0):
    for at in range(0, len(data), size):
        yield data[at:at + size]
        time.sleep(pause)
def encoded(secret, form):
    raw = secret.encode()
    return {"plain": secret, "json": json.dumps({"a": secret}), "hex": raw.hex(), "upper": raw.hex().upper(),
            "base64": base64.b64encode(raw).decode(), "base64-1": base64.b64encode(b"x" + raw).decode(), "base64-2": base64.b64encode(b"xy" + raw).decode(),
            "url64": base64.urlsafe_b64encode(raw).decode(), "percent": urllib.parse.quote(secret, safe=""),
            "slash": secret.replace("/", "\\/")}[form].encode()
def serve(peer, own):
    p = Peer(peer)
    while True:
        line = p.line().decode("latin-1")
        method, target, version = line.split(" ")
        fields, all_fields = {}, []
        while text := p.line().decode("latin-1"):
            name, value = text.split(":", 1)
            fields[name.lower()] = value.strip(); all_fields.append([name, value.strip()])
        path, _, query = target.partition("?")
        if fields.get("expect"):
            peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if path == "/early":
            peer.sendall(b"HTTP/1.1 413 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"); tell("early", own); return
        if path == "/websocket":
            accept = base64.b64encode(hashlib.sha1((fields.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            tell("websocket", own, fields.get("authorization", "none").replace(" ", "_"), fields.get("sec-websocket-extensions", "none").replace(" ", "_"))
            peer.sendall(f"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
            token = fields.get("authorization", "none").encode()
            peer.sendall(bytes([0x81, len(token)]) + token)
            while data := p.data or peer.recv(65536):
                p.data = b""
                peer.sendall(data)
            return
        body = p.body(fields)
        token = fields.get("authorization", "")
        secret = token.split(" ", 1)[-1]
        tell("came", own, fields.get("host", ""), method, target, json.dumps(all_fields).replace(" ", "\u00a0"), str(len(body)))
        status, more, answer, chunked = "200 OK", [], None, False
        q = dict(urllib.parse.parse_qsl(query))
        if path == "/headers":
            answer = json.dumps({"line": line, "headers": all_fields, "body": body[:1000].decode("latin-1")}).encode()
        elif path == "/echo":
            answer = body
        elif path == "/form":
            answer = b"<" + encoded(secret, q["as"]) + b">"
        elif path == "/header":
            answer, more = b"x", [("X-Echo", token), ("Set-Cookie", "session=" + secret)]
        elif path == "/redirect":
            status, answer, more = "302 Found", b"", [("Location", "https://other.test/headers?t=" + urllib.parse.quote(secret, safe=""))]
        elif path == "/error":
            status, answer = "500 Token " + secret, ("bad token " + token).encode()
        elif path == "/chunks":
            answer, chunked = ("begin " + token + " end").encode(), True
        elif path == "/slow":
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            peer.sendall(head)
            for piece in [b"data: one\n\n", b"data: " + token[:12].encode(), token[12:].encode() + b"\n\n"]:
                peer.sendall(b"%x\r\n%s\r\n" % (len(piece), piece)); time.sleep(0.15)
            peer.sendall(b"0\r\n\r\n"); continue
        elif path == "/gzip":
            answer, more = gzip.compress(token.encode()), [("Content-Encoding", "gzip")]
        elif path == "/range":
            answer, status = (token.encode()[0:4] if "range" in fields else token.encode()), "206 Partial" if "range" in fields else "200 OK"
        elif path == "/big":
            size = int(q["size"])
            peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
            block = bytes(range(256)) * 256
            while size:
                piece = block[:size]; peer.sendall(piece); size -= len(piece)
            continue
        elif path == "/to-end":
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil " + token.encode()); return
        elif path == "/smuggle":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nstolen!"); continue
        elif path == "/both":
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"); continue
        elif path == "/alt":
            answer, more = b"x", [("Alt-Svc", 'h3=":443"'), ("X-Kept", "yes")]
        elif path == "/upload":
            answer = f"{len(body)} {hashlib.sha256(body).hexdigest()}".encode()
        elif path == "/aws":
            answer = json.dumps({"line": line, "headers": all_fields, "sha256": hashlib.sha256(body).hexdigest()}).encode()
        else:
            answer = b"hello"
        if method == "HEAD":
            peer.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\n\r\n".encode()); continue
        head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in more)
        if chunked:
            peer.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
            for piece in pieces(answer, 1, 0.002):
                peer.sendall(b"1\r\n" + piece + b"\r\n")
            peer.sendall(b"0\r\n\r\n")
        else:
            peer.sendall((head + f"Content-Length: {len(answer)}\r\n\r\n").encode() + answer)
        if fields.get("connection") == "close":
            return
def context_of(path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(path); return context
contexts = {True: context_of(good), False: context_of(bad)}
def choose(stream, name, context):
    tell("tls", str(name))
    if name == "untrusted.test":
        stream.context = contexts[False]
contexts[True].sni_callback = choose
def tls(peer, own):
    try:
        stream = contexts[True].wrap_socket(peer, server_side=True)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tell("connected", own)
        serve(stream, own)
        stream.close()
    except (OSError, ValueError) as failure:
        tell("broken", own, repr(failure).replace(" ", "_"))
    finally:
        peer.close()
def plain(peer, own):
    try:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serve(peer, own)
    except (OSError, ValueError) as failure:
        tell("broken", own, repr(failure).replace(" ", "_"))
    finally:
        peer.close()
def accept(port, run_one):
    server = socket.socket(); server.bind(("0.0.0.0", port)); server.listen(64)
    def run():
        while True:
            peer, _ = server.accept()
            threading.Thread(target=run_one, args=(peer, peer.getsockname()[0]), daemon=True).start()
    return threading.Thread(target=run, daemon=True)
sys.stdin.readline()
accept(80, plain).start()
for thread in (threading.Thread(target=nameserver, daemon=True), accept(443, tls)):
    thread.start()
tell("ready")
threading.Event().wait()
"""

NAMES = ["api.test", "other.test", "free.test", "*.wild.test", "turns.test"]


def openssl(*arguments, **options):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, **options)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder, name):
        self.key, self.certificate = folder / f"{name}.key", folder / f"{name}.crt"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2, "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-keyout", self.key, "-out", self.certificate)

    def sign(self, names, out):
        """A PEM file with key and certificate for these names."""
        key, request, extensions = out.with_suffix(".key"), out.with_suffix(".csr"), out.with_suffix(".ext")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=far", "-keyout", key, "-out", request)
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", 2, "-extfile", extensions, "-out", out)
        out.write_text(out.read_text() + key.read_text())
        return out


class Secured(far.Far):
    """Its three addresses: the nameserver's, that of api.test, that of other.test."""
    serve = SERVE

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="atoll-secured-")
        folder = pathlib.Path(self.folder.name)
        self.authority, self.stranger = Authority(folder, "far"), Authority(folder, "stranger")
        self.good = self.authority.sign(NAMES, folder / "good.pem")
        self.bad = self.stranger.sign(["untrusted.test"], folder / "bad.pem")
        super().__init__()

    def arguments(self):
        return [*self.addresses, str(self.good), str(self.bad)]

    def close(self):
        super().close()
        self.folder.cleanup()

    def requests(self):
        """What came: (address, host, method, target, headers)."""
        for line in list(self.came):
            if line.startswith("came "):
                _, own, host, method, target, headers, _ = line.split(" ")
                yield own, host, method, target, json.loads(headers.replace("\u00a0", " "))

    def last(self, target):
        """The headers of the last request for a target. The line of a request that was answered may be on its way."""
        return atoll.wait_for(lambda: [headers for *_, t, headers in self.requests() if t == target], 20, lambda: self.came[-10:])[-1]


PUT, REMOVE, SETTLED, USAGE = 1, 2, 3, 4


class Control:
    """The api process's end of the proxy's socket."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(server.data / "run/credentials.sock"))

    def send(self, kind, body=b""):
        self.socket.sendall(struct.pack("=II", kind, len(body)) + body)
        return self.socket.recv(1)

    def usage(self):
        """Sandboxes, connections, bytes, bytes of the sandbox with most, refused connections."""
        assert self.send(USAGE) == b"d"
        return struct.unpack("=5Q", self.socket.recv(40, socket.MSG_WAITALL))

    def close(self):
        self.socket.close()


class Vault:
    """A sandbox that uses credentials, for as long as the block runs."""

    def __init__(self, there, server, sandbox, folder):
        self.there, self.server, self.sandbox = there, server, sandbox
        self.authority = Authority(folder, f"sandbox-{sandbox}")
        self.control = None

    def put(self, rules, credentials, wanted=b"d"):
        for rule in rules:
            rule.setdefault("upstream", {"ca": self.there.authority.certificate.read_text()})
        text = {"sandbox": self.sandbox, "rules": rules, "credentials": credentials,
                "ca_certificate": self.authority.certificate.read_text(), "ca_key": self.authority.key.read_text()}
        assert self.send(PUT, json.dumps(text).encode()) == wanted, self.server.log_text()

    def send(self, kind, body=b""):
        try:
            self.control = self.control or Control(self.server)
            return self.control.send(kind, body)
        except OSError:
            # The proxy was restarted.
            self.control = Control(self.server)
            return self.control.send(kind, body)

    def mark(self, *hosts):
        """Marks hosts as decrypted, as the broker writes it."""
        folder = self.server.data / "run/names"
        own = next(path for path in folder.iterdir() if path.read_text().startswith(f"={self.sandbox} "))
        words = [word for word in own.read_text().split(" ") if not word.startswith("!")]
        new = self.server.data / "run/marked"
        new.write_text(" ".join(words + ["!" + host for host in hosts]))
        new.chmod(0o644)
        new.rename(own)

    def close(self):
        if self.control:
            with contextlib.suppress(OSError):
                self.send(REMOVE, self.sandbox.encode())
            self.control.close()


@contextlib.contextmanager
def running(*flags):
    with far.own_network(), contextlib.closing(Secured()) as there:
        subprocess.run(["ip", "addr", "add", "198.51.100.1/24", "dev", "lo"], check=True)
        server = atoll.Server(flags=["--network-nameservers", there.addresses[0], *flags]).start()
        try:
            yield there, server
        finally:
            server.remove_all()


ALLOWED = ["api.test", "other.test", "free.test", "*.wild.test", "untrusted.test", "private.test", "metadata.test", "wrong.test", "dead.test", "turns.test"]


@contextlib.contextmanager
def vault(api, there, server, decrypted=("api.test",)):
    with tempfile.TemporaryDirectory(prefix="atoll-vault-") as folder, \
            api.sandbox(internet=True, egress={"allow": ALLOWED, "deny": ["0.0.0.0/0"]}) as sandbox, \
            contextlib.closing(Vault(there, server, sandbox, pathlib.Path(folder))) as v:
        v.mark(*decrypted)
        api.write(sandbox, "/tmp/ca.crt", v.authority.certificate.read_bytes() + there.authority.certificate.read_bytes())
        yield v


# In a sandbox: requests by hand, and what came of them.
CLIENT = r"""
import base64, json, os, socket, ssl, sys, time
def trusting(path="/tmp/ca.crt"):
    return ssl.create_default_context(cafile=path)
def connect(host, address=None, context=None):
    s = socket.create_connection((address or host, 443), 10); s.settimeout(20)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return (context or trusting()).wrap_socket(s, server_hostname=host)
def read_all(s):
    pieces = []
    try:
        while more := s.recv(65536):
            pieces.append(more)
    except OSError as failure:
        pieces.append(b" broken " + str(failure).encode())
    return b"".join(pieces)
def raw(host, data, piece=None, address=None):
    try:
        with connect(host, address) as s:
            for at in range(0, len(data), piece or len(data)):
                s.sendall(data[at:at + (piece or len(data))])
            return read_all(s).decode("latin-1")
    except OSError as failure:
        return "failed " + str(failure)
def get(path, host="api.test", method="GET", more="", body=b"", named=None):
    return raw(host, f"{method} {path} HTTP/1.1\r\nHost: {named or host}\r\nConnection: close\r\n{more}\r\n".encode("latin-1") + body)
def body_of(answer):
    return answer.split("\r\n\r\n", 1)[-1]
"""


def said(api, sandbox, code, *args):
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", CLIENT + code, *args], timeout_ms=60000)
    assert result["exit_code"] == 0, result
    return result["stdout"]
