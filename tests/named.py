# SPDX-License-Identifier: Apache-2.0
"""Far machines with names: a nameserver, and servers of HTTP and TLS that tell by whose name, and at which of their
addresses, somebody came. See far.py."""

import contextlib
import pathlib
import subprocess
import tempfile

import atoll
import far

SERVE = r"""
import socket, ssl, sys, threading
names, allowed, other = sys.argv[1:4]
near = allowed.rsplit(".", 1)[0] + ".1"
asked = {}
def addresses_of(name):
    asked[name] = asked.get(name, 0) + 1
    if name == "turns.test":
        return [allowed if asked[name] == 1 else "127.0.0.1"]
    return {"allowed.test": [allowed], "sub.allowed.test": [allowed], "other.test": [other], "loop.test": ["127.0.0.1"],
            "zero.test": ["0.0.0.0"], "metadata.test": ["169.254.169.254"], "private.test": ["10.0.0.7"], "host.test": [near],
            "gateway.test": ["169.254.1.1"], "two.test": ["127.0.0.1", allowed], "much.test": [allowed],
            "silent.test": [allowed], "range.test": ["198.51.100.77"]}.get(name)
def tell(*words):
    sys.stdout.write(" ".join(words) + "\n"); sys.stdout.flush()
def nameserver():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind((names, 53))
    while True:
        data, peer = server.recvfrom(4096)
        at, labels = 12, []
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode()); at += 1 + data[at]
        name = ".".join(labels).lower()
        tell("asked", name)
        found = addresses_of(name)
        records = [b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(one) for one in found or ()]
        flags = b"\x81\x80" if found else b"\x81\x83"
        server.sendto(data[:2] + flags + b"\0\1" + len(records).to_bytes(2, "big") + bytes(4) + data[12:at + 5]
                      + b"".join(records), peer)
def requests(peer, kind, own):
    # Each request that comes is told, as lenient as a server can be; an answer has no end but the connection's.
    text = b""
    with peer:
        while True:
            data = peer.recv(65536)
            if not data:
                return
            text += data
            while b"\r\n\r\n" in text:
                head, text = text.split(b"\r\n\r\n", 1)
                lines = head.decode("latin-1").split("\r\n")
                fields = [line.split(":", 1) for line in lines[1:] if ":" in line]
                hosts = [value.strip() for name, value in fields if name.lower() == "host"]
                size = sum(int(value) for name, value in fields if name.lower() == "content-length")
                while len(text) < size:
                    text += peer.recv(65536)
                body, text = text[:size], text[size:]
                tell(kind, own, ",".join(hosts), lines[0].replace(" ", "_"))
                if hosts == ["silent.test"]:
                    while peer.recv(65536):
                        pass
                    return tell("left", own)
                close = any(name.lower() == "connection" and "close" in value for name, value in fields)
                answer = b"hello of " + own.encode() + b" " + body
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s" % (
                    len(answer), b"Connection: close\r\n" if close else b"", answer))
                if close:
                    return
def http(peer, own):
    try:
        requests(peer, "http", own)
    except OSError:
        pass
def much(peer):
    # Once the other side has ended.
    with peer:
        while peer.recv(65536):
            pass
        peer.sendall(bytes(8 << 20))
def tls(peer, own):
    if b"much.test" in peer.recv(4096, socket.MSG_PEEK):
        return much(peer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    context.sni_callback = lambda _, name, __: tell("tls", own, str(name))
    try:
        requests(context.wrap_socket(peer, server_side=True), "https", own)
    except (OSError, ssl.SSLError):
        pass
def accept(port, serve):
    server = socket.socket(); server.bind(("0.0.0.0", port)); server.listen(64)
    def run():
        while True:
            peer, _ = server.accept()
            threading.Thread(target=serve, args=(peer, peer.getsockname()[0]), daemon=True).start()
    return threading.Thread(target=run, daemon=True)
sys.stdin.readline()
for thread in (threading.Thread(target=nameserver, daemon=True), accept(80, http), accept(443, tls), accept(8080, http)):
    thread.start()
tell("ready")
threading.Event().wait()
"""


class Named(far.Far):
    """Its three addresses: the nameserver's, that of what is allowed, that of all else."""
    serve = SERVE

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="atoll-named-")
        self.certificate = pathlib.Path(self.folder.name) / "both.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=named", "-keyout", self.certificate, "-out", self.certificate.with_suffix(".crt")],
                       check=True, capture_output=True)
        with open(self.certificate, "ab") as out:
            out.write(self.certificate.with_suffix(".crt").read_bytes())
        super().__init__()

    def arguments(self):
        return [*self.addresses, str(self.certificate)]

    def close(self):
        super().close()
        self.folder.cleanup()


SECRET = "what-the-gateway-must-not-know"


@contextlib.contextmanager
def running(*flags):
    """The far machines, and a server that asks their nameserver, in a network of their own."""
    with far.own_network(), contextlib.closing(Named()) as there:
        # A range that the host has as a whole, and not each address of it.
        subprocess.run(["ip", "addr", "add", "198.51.100.1/24", "dev", "lo"], check=True)
        server = atoll.Server(flags=["--network-nameservers", there.addresses[0], "--preview-secret", SECRET, *flags]).start()
        try:
            yield there, server
        finally:
            server.remove_all()


ALL = "0.0.0.0/0"


def only(*names):
    return {"allow": list(names), "deny": [ALL]}


# In a sandbox. Each call gives a text that tells what came of it.
CLIENT = r"""
import socket, ssl, sys, time
def answer(s):
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except OSError as failure:
        return "broken " + str(failure.errno) + " " + data.decode("latin-1")
    return data.decode("latin-1") or "nothing"
def connect(address, port):
    s = socket.create_connection((address, port), 10); s.settimeout(15); return s
def raw(data, address="203.0.113.9", port=80, piece=None):
    try:
        with connect(address, port) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(data), piece or len(data)):
                s.sendall(data[at:at + (piece or len(data))])
            return answer(s)
    except OSError as failure:
        return "failed " + str(failure.errno)
def http(host, address=None, path="/", body=b"", more="Connection: close\r\n"):
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return raw(head.encode() + body, address or host)
def hello(name):
    # What a client of TLS says first.
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(into, out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()
def https(name, address=None, host=None):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    try:
        with connect(address or name, 443) as s, context.wrap_socket(s, server_hostname=name) as t:
            t.sendall(f"GET / HTTP/1.1\r\nHost: {host or name}\r\nConnection: close\r\n\r\n".encode())
            return answer(t)
    except ssl.SSLError as failure:
        return "refused " + str(failure.reason)
    except OSError as failure:
        return "failed " + str(failure.errno)
def look_up(name):
    try:
        return socket.getaddrinfo(name, 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    except socket.gaierror as failure:
        return {-2: "no such name"}.get(failure.errno, str(failure))
"""


def said(api, sandbox, code, *args, user="root"):
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", CLIENT + code, *args], user=user, timeout_ms=60000)
    assert result["exit_code"] == 0, result
    return result["stdout"]
