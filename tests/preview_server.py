# SPDX-License-Identifier: Apache-2.0
"""A server to be put into a sandbox, that says what it heard and lies when it is asked to. Takes its port."""

import base64
import gzip
import hashlib
import json
import socket
import struct
import sys
import threading
import time

LIES = {
    "both": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "bare-cr": b"HTTP/1.1 200 OK\r\nX-A: a\rb\r\nContent-Length: 2\r\n\r\nok",
    "bare-lf": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "fold": b"HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    "blank-name": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    "coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "status": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
    "switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "nothing": b"",
    "half-head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "huge-head": b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 100000 + b"\r\n\r\n",
    "not-http": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\n" * 40 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    # These begin well.
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    "bad-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
    "open-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
}
# Counts events and hears its own word, by addresses as pages have them that know of no prefix.
LIVE = b"""<!doctype html><html><head><title>live</title></head><body><p id="app"></p><script>
const got = [], app = document.getElementById("app");
const say = (word) => { got.push(word); app.textContent = got.join(" "); };
// What a page has below a path and what it has at a host of its own are alike.
const likeness = () => {
  const told = [], told_cookies = () => told.push(document.cookie), root = location.pathname.replace("live", "");
  const leads = (tag, name) => {
    const made = document.createElement(tag);
    made.setAttribute(name, "/x");
    told.push(made.getAttribute(name).endsWith(root + "x") ? tag : made.getAttribute(name));
  };
  document.cookie = " c = 3 4 ;Path=/; Max-Age=100";
  document.cookie = "d=5=6; Path=/; expires=Fri, 01 Jan 2100 00:00:00 GMT";
  told_cookies();
  document.cookie = "c=; Path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT";
  document.cookie = "d=; Path=/; MAX-AGE = 0";
  document.cookie = "e=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=100";
  told_cookies();
  localStorage.setItem("getItem", 1);
  localStorage.setItem("setItem", 2);
  localStorage.named = 3;
  told.push(localStorage.getItem("getItem"), localStorage.getItem("named"), localStorage.length, "named" in localStorage);
  delete localStorage.named;
  localStorage.removeItem("setItem");
  told.push(localStorage.getItem("named"), localStorage.key(5), localStorage instanceof Storage, localStorage.a);
  [["form", "action"], ["object", "data"], ["video", "poster"], ["a", "href"]].forEach((pair) => leads(...pair));
  const other = document.createElement("my-form");
  ["action", "data", "poster", "constructor"].forEach((name) => { other.setAttribute(name, "/x"); told.push(other.getAttribute(name)); });
  return told.join("|");
};
const events = new EventSource("/sse?3");
events.onmessage = (message) => {
  say(message.data);
  if (message.data !== "2") return;
  events.close();
  const socket = new WebSocket(`ws://${location.host}/ws`);
  socket.onopen = () => socket.send("hello");
  socket.onmessage = (echo) => {
    say(echo.data);
    // What is put into the page later asks for its address then: each by another way.
    const first = document.createElement("script"), second = document.createElement("script");
    first.src = "/say.js?first";
    localStorage.setItem("a", 1);
    document.cookie = "b=2; Path=/";
    second.setAttribute("src", "/say.js?second");
    first.onload = () => document.head.append(second);
    second.onload = () => say(likeness());
    document.head.append(first);
  };
};
</script></body></html>"""
# Lets scripts in as code-server does: by name, by what they hash to, from blobs. Both by a header and by a meta.
STRICT_INLINE = """const got = [], refused = [];
document.addEventListener("securitypolicyviolation", (e) => refused.push(e.blockedURI));
const say = (word) => { got.push(word); document.getElementById("app").textContent = got.join(" "); };
say("hash");"""
STRICT_SCRIPTS = ("script-src 'self' 'unsafe-eval' blob: 'nonce-1' 'sha256-"
                  + base64.b64encode(hashlib.sha256(STRICT_INLINE.encode()).digest()).decode() + "'")
STRICT_POLICY = (f"default-src 'self'; {STRICT_SCRIPTS}; child-src 'self'; worker-src 'self' data: blob:; connect-src 'self' ws: wss:; "
                 "base-uri 'none'; object-src 'none'")
STRICT = (f"""<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy"
content="{STRICT_SCRIPTS.replace("'", "&#39;")}"></head><body><p id="app"></p><script>{STRICT_INLINE}</script>
<script type="module" src="/strict.js"></script></body></html>""").encode()
STRICT_MODULE = b"""import { word } from "/strict-word.js";
say(word);
say(await (await fetch("/strict-text")).text());
const code = `import("${new URL("strict-word.js", location.href)}").then((m) => postMessage(m.word));`;
const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
say(await new Promise((resolve) => { worker.onmessage = (message) => resolve(message.data); }));
const socket = new WebSocket(`ws://${location.host}/ws`);
socket.onopen = () => socket.send("echo");
say(await new Promise((resolve) => { socket.onmessage = (echo) => resolve(echo.data); }));
const inline = document.createElement("script");
inline.textContent = "say('let in')";
document.head.append(inline);
while (!refused.length) await new Promise((resolve) => setTimeout(resolve, 20));
say(refused[0]);
"""
PACKED = b"<!doctype html><a href='/b'>b</a>" + b"<p>line</p>" * 20000
SMUGGLED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"


