# SPDX-License-Identifier: Apache-2.0
# The Python of a context: runs blocks of code in one namespace, inside the sandbox; code/code.h tells
# how it is talked to. RICH is the text of kernel_python_rich.py, compiled when something needs it.
#
# It is started by `python3 -c`, so that a warm interpreter can take it over. The code's own module
# __main__ is another one than ours.
import sys

import _ast
import _signal
import _thread
import builtins
import io
import os

try:
    from _json import encode_basestring_ascii as quote
except ImportError:
    from json.encoder import py_encode_basestring_ascii as quote

PIECE_MAX = 4000  # with its head below PIPE_BUF: nobody else's output comes in between
MIME_MAX = 8 << 20  # of one representation; the server's limit is on all of them together
HEAD_SIZE = 35  # "NONCE 00000012 00000000\n"
TEXT_MAX = 256 << 10  # of an error
CO_COROUTINE = 0x80
FLAGS = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FUTURES = 0x1fe0000 if sys.version_info >= (3, 8) else 0
PID = os.getpid()


class State:
    nonce = b""
    count = 0
    running = interrupted = False
    sending = 0  # the thread that does
    future = 0
    loop = rich = None


state = State()
sources = {}  # of blocks, as linecache has them, which costs a tenth of a start
lock = _thread.RLock()
main_thread = _thread.get_ident()

# ---- to the server ----


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def send(text):
    """One message, in pieces that arrive whole."""
    data = text.encode()
    if os.getpid() != PID:
        return
    with lock:
        state.sending = _thread.get_ident()
        try:
            for at in range(0, len(data), PIECE_MAX):
                more = b"+" if at + PIECE_MAX < len(data) else b"."
                write_all(OUT, b"\x1e" + state.nonce + more + data[at:at + PIECE_MAX] + b"\n")
        finally:
            state.sending = 0
    if state.interrupted and _thread.get_ident() == main_thread:
        state.interrupted = False
        raise KeyboardInterrupt


