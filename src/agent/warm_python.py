# SPDX-License-Identifier: Apache-2.0
# A Python interpreter that has started already, inside the sandbox; agent/warm.h tells the whole.
#
# The agent runs this on descriptor 0, a socket: the first packet is this text, the second the names
# of the modules to import, and each one after that brings the socket of a new child. A child is
# forked and waits on its socket for the code of one call. What happens here must look to that code
# as if `python3 -c CODE` had just been executed; where it would not, the child ends without taking
# the token, and the agent does execute it.
import sys

if not (3, 8) <= sys.version_info < (3, 14):
    raise SystemExit(3)

import _signal
import _socket
import atexit
import ctypes
import fcntl
import gc
import io
import linecache
import os
import site
import termios
import time
import traceback  # noqa: F401  printing an exception needs it

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
ORDER_FDS = 5  # the order, the token, stdin, stdout, stderr
ORDER_MAX = 1 << 21
NOT_NOW, STALE = 10, 11  # exit statuses: not this call, and none any more

prctl = ctypes.CDLL(None).prctl
all_signals = set(_signal.valid_signals())


def receive(sock, count):
    """One packet and its descriptors; an end of the other side is our end, too."""
    data, extra, _, _ = sock.recvmsg(65536, _socket.CMSG_SPACE(4 * count), _socket.MSG_CMSG_CLOEXEC)
    if not data:
        os._exit(0)
    fds = []
    for level, kind, payload in extra:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += [int.from_bytes(payload[i:i + 4], sys.byteorder)
                    for i in range(0, len(payload), 4)]
    return data, fds


# ---- what a cold start would see that we have not ----