class Connection:
    def __init__(self, sock):
        self.sock, self.rest, self.count = sock, b"", 0

    def take(self, size):
        while len(self.rest) < size:
            more = self.sock.recv(1 << 20)
            if not more:
                raise EOFError
            self.rest += more
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def line(self):
        while b"\r\n" not in self.rest:
            more = self.sock.recv(1 << 16)
            if not more:
                raise EOFError
            self.rest += more
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line

    def pieces(self, headers):
        if headers.get("transfer-encoding") == "chunked":
            while size := int(self.line(), 16):
                yield self.take(size)
                self.line()
            self.line()
        left = int(headers.get("content-length", 0))
        while left:
            if not self.rest:
                self.rest = self.sock.recv(1 << 20)
                if not self.rest:
                    raise EOFError
            piece, self.rest = self.rest[:left], self.rest[left:]
            left -= len(piece)
            yield piece

    def answer(self, body, kind="text/plain", extra=b"", status=b"200 OK"):
        head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"
        self.sock.sendall(head % (status, kind.encode(), len(body), extra) + body)

    def websocket(self, headers):
        key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest())
        self.sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size, = struct.unpack(">H", self.take(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.take(8))
            mask = self.take(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.take(size)))
            length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size)
            self.sock.sendall(bytes([first]) + length + data)
            if first & 15 == 8:
                raise EOFError

    def one(self):
        method, target, _ = self.line().decode("latin-1").split(" ")
        lines = []
        while line := self.line():
            lines.append(line.decode("latin-1"))
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        path, _, query = target.partition("?")
        self.count += 1
        if path.startswith("/lie/"):
            self.sock.sendall(LIES[path[5:]])
            raise EOFError
        if path == "/ws":
            return self.websocket(headers)
        size = sum(len(piece) for piece in self.pieces(headers))
        if path == "/sse":
            self.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for i in range(int(query or 3)):
                self.sock.sendall(b"data: %d\n\n" % i)
                time.sleep(0.2)
            raise EOFError
        if path == "/page":
            self.answer(b"<!doctype html><html><head><title>t</title><script src=/a.js></script></head>"
                        b"<body><a href='/b'>b</a></body></html>", "text/html",
                        b'ETag: "1"\r\nSet-Cookie: s=1; Path=/; Domain=localhost\r\nSet-Cookie: atoll_x=1\r\n'
                        b'Set-Cookie: __Host-atoll_session=1; Secure; Path=/\r\nSet-Cookie: =__host-atoll_session=1; Secure; Path=/\r\n')
        elif path == "/packed":  # whatever is asked for
            self.answer(gzip.compress(PACKED), "text/html", f"Content-Encoding: {query}\r\nContent-Security-Policy: default-src 'self'\r\n".encode())
        elif path == "/live":
            self.answer(LIVE, "text/html")
        elif path == "/strict":
            self.answer(STRICT, "text/html", f"Content-Security-Policy: {STRICT_POLICY}\r\n".encode())
        elif path == "/strict.js":
            self.answer(STRICT_MODULE, "text/javascript")
        elif path == "/strict-word.js":
            self.answer(b'export const word = "module";', "text/javascript")
        elif path == "/strict-text":
            self.answer(b"fetched")
        elif path == "/say.js":
            self.answer(b'say("%s" + localStorage.getItem("a") + document.cookie.slice(-1))' % query.encode(), "text/javascript")
        elif path == "/sheet":
            self.answer(b"a{background:url(/x.png)}", "text/css", b'ETag: "1"\r\n')
        elif path == "/away":
            self.answer(b"", "text/plain", b"Location: " + query.encode() + b"\r\n", b"302 Found")
        elif path == "/big":
            self.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % int(query))
            block, left = b"x" * (1 << 20), int(query)
            while left:
                left -= self.sock.send(block[:left])
        elif path == "/smuggle":
            self.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + SMUGGLED)
        elif path == "/empty":
            self.sock.sendall(b"HTTP/1.1 204 No Content\r\n\r\n" if query == "204" else
                              b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
        elif path == "/trailer":
            self.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                              b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")
        elif path == "/early":
            self.sock.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            self.answer(b"ok")
        else:
            body = json.dumps({"method": method, "target": target, "lines": lines, "size": size,
                               "count": self.count}).encode()
            self.answer(b"" if method == "HEAD" else body, "application/json")
            if path == "/once":
                raise EOFError

    def run(self):
        try:
            while True:
                self.one()
        except (EOFError, OSError):
            pass
        finally:
            self.sock.close()


def main():
    family = socket.AF_INET6 if "--v6" in sys.argv else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("::1" if "--v6" in sys.argv else "127.0.0.1", int(sys.argv[1])))
        listener.listen(64)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=Connection(sock).run, daemon=True).start()


if __name__ == "__main__":
    main()