def plain(text):
    """As text that can be told: no lone surrogates, no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def message(kind, **members):
    """Members are JSON texts already, or text."""
    parts = ['"type":"%s"' % kind]
    parts += ['"%s":%s' % (name, value if isinstance(value, Json) else quote(plain(value)))
              for name, value in members.items()]
    send("{" + ",".join(parts) + "}")


class Json(str):
    pass


class Stderr(io.RawIOBase):
    """In the same stream as stdout, so that both keep their order."""
    name, mode = "<stderr>", "w"

    def writable(self):
        return True

    def fileno(self):
        return 2

    def write(self, data):
        data = bytes(data)
        if os.getpid() != PID or not state.nonce:
            write_all(2, data)
            return len(data)
        try:
            sys.stdout.flush()
        except Exception:
            pass
        for at in range(0, len(data), TEXT_MAX):
            message("stderr", text=data[at:at + TEXT_MAX].decode("utf-8", "replace"))
        return len(data)


def open_text(raw, name, errors):
    stream = io.TextIOWrapper(raw, "utf-8", errors, "\n", True)
    stream.mode = "w"
    return stream


def open_streams():
    global IN, OUT
    IN, OUT = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", False)), "utf-8")
    sys.stdout = sys.__stdout__ = open_text(
        io.BufferedWriter(io.FileIO(1, "w", False)), "<stdout>", "backslashreplace")
    sys.stderr = sys.__stderr__ = open_text(
        io.BufferedWriter(Stderr()), "<stderr>", "backslashreplace")


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


# ---- results ----

HOOKS = ("html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "json", "javascript")
MIMES = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg",
         "image/png": "png", "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex",
         "application/json": "json", "application/javascript": "javascript"}


def rich():
    """What is seldom needed."""
    if not state.rich:
        scope = {"__name__": "atoll_rich", "message": message, "display": display, "plain": plain,
                 "tell_result": tell_result, "flush": flush, "state": state, "Json": Json,
                 "attempt": attempt}
        exec(compile(RICH, "<atoll>", "exec"), scope)
        state.rich = scope
    return state.rich


def attempt(call, *args):
    """What a hook answers; None when it fails: one representation less."""
    try:
        return call(*args)
    except Exception:
        return None


def bundle_of(value):
    """Every representation that it offers, as {name: value} and {mime: value} of the others."""
    known, others = {}, {}
    if isinstance(value, type) or getattr(value, "_repr_of_nothing_", None) is not None:
        return known, others
    hook = getattr(value, "_repr_mimebundle_", None)
    bundle = attempt(hook) if callable(hook) else None
    if isinstance(bundle, tuple):
        bundle = bundle[0]
    for mime, data in (bundle or {}).items():
        (known if mime in MIMES else others)[MIMES.get(mime, mime)] = data
    for name in HOOKS:
        hook = getattr(value, "_repr_%s_" % name, None)
        data = attempt(hook) if callable(hook) and name not in known else None
        if isinstance(data, tuple):
            data = data[0]
        if data is not None:
            known[name] = data
    return known, others


def has_module(value, name):
    return any(t.__module__.partition(".")[0] == name for t in type(value).__mro__)


def tell_result(known, others, is_main):
    members = {}
    for name, data in list(known.items()) + ([("extra", others)] if others else []):
        if name in ("json", "data", "chart", "extra"):
            text = rich()["to_json"](data)
        elif isinstance(data, (bytes, bytearray)):
            import base64
            text = base64.b64encode(data).decode()
        else:
            text = str(data)
        if text is None:
            continue
        if len(text) > MIME_MAX:
            print(f"the result's {name} is left out: {len(text)} bytes", file=sys.stderr)
            continue
        members[name] = text
    flush()
    message("result", main=Json("true" if is_main else "false"), **members)


def tell_value(value, is_main):
    known, others = {}, {}
    if type(value).__module__ not in ("builtins", "__main__") and (
            has_module(value, "matplotlib") or has_module(value, "pandas")):
        known, others = rich()["bundle_of_known"](value)
    hooked, more = bundle_of(value)
    known, others = {**hooked, **known}, {**more, **others}
    if "text" not in known:
        known["text"] = repr(value)
    tell_result(known, others, is_main)


def display(*values, include=None, exclude=None, metadata=None, transient=None, display_id=None,
            raw=False, **other):
    for value in values:
        if raw and isinstance(value, dict):
            known = {MIMES[mime]: data for mime, data in value.items() if mime in MIMES}
            tell_result(known, {m: d for m, d in value.items() if m not in MIMES}, False)
        else:
            tell_value(value, False)


# ---- code ----


def tell_error(error):
    import traceback
    frames = error.__traceback__
    while frames and not frames.tb_frame.f_code.co_filename.startswith("<cell "):
        frames = frames.tb_next
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except Exception as failure:
        lines = [f"{type(error).__name__}: its traceback cannot be made: {type(failure).__name__}\n"]
    try:
        value = str(error)
    except Exception:
        value = ""
    flush()
    message("error", name=type(error).__name__, value=value[:TEXT_MAX],
            traceback="".join(lines)[-TEXT_MAX:])


def parse(code, name):
    """The tree; magics and shell lines are looked for when it is no Python without them."""
    flags = _ast.PyCF_ONLY_AST | FLAGS | state.future
    try:
        return compile(code, name, "exec", flags, True)
    except SyntaxError:
        if not any(line.lstrip().startswith(("%", "!")) or "= !" in line or "=!" in line or "= %" in line
                   for line in code.splitlines()):
            raise
    return compile(rich()["rewrite"](code), name, "exec", flags, True)


def run_code(tree, name, mode):
    code = compile(tree, name, mode, FLAGS | state.future, True)
    state.future |= code.co_flags & FUTURES
    value = eval(code, module.__dict__)
    if code.co_flags & CO_COROUTINE:
        value = rich()["wait_for"](value)
    return value


def dedent(code):
    """Without the indentation of its first line, where lines have it, as in a notebook."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    space = first[:len(first) - len(first.lstrip(" \t"))]
    if not space:
        return code
    return "\n".join([line[len(space):] if line.startswith(space) else line for line in code.split("\n")])