def look(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    # No numbers of devices and files: a snapshot gives a sandbox another root with the same files.
    return status.st_mtime_ns, status.st_size, status.st_mode


def packages():
    """Where packages are installed: a folder changes with each that comes, goes or is replaced."""
    folders = site.getsitepackages() + [site.getusersitepackages()]
    return [(folder, look(folder)) for folder in folders + sys.path[1:]]


def sources():
    """Files of what is loaded, but for those of Python itself: whoever changes these in place is
    out of luck."""
    own = os.path.dirname(os.__file__) + "/"
    files = [getattr(m, "__file__", None) for m in list(sys.modules.values())]
    return [(name, look(name)) for name in files
            if isinstance(name, str) and not (name.startswith(own) and "-packages/" not in name)]


def is_newer(name, start):
    """Whether a file was changed since a time in ns: then its time may be newer than what was loaded of
    it. The kernel stamps files with a clock that runs up to 10 ms behind."""
    try:
        return os.stat(name).st_ctime_ns > start - 10_000_000
    except OSError:
        return False


def program(path):
    for folder in path.split(":"):
        if folder and os.access(folder + "/python3", os.X_OK):
            return folder + "/python3", look(folder + "/python3")
    return None


def is_stale(state, path):
    return state.is_mixed or program(path) != state.program or packages() != state.packages or any(
        look(name) != was for name, was in state.sources)


def is_shadowed(state):
    """The current folder comes first in sys.path: a file there may have the name of a module."""
    try:
        return any(name.partition(".")[0] in state.names for name in os.listdir("."))
    except OSError:
        return True


# ---- the call ----

def open_stream(fd, mode, name, old):
    raw = io.open(fd, mode + "b", -1, None, None, None, False)
    raw.raw.name = name
    stream = io.TextIOWrapper(raw, old.encoding, old.errors, "\n",
                              fd == 2 or raw.raw.isatty())
    stream.mode = mode
    return stream


def open_streams():
    sys.stdin = sys.__stdin__ = open_stream(0, "r", "<stdin>", sys.__stdin__)
    sys.stdout = sys.__stdout__ = open_stream(1, "w", "<stdout>", sys.__stdout__)
    sys.stderr = sys.__stderr__ = open_stream(2, "w", "<stderr>", sys.__stderr__)


def set_environment(entries):
    os.environb.clear()
    for entry in entries:
        key, _, value = entry.partition(b"=")
        os.environb[key] = value


def execute(code):
    """As PyRun_SimpleString: our own frame is not part of any traceback. Gives what it raised."""
    try:
        compiled = compile(code, "<string>", "exec", 0, True)
        if hasattr(linecache, "_register_code"):
            # Python 3.13 shows its lines; 3.13.0 knows them by the name of the file alone.
            by_code = hasattr(linecache, "_code_key")
            linecache._register_code(compiled if by_code else "<string>", code, "<string>")
        exec(compiled, sys.modules["__main__"].__dict__)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        return error
    return None


def tell_exit(code):
    """As the interpreter takes what sys.exit() was given."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xff
    sys.stdout.flush()
    print(code, file=sys.stderr)
    return 1


def tell(error):
    if isinstance(error, SystemExit):
        return tell_exit(error.code)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as exit:
        return tell_exit(exit.code)
    except BaseException:
        sys.__excepthook__(type(error), error, error.__traceback__)
    return 1


def attempt(call):
    """What goes wrong at an exit is told and does not change it."""
    try:
        call()
    except BaseException as error:
        sys.__excepthook__(type(error), error, error.__traceback__)


def flush(stream):
    try:
        if stream and not stream.closed:
            stream.flush()
    except BaseException as error:
        return error
    return None


def let_go(state):
    """What the code has made ends: buffers are written, destructors run. What was there before it
    came is left alone: to take that apart as well takes longer than most calls."""
    modules = [m for name, m in list(sys.modules.items()) if name not in state.loaded]
    for module in [sys.modules.get("__main__")] + modules[::-1]:
        scope = getattr(module, "__dict__", {})
        for name in [n for n in list(scope) if n != "__builtins__"]:
            scope[name] = None
    gc.collect()
    for thing in gc.get_objects():
        if isinstance(thing, io.IOBase):
            flush(thing)


def finish(state, status, is_interrupted):
    """As Py_FinalizeEx, in its order: threads, exit functions, streams, objects."""
    if "threading" in sys.modules:
        attempt(sys.modules["threading"]._shutdown)
    attempt(atexit._run_exitfuncs)
    out = sys.stdout
    broken = flush(out)
    flush(sys.stderr)
    attempt(lambda: let_go(state))
    if broken or flush(out):
        status = 120
        print(f"Exception ignored in: {out!r}\n{type(broken).__name__}: {broken}",
              file=sys.__stderr__)
    flush(sys.__stderr__)
    if is_interrupted:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    os._exit(status)


def run(state, code):
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[1:] = ["-c", code]
    error = execute(code)
    status = tell(error) if error is not None else 0
    finish(state, status, type(error) is KeyboardInterrupt)


def serve(state, sock):
    """One call. Nothing that is not undone by our end happens before the token is ours."""
    sock.send(b"R")
    _, fds = receive(sock, ORDER_FDS)
    order, token = fds[:2]
    tty, cwd, code, *env = os.pread(order, ORDER_MAX, 0).split(b"\0")
    path = next((e[5:] for e in env if e.startswith(b"PATH=")), b"")
    try:
        os.chdir(cwd)
    except OSError:
        os._exit(NOT_NOW)
    if is_shadowed(state):
        os._exit(NOT_NOW)
    if is_stale(state, os.fsdecode(path)):
        os._exit(STALE)
    for fd, source in enumerate(fds[2:]):
        os.dup2(source, fd)
    if tty == b"1":
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    set_environment(env)
    if "time" in sys.modules:
        sys.modules["time"].tzset()
    open_streams()
    code = code.decode()
    try:
        os.read(token, 8)
    except OSError:
        os._exit(NOT_NOW)
    for fd in fds:
        os.close(fd)
    sock.close()
    return code


# ---- processes ----

def renew():
    """What a process has for itself. `random` and `tempfile` see to it at each fork."""
    random = sys.modules.get("numpy.random")
    if random:
        random.seed()
    platform = sys.modules.get("platform")
    if platform:
        platform._uname_cache = None
    uuid = sys.modules.get("uuid")
    if uuid:
        uuid._node = uuid._last_timestamp = None


def keep(child):
    """Reaper of one call: adopts what it leaves behind, and ends as it ended (agent/reaper.h)."""
    pid = status = None
    while pid != child:
        pid, status = os.waitpid(-1, 0)
    if os.WIFSIGNALED(status):
        signal = os.WTERMSIG(status)
        if signal != _signal.SIGKILL:
            _signal.signal(signal, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [signal])
        os.kill(os.getpid(), signal)
    os._exit(os.WEXITSTATUS(status))


def spawn(control, sock):
    """True in the child that is to serve. In between is one that ends at once, so that the reaper
    becomes the agent's own child."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    between = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == between:
        os.sched_yield()
    control.close()
    os.setsid()
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sock.send(b"K")
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, all_signals)
    child = os.fork()
    if child:
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        sock.close()
        keep(child)
    os.setsid()
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    renew()
    return True


class State:
    pass


def warm(state):
    control = _socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3))
    os.dup2(1, 0)
    state.program = program(os.environ.get("PATH", ""))
    state.packages = packages()
    names, _ = receive(control, 0)
    here = sys.path.pop(0)
    start = time.time_ns()
    for name in names.decode().split():
        __import__(name)
    sys.path.insert(0, here)
    state.sources = sources()
    state.is_mixed = any(is_newer(name, start) for name, _ in state.sources)
    state.loaded = set(sys.modules)
    state.names = {name.partition(".")[0] for name, m in sys.modules.items()
                   if getattr(getattr(m, "__spec__", None), "origin", None)
                   not in (None, "built-in", "frozen")}
    gc.collect()
    gc.freeze()
    while True:
        _, fds = receive(control, 1)
        sock = _socket.socket(fileno=fds[0])
        if spawn(control, sock):
            return serve(state, sock)
        sock.close()
        # A library whose threads do not end at a fork may have locked something.
        if len(os.listdir("/proc/self/task")) > 1:
            os._exit(4)


def main():
    state = State()
    run(state, warm(state))


main()