def run_cell(code):
    code = dedent(code)
    name = "<cell %d>" % state.count
    sources[name] = len(code), None, code.splitlines(True), name
    if "linecache" in sys.modules:
        sys.modules["linecache"].cache[name] = sources[name]
    tree = parse(code, name)
    is_quiet = code.rstrip().endswith(";")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
    if tree.body:
        run_code(tree, name, "exec")
    if last:
        value = run_code(_ast.Expression(last.value), name, "eval")
        if value is not None and not is_quiet:
            builtins._ = value
            tell_value(value, True)


def on_interrupt(number, frame):
    if not state.running:
        return
    if state.sending == main_thread:
        state.interrupted = True
        return
    raise KeyboardInterrupt


def guarded(call, *args):
    try:
        state.running = True
        call(*args)
        state.running = False
    except BaseException as error:
        state.running = False
        if os.getpid() != PID:
            raise
        tell_error(error)
        del error
        return False
    return True


def refuse_input(prompt="", stream=None):
    raise RuntimeError("input() is not available here: nobody can answer")


def set_environment(entries):
    """Those of one run; gives what was there."""
    old = {}
    for entry in entries:
        key, _, value = entry.partition(b"=")
        if key:
            old[key] = os.environb.get(key)
            os.environb[key] = value
    return old


def restore_environment(old):
    for key, value in old.items():
        if value is None:
            os.environb.pop(key, None)
        else:
            os.environb[key] = value


def run(nonce, code, env):
    state.nonce, state.interrupted = nonce, False
    state.count += 1
    message("begin", count=Json(state.count))
    _signal.signal(_signal.SIGINT, on_interrupt)
    old = set_environment(env)
    guarded(run_cell, code)
    if os.getpid() != PID:
        flush()
        os._exit(0)
    if "matplotlib.pyplot" in sys.modules:
        guarded(rich()["show"])
    flush()
    restore_environment(old)
    state.interrupted = False
    message("end")
    write_all(2, b"\x1e" + nonce + b".\n")
    state.nonce = b""


# ---- from the server ----


def receive(size):
    parts = []
    while size > 0:
        part = os.read(IN, min(size, 1 << 16))
        if not part:
            raise SystemExit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main():
    _signal.signal(_signal.SIGINT, on_interrupt)
    while True:
        nonce, code_size, env_size = receive(HEAD_SIZE).split()
        code = receive(int(code_size)).decode("utf-8", "replace")
        env = receive(int(env_size)).split(b"\0")
        if os.getpid() == PID:
            run(nonce, code, env)


# ---- what happens when a module is imported ----


class Watch:
    """Some modules need a word when they are there; some stand in for what is not installed."""
    after = {"matplotlib.pyplot": "on_pyplot", "IPython.display": "on_ipython", "linecache": "on_linecache",
             "PIL.Image": "on_image", "PIL.ImageShow": "on_image_show"}

    def find_spec(self, name, path=None, target=None):
        if name not in self.after:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self or not hasattr(finder, "find_spec") else finder.find_spec(
                name, path, target)
            if spec:
                spec.loader = Told(spec.loader, self.after[name])
                return spec
        return None


class Told:
    def __init__(self, loader, then):
        self.loader, self.then = loader, then

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        (globals().get(self.then) or rich()[self.then])(module)


def on_linecache(module):
    module.cache.update(sources)


class Missing:
    """Last of all finders: IPython's names for results, where there is no IPython."""

    def find_spec(self, name, path=None, target=None):
        if name in ("IPython", "IPython.display", "IPython.core", "IPython.core.display"):
            return rich()["spec_of_ipython"](name)
        return None


def begin():
    global module
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    sys.argv = [""]
    builtins.input = refuse_input
    builtins.display = display
    os.environ.setdefault("MPLBACKEND", "Agg")
    open_streams()
    sys.meta_path.insert(0, Watch())
    sys.meta_path.append(Missing())
    if "matplotlib.pyplot" in sys.modules:
        rich()["on_pyplot"](sys.modules["matplotlib.pyplot"])
    if "PIL.Image" in sys.modules:
        rich()["on_image"](sys.modules["PIL.Image"])
    if "PIL.ImageShow" in sys.modules:
        rich()["on_image_show"](sys.modules["PIL.ImageShow"])
    main()


begin()
