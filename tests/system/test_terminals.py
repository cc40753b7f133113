# SPDX-License-Identifier: Apache-2.0
"""Windows: named terminals, their screens, keys, commands, and what restarts leave of them."""

import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import signal
import socket
import threading
import time

import atoll
import pytest
from web_socket import Socket

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def open_window(api, box, name, **options):
    return api.post(f"{PATH}/{box}/terminal", {"name": name, **options})


def window(api, box, name, what="", **body):
    path = f"{PATH}/{box}/windows/{name}" + (f"/{what}" if what else "")
    return api.post(path, body) if body else api.get(path)


def run(api, box, name, command=None, **options):
    if command is not None:
        options["command"] = command
    return api.post(f"{PATH}/{box}/windows/{name}/run", options)


def keys(api, box, name, *typed, **options):
    return api.post(f"{PATH}/{box}/windows/{name}/keys", {"keys": list(typed), **options})


# ---- windows ----

def test_a_window_is_opened_once_and_found_by_its_name(api, box):
    first = open_window(api, box, "main", rows=30, cols=100)
    again = open_window(api, box, "main")
    assert first["created"] and not again["created"]
    assert first["process"] == again["process"] and first["name"] == "main"
    found = window(api, box, "main")
    assert (found["rows"], found["cols"], found["shell"], found["ttl_s"]) == (30, 100, True, 3600)
    assert found["name"] in [w["name"] for w in api.get(f"{PATH}/{box}/windows")["items"]]


def test_many_opens_at_once_make_one_window(server, box):
    opened = []

    def opener():
        api = server.api()
        opened.append(open_window(api, box, "race"))
        api.close()
    threads = [threading.Thread(target=opener) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({o["process"] for o in opened}) == 1 and sum(o["created"] for o in opened) == 1


def test_a_window_without_a_name_gets_one(api, box):
    made = api.post(f"{PATH}/{box}/terminal", {})
    assert made["name"].startswith("w-") and made["created"]
    api.delete(f"{PATH}/{box}/windows/{made['name']}")
    with pytest.raises(atoll.ApiError) as failure:
        window(api, box, made["name"])
    assert failure.value.status == 404


@pytest.mark.parametrize("name", ["a b", "../x", ".x", "x" * 33, "", "ü", "a/b"])
def test_names_that_are_none_are_refused(api, box, name):
    with pytest.raises(atoll.ApiError) as failure:
        open_window(api, box, name)
    assert failure.value.status == 400


def test_a_window_changes_its_size_and_its_time(api, box):
    open_window(api, box, "size")
    open_window(api, box, "unsized", rows=0, cols=0)
    assert [window(api, box, "unsized")[side] for side in ("rows", "cols")] == [24, 80]
    changed = api.call("PATCH", f"{PATH}/{box}/windows/size", {"rows": 12, "cols": 44, "ttl_s": 60})
    assert (changed["rows"], changed["cols"], changed["ttl_s"]) == (12, 44, 60)
    assert run(api, box, "size", "stty size")["output"] == "12 44\n"
    with pytest.raises(atoll.ApiError) as failure:
        api.call("PATCH", f"{PATH}/{box}/windows/size", {"rows": 100000})
    assert failure.value.status == 400


def test_there_are_so_many_windows_and_no_more(api):
    with api.sandbox(internet=False) as sandbox:
        for i in range(32):
            open_window(api, sandbox, f"w{i}", command="sleep 100")
        with pytest.raises(atoll.ApiError) as failure:
            open_window(api, sandbox, "more")
        assert failure.value.status == 429 and "32 windows" in failure.value.message
        api.delete(f"{PATH}/{sandbox}/windows/w7")
        assert open_window(api, sandbox, "more")["created"]


def test_an_idle_window_closes_and_a_busy_one_does_not(api):
    with api.sandbox(internet=False) as sandbox:
        open_window(api, sandbox, "idle", ttl_s=1)
        open_window(api, sandbox, "busy", ttl_s=1)
        run(api, sandbox, "busy", "sleep 30", wait_ms=1)

        def names():
            return [w["name"] for w in api.get(f"{PATH}/{sandbox}/windows")["items"]]
        atoll.wait_for(lambda: names() == ["busy"], 30, "the idle one to close")
        time.sleep(1.2)  # longer than its ttl: a busy window must stay
        assert names() == ["busy"]


# ---- commands ----

def test_folder_and_environment_stay_in_the_window(api, box):
    first = run(api, box, "env", "cd /usr && export A='x y'")
    assert first["exit_code"] == 0 and first["output"] == "" and not first["running"]
    assert run(api, box, "env", 'pwd; echo "$A"')["output"] == "/usr\nx y\n"
    assert run(api, box, "env", "false")["exit_code"] == 1
    assert run(api, box, "env", "(exit 7)")["exit_code"] == 7
    assert run(api, box, "env", "echo $?")["output"] == "7\n"


def test_lines_blocks_and_quotes_run_as_they_are(api, box):
    cases = [
        ("echo one\necho two\n", "one\ntwo\n", 0),
        ("for i in 1 2; do\n  echo \"n$i\"\ndone\nfalse", "n1\nn2\n", 1),
        ("echo \"it's\" 'a \"b\"' c\\ d", "it's a \"b\" c d\n", 0),
        ("cat <<E\nin $((1+1))\nE", "in 2\n", 0),
        ("echo 'a!b' \"!x\"", "a!b !x\n", 0),
        ("printf 'no newline'", "no newline", 0),
        ("echo é ü 漢", "é ü 漢\n", 0),
        ("printf 'a\\rb\\n\\033[31mred\\033[0m\\n10%%\\r100%%\\n'", "b\nred\n100%\n", 0),
        ("seq 3 | tr '\\n' ,; echo", "1,2,3,\n", 0),
        ("echo " + "x" * 5000 + " | wc -c", "5001\n", 0),
    ]
    for command, output, code in cases:
        result = run(api, box, "lines", command)
        assert (result["output"], result["exit_code"], result["running"]) == (output, code, False), command


def test_a_mistake_is_told_and_an_open_quote_is_refused(api, box):
    wrong = run(api, box, "wrong", "if then")
    assert wrong["exit_code"] == 2 and "syntax error" in wrong["output"]
    for command in ("echo 'open", "for i in 1", "cat <<E", "echo \\"):
        with pytest.raises(atoll.ApiError) as failure:
            run(api, box, "wrong", command)
        assert failure.value.status == 400 and "complete" in failure.value.message, command
    assert run(api, box, "wrong", "echo fine")["output"] == "fine\n"
    with pytest.raises(atoll.ApiError) as failure:
        run(api, box, "wrong", "echo \x1b[A")
    assert failure.value.status == 400 and "0x1b" in failure.value.message


def test_a_command_is_left_running_and_waited_for_again(server, api, box):
    run(api, box, "long", "rm -f /tmp/go")  # and its shell is there
    # The wait is attached before the command may end; the second is for it to see that the command runs.
    first = run(api, box, "long", "echo begun; while [ ! -e /tmp/go ]; do sleep 0.1; done; sleep 1; echo ended; exit_with() { return 5; }; exit_with",
                wait_ms=1000)
    assert first["running"] and first["exit_code"] == -1 and first["output"] == "begun\n"
    assert window(api, box, "long")["busy"]
    atoll.wait_for(lambda: window(api, box, "long")["viewers"] == 0, 10, "the first wait is over")
    with concurrent.futures.ThreadPoolExecutor() as pool, contextlib.closing(server.api()) as other:
        waiting = pool.submit(run, other, box, "long", wait_ms=30000)
        atoll.wait_for(lambda: window(api, box, "long")["viewers"] > 0 or waiting.done(), 10, "the second wait")
        api.write(box, "/tmp/go", b"")
        rest = waiting.result()
    assert not rest["running"] and rest["exit_code"] == 5 and rest["output"] == "begun\nended\n"
    with pytest.raises(atoll.ApiError) as failure:
        run(api, box, "long")
    assert failure.value.status == 409 and "nothing runs" in failure.value.message


@pytest.mark.parametrize("what", ["sleep 100", "sleep 100 | cat", "while :; do sleep 0.05; done", "while :; do :; done",
                                  "read x", "trap '' INT; cat; trap - INT", "sh -c 'trap : INT TERM; while :; do sleep 0.1; done'"])
def test_what_runs_there_is_cancelled_first(api, box, what):
    assert run(api, box, "cancel", what, wait_ms=200)["running"]
    with pytest.raises(atoll.ApiError) as failure:
        run(api, box, "cancel", "echo no", keep=True)
    assert failure.value.status == 409
    result = run(api, box, "cancel", "echo next")
    assert result["cancelled"] and result["output"] == "next\n" and result["exit_code"] == 0


def test_a_command_may_change_what_the_shell_does_before_its_prompt(api, box):
    assert run(api, box, "hooks", "PROMPT_COMMAND='hooked=yes'; echo set")["output"] == "set\n"
    assert run(api, box, "hooks", "echo $hooked; (exit 3)")["exit_code"] == 3
    # Of a command that takes all of it away the end is not seen, of the next one it is.
    assert run(api, box, "hooks", "unset PROMPT_COMMAND", wait_ms=2000)["running"]
    after = run(api, box, "hooks", "echo after")
    assert (after["output"], after["exit_code"], after["cancelled"]) == ("after\n", 0, False)


# What the servers before this one typed to make a window's shell.
EARLIER_SHELL = r"""exec bash --rcfile /dev/fd/3 -i 3<<'__ATOLL'
[ -r /etc/profile ] && . /etc/profile
for __atoll_f in ~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc; do
[ -r "$__atoll_f" ] && { . "$__atoll_f"; break; }
done; unset __atoll_f; exec 3<&-
__atoll_take() {
local n l; IFS= read -rsn 32 n; IFS= read -rsd $'\x1e' l
case $- in *H*) set +H; __atoll_h=1;; esac
__atoll_n=$n READLINE_LINE=$l READLINE_POINT=${#l}
}
__atoll_prompt() {
local s=$?
case $s in 137|143) printf '\e[?47l\e[?25h\e[?1l\e>';; esac
[ -n "$__atoll_n" ] && printf '\e]133;D;%s;%s\a' "$s" "$__atoll_n"
[ -n "$__atoll_h" ] && set -H
__atoll_n= __atoll_h=
case $PS1 in *'133;B'*) ;; *) PS1=$PS1'\[\e]133;B\a\]';; esac
case $PS2 in *'133;P'*) ;; *) PS2=$PS2'\[\e]133;P;$__atoll_n\a\]';; esac
case $PS0 in *'133;C'*) ;; *) PS0=$PS0'\e]133;C;$__atoll_n;$EPOCHREALTIME\a';; esac
return $s
}
PROMPT_COMMAND='__atoll_prompt'${PROMPT_COMMAND:+";$PROMPT_COMMAND"}
for __atoll_m in emacs vi-insert vi-command; do
bind -m $__atoll_m -x '"\e[29;133~": __atoll_take'
done; unset __atoll_m
__ATOLL
"""


def test_a_window_of_an_earlier_server_takes_commands(api, box):
    open_window(api, box, "earlier", command=EARLIER_SHELL)
    for number in range(2):
        result = run(api, box, "earlier", f"echo still-{number}; (exit {number})")
        assert (result["output"], result["exit_code"], result["cancelled"]) == (f"still-{number}\n", number, False)


def test_many_that_wait_hold_nobody_up(server, api):
    """More than there are slow workers: a sandbox is made and deleted meanwhile, as ever. They have one of their own, which
    has room for their windows."""
    begun, done = threading.Barrier(25), []
    crowd = api.create(internet=False)["id"]
    for number in range(0, 24, 2):
        open_window(api, crowd, f"many{number}")

    def waiter(number):
        mine = server.api()
        begun.wait()
        if number % 2:
            done.append(run(mine, crowd, f"many{number}", "while [ ! -e /tmp/go ]; do sleep 0.2; done; echo slept", wait_ms=60000)["output"]
                        == "slept\n")
        else:
            done.append(keys(mine, crowd, f"many{number}", wait_text="at last", wait_ms=60000)["reason"] == "found")
        mine.close()
    threads = [threading.Thread(target=waiter, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    begun.wait()
    time.sleep(0.7)  # all waiters wait; other calls must not wait for them
    api.remove(api.create(internet=False)["id"])
    assert not done, "it waited for those that wait"
    api.write(crowd, "/tmp/go", b"")
    for number in range(0, 24, 2):
        keys(api, crowd, f"many{number}", text="at last")
    for thread in threads:
        thread.join()
    assert done == [True] * 24
    api.remove(crowd)


def test_half_a_line_that_somebody_typed_is_not_run(api, box):
    run(api, box, "typed", "true")
    keys(api, box, "typed", text="rm -rf half", wait_text="half")
    result = run(api, box, "typed", "echo whole")
    assert result["output"] == "whole\n" and not result["cancelled"]


def test_output_cannot_forge_the_end_of_a_command(api, box):
    forged = r"printf '\033]133;D;0;%032d\a\033]133;D;0;\a\033]133;B\a' 0; sleep 0.3; echo true end; (exit 3)"
    result = run(api, box, "forge", forged)
    assert result["exit_code"] == 3 and result["output"] == "true end\n"


def test_the_end_of_much_output_is_kept(api, box):
    result = run(api, box, "much", "seq 200000", outputLimitBytes=1000)
    assert result["output"].endswith("199999\n200000\n") and len(result["output"]) <= 1000
    assert result["dropped"] > 1000000 and result["exit_code"] == 0


def test_a_shell_that_ends_closes_its_window(api, box):
    result = run(api, box, "exit", "echo bye; exit 4")
    assert result["closed"] and result["exit_code"] == 4 and "bye" in result["output"]
    assert run(api, box, "exit", "echo again")["output"] == "again\n"


def test_a_window_without_a_shell_takes_no_commands(api, box):
    open_window(api, box, "cat", command="cat")
    with pytest.raises(atoll.ApiError) as failure:
        run(api, box, "cat", "echo x")
    assert failure.value.code == "unsupported"


# ---- screen and keys ----

def test_a_screen_is_read_with_cursor_title_and_colours(api, box):
    open_window(api, box, "screen", rows=10, cols=40, command=r"printf '\033]0;a title\a\033[2J\033[3;5Hhello \033[1;31mred\033[0m'; sleep 100")
    screen = keys(api, box, "screen", wait_text="red")
    assert screen["reason"] == "found" and screen["text"] == "\n\n    hello red\n"
    assert (screen["cursor_row"], screen["cursor_column"], screen["title"]) == (2, 13, "a title")
    assert not screen["alternate"] and screen["missing"] == 0
    cells = api.get(f"{PATH}/{box}/windows/screen/screen?form=cells")
    red = [r for r in cells["lines"][2]["runs"] if r["bold"]]
    assert len(cells["lines"]) == 10 and red[0]["text"] == "red" and red[0]["column"] == 10 and red[0]["foreground"]
    ansi = api.get(f"{PATH}/{box}/windows/screen/screen?form=ansi")["text"]
    assert "\x1b[3;1H" in ansi and "red" in ansi and "\x1b[3;14H" in ansi


def test_waiting_has_ends_of_five_kinds(api, box):
    open_window(api, box, "wait")
    assert keys(api, box, "wait", "echo hi-$((20+3))", "Enter", wait_text="hi-23")["reason"] == "found"
    assert keys(api, box, "wait", "echo n=$RANDOM", "Enter", wait_regex="^n=[0-9]+$")["reason"] == "found"
    assert keys(api, box, "wait", "x", wait_change=True)["reason"] == "changed"
    assert keys(api, box, "wait", "C-u", quiet_ms=200)["reason"] == "quiet"
    assert keys(api, box, "wait", wait_text="never to be seen", wait_ms=100)["reason"] == "timeout"
    assert keys(api, box, "wait", "exit", "Enter", wait_text="never to be seen")["reason"] == "ended"


@pytest.mark.parametrize("bad", [{"keys": ["C-Foo"]}, {"keys": ["S-1"]}, {"wait_regex": "("}, {"wait_regex": "(a)\\1"},
                                 {"wait_regex": "a{1,200}"}, {"wait_regex": "(a{2}){3}"}, {"wait_text": ""},
                                 {"wait_ms": 10**9}, {"text": "x" * 200000}])
def test_keys_and_waits_that_cannot_be_are_refused(api, box, bad):
    open_window(api, box, "bad")
    with pytest.raises(atoll.ApiError) as failure:
        api.post(f"{PATH}/{box}/windows/bad/keys", bad)
    assert failure.value.status in (400, 413), failure.value


def needs(api, box, program):
    if api.exec(box, f"command -v {program}")["exit_code"] != 0:
        pytest.skip(f"the host template has no {program}")


def test_vim_is_driven(api, box):
    needs(api, box, "vim")
    open_window(api, box, "vim", command="vim -u NONE -N /tmp/driven.txt")
    screen = keys(api, box, "vim", wait_text="driven.txt")
    assert screen["alternate"]
    keys(api, box, "vim", "i", "first line", "Enter", "second", "Escape", wait_regex="^second$")
    keys(api, box, "vim", "gg", "dd", quiet_ms=100)
    assert keys(api, box, "vim", ":wq", "Enter", wait_text="never", wait_ms=30000)["reason"] == "ended"
    assert api.exec(box, "cat /tmp/driven.txt")["stdout"] == "second\n"


def test_htop_is_driven(api, box):
    needs(api, box, "htop")
    open_window(api, box, "htop", rows=30, cols=100, command="htop")
    assert keys(api, box, "htop", wait_text="F10")["alternate"]
    assert keys(api, box, "htop", "F1", wait_text="Released under")["reason"] == "found"
    keys(api, box, "htop", "q", wait_text="F10")
    assert keys(api, box, "htop", "F10", wait_text="never", wait_ms=30000)["reason"] == "ended"


def test_less_and_python_are_driven(api, box):
    needs(api, box, "less")
    open_window(api, box, "less", command="seq 1000 | less", rows=10)
    assert "1\n2\n" in keys(api, box, "less", wait_text=":")["text"]
    assert keys(api, box, "less", "G", wait_text="1000")["reason"] == "found"
    assert keys(api, box, "less", "?555", "Enter", wait_regex="^555$")["reason"] == "found"
    keys(api, box, "less", "q")
    needs(api, box, "python3")
    open_window(api, box, "repl", command="python3 -q")
    keys(api, box, "repl", wait_text=">>>")
    assert keys(api, box, "repl", "6*7", "Enter", wait_regex="^42$")["reason"] == "found"
    keys(api, box, "repl", paste="def f():\n    return 'pasted'\n\nf()\n", wait_text="'pasted'\n")
    assert keys(api, box, "repl", "C-d", wait_text="never", wait_ms=30000)["reason"] == "ended"


def test_a_question_is_answered_where_it_was_asked(api, box):
    asks = "printf 'Do you want to continue? [Y/n] '; read a; echo \"answer: $a\""
    assert run(api, box, "ask", asks, wait_ms=300)["running"]
    screen = keys(api, box, "ask", text="Y", wait_text="] Y")
    assert "[Y/n]" in screen["text"]
    assert keys(api, box, "ask", "Enter", wait_text="answer: Y")["reason"] == "found"
    assert run(api, box, "ask", "echo after")["output"] == "after\n"


# ---- viewers ----

def look(server, api, box, name, query=""):
    opened = open_window(api, box, name)
    seen = Socket(server, opened["path"] + query)
    assert seen.status == 101
    return seen


def test_several_look_and_type_and_are_told_who_types(server, api, box):
    open_window(api, box, "shared")
    one, two = look(server, api, box, "shared"), look(server, api, box, "shared")
    watcher = look(server, api, box, "shared", "&read_only=true")
    one.send(b"echo from-$((40+2))\r")
    for viewer in (one, two, watcher):
        viewer.until(lambda s: b"from-42" in s.output)
    typing = two.event("typing")
    assert typing["viewer"] == one.event("started")["viewer"] and typing["who"]
    assert not any(e["type"] == "typing" for e in one.events)
    assert watcher.event("started")["writes"] is False
    watcher.send(b"echo no-$((1+1))\r")
    two.send(b"echo yes-$((2+2))\r")
    watcher.until(lambda s: b"yes-4" in s.output)
    assert b"no-2" not in watcher.output
    keys(api, box, "shared", "C-u")
    watcher.until(lambda s: any(e["type"] == "typing" and e["viewer"] is None for e in s.events))
    listed = api.get(f"{PATH}/{box}/windows/shared/viewers")["items"]
    assert [v["writes"] for v in listed] == [True, True, False]
    assert listed[0]["typed_at"] and not listed[2]["typed_at"] and listed[0]["peer"].startswith("127.0.0.1:")
    assert window(api, box, "shared")["viewers"] == 3
    for viewer in (one, two, watcher):
        viewer.close()
    atoll.wait_for(lambda: not api.get(f"{PATH}/{box}/windows/shared/viewers")["items"], 30, "no viewers")


def test_a_terminal_is_taken_over_and_given_back(server, api, box):
    open_window(api, box, "taken")
    one = look(server, api, box, "taken")
    one.event("started")
    two = look(server, api, box, "taken", "&takeover=1")
    assert one.event("taken_over")["viewer"] == two.event("started")["viewer"]
    one.send(b"echo one-$((1+1))\r")
    one.send(json.dumps({"type": "resize", "rows": 5, "cols": 5}).encode(), kind=1)
    two.send(b"echo two-$((2+2))\r")
    one.until(lambda s: b"two-4" in s.output)
    assert b"one-2" not in one.output and window(api, box, "taken")["rows"] == 24
    two.send(json.dumps({"type": "resize", "rows": 31, "cols": 99}).encode(), kind=1)
    two.send(b"stty size\r")
    two.until(lambda s: b"31 99" in s.output)
    assert (window(api, box, "taken")["rows"], window(api, box, "taken")["cols"]) == (31, 99)
    one.send(json.dumps({"type": "takeover"}).encode(), kind=1)
    assert two.event("taken_over")["viewer"] == one.event("started")["viewer"]
    one.send(b"echo back-$((3+3))\r")
    two.until(lambda s: b"back-6" in s.output)
    one.close()
    two.close()
    opened = open_window(api, box, "taken")
    assert Socket(server, opened["path"] + "&takeover=true&read_only=true").status == 400


def test_what_is_shown_begins_at_the_offset_that_was_asked_for(server, api, box):
    open_window(api, box, "since", command="printf abcdef; read x; printf ghi; sleep 100")
    first = look(server, api, box, "since").until(lambda s: s.output == b"abcdef")
    later, end = look(server, api, box, "since", "&since=4"), look(server, api, box, "since", "&since=6")
    later.until(lambda s: s.output == b"ef")
    first.send(b"\r")
    for viewer, expected in ((first, b"abcdef\r\nghi"), (later, b"ef\r\nghi"), (end, b"\r\nghi")):
        viewer.until(lambda s: len(s.output) >= len(expected))
        assert viewer.output == expected
        viewer.close()
    for bad in ("x", "-1", "1.x"):
        assert Socket(server, open_window(api, box, "since")["path"] + f"&since={bad}").status == 400, bad


def test_a_viewer_that_takes_nothing_holds_nobody_up(server, api, box):
    open_window(api, box, "stalled")
    stalled = look(server, api, box, "stalled", "&read_only=true")
    stalled.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    ended = run(api, box, "stalled", "head -c 12000000 /dev/zero | tr '\\0' x; echo; echo all of it", wait_ms=60000)
    assert not ended["running"] and ended["output"].endswith("all of it\n")
    # It goes on where the output that is kept begins, and is told so.
    assert stalled.event("dropped")["bytes"] > 0
    stalled.until(lambda s: b"all of it\r\n" in s.output[-500:])
    assert run(api, box, "stalled", "echo after")["output"] == "after\n"
    stalled.close()


@pytest.mark.parametrize("bytes_", [
    b"\xf2\x80\0\0\0\0", b"\x83\x80\0\0\0\0", b"\x02\x03abc", b"\x89\xfe\x00\x80\0\0\0\0" + b"x" * 128,
    b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", b"\x81\x82\0\0\0\0\xff\xff", b"\x82\xff\0\0\0\0\x40\0\0\0\0\0\0\0\0",
    b"\x80\x81\0\0\0\0x", b"\x81\x85\0\0\0\0{\"a\":", b"\x81\x8f\0\0\0\0{\"type\":\"nope\"}"])
def test_malformed_frames_and_messages_end_the_connection_alone(server, api, box, bytes_):
    open_window(api, box, "frames")
    good, bad = look(server, api, box, "frames"), look(server, api, box, "frames")
    bad.connection.sendall(bytes_)
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            bad.receive()
    good.send(b"echo alive-$((5+5))\r")
    good.until(lambda s: b"alive-10" in s.output)
    good.close()
    bad.close()


def test_tickets_are_good_for_one_use_and_one_path(server, api, box):
    one, two = open_window(api, box, "t1"), open_window(api, box, "t2")
    ticket = one["path"].split("ticket=")[1]
    assert Socket(server, two["path"].split("?")[0] + "?ticket=" + ticket).status == 401
    assert Socket(server, one["path"]).status == 401
    assert Socket(server, two["path"].split("ticket=")[0] + "ticket=" + "0" * 64).status == 401
    assert Socket(server, two["path"].split("ticket=")[0] + "ticket=" + "zz").status == 401
    assert Socket(server, two["path"]).status == 101


# ---- tools ----

def test_an_agent_runs_and_operates_by_tools(api, box):
    def tool(name, **given):
        return api.post(f"/v1/tools/{name}", {"sandboxId": box, "input": given})
    tool("execute_command", command="true")  # its shell is there
    first = tool("execute_command", command="cd /tmp && printf 'go on? [Y/n] ' && read a && echo got:$a", wait_ms=1500)
    assert first["structuredContent"]["running"] and "[Y/n]" in first["content"][0]["text"]
    looked = tool("terminal_operator", text="Y", keys=["Enter"], wait_text="got:Y")
    assert looked["structuredContent"]["reason"] == "found" and "got:Y" in looked["content"][0]["text"]
    assert tool("execute_command", command="pwd")["structuredContent"]["output"] == "/tmp\n"
    assert tool("execute_command", command="false", window="other")["structuredContent"]["exit_code"] == 1
    needs(api, box, "vim")
    assert tool("execute_command", window="editor", command="vim -u NONE -N tool.txt", wait_ms=300)["structuredContent"]["running"]
    drawn = tool("terminal_operator", window="editor", keys=["i", "first", "Enter", "second", "Escape"], wait_regex="^second$")
    assert drawn["structuredContent"]["reason"] == "found" and drawn["structuredContent"]["alternate"]
    tool("terminal_operator", window="editor", keys=["gg", "dd", ":wq", "Enter"], wait_text="written")
    assert tool("execute_command", window="editor", command="cat tool.txt")["structuredContent"]["output"] == "second\n"


# ---- restarts ----

def test_a_window_shows_the_same_after_kill_9_of_atolld(private_server):
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    open_window(api, box, "kept", rows=20, cols=70)
    assert run(api, box, "kept", "cd /usr; export K=kept; printf '\\033[7mshown\\033[0m %s\\n' $K")["exit_code"] == 0
    keys(api, box, "kept", "half a li", wait_text="half a li")
    before = api.get(f"{PATH}/{box}/windows/kept/screen?form=ansi")
    seen = look(private_server, api, box, "kept").until(lambda s: b"half a li" in s.output)
    private_server.kill9("api")
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            seen.receive()
    private_server.wait_ready()
    api.close()
    api = private_server.api()
    after = api.get(f"{PATH}/{box}/windows/kept/screen?form=ansi")
    assert after == before and after["missing"] == 0
    size = len(seen.output)
    again, rest = look(private_server, api, box, "kept"), look(private_server, api, box, "kept", f"&since={size - 4}")
    for viewer, expected in ((again, seen.output), (rest, seen.output[-4:])):
        assert viewer.until(lambda s: len(s.output) >= len(expected)).output.startswith(expected)
    again.send(b"\x15echo typed-$((4+4))\r")
    rest.until(lambda s: b"typed-8" in s.output)
    again.close()
    rest.close()
    assert run(api, box, "kept", "echo $K in $PWD")["output"] == "kept in /usr\n"
    # More than is kept: it says so.
    run(api, box, "kept", "seq 300000")
    private_server.kill9("api")
    private_server.wait_ready()
    api.close()
    api = private_server.api()
    screen = api.get(f"{PATH}/{box}/windows/kept/screen")
    assert screen["missing"] > 0 and "300000" in screen["text"]
    api.close()


# ---- recordings and the CLI ----

def test_a_project_may_have_every_new_window_recorded(server, api):
    def recorded(sandbox):
        return {r["process"] for r in api.get("/api/sandbox/recordings")["items"] if r["sandbox_id"] == sandbox}
    api.call("PUT", "/api/sandbox/settings", {"record_terminals": True})
    try:
        with api.sandbox(template="host", internet=False) as sandbox:
            filmed = {api.post(f"{PATH}/{sandbox}/terminal", {"name": "filmed"})["process"]}
            api.post("/v1/tools/execute_command", {"sandboxId": sandbox, "input": {"window": "by-a-tool", "command": "echo seen"}})
            filmed.add(api.get(f"{PATH}/{sandbox}/windows/by-a-tool")["process"])
            api.call("PUT", "/api/sandbox/settings", {"record_terminals": False})
            api.post(f"{PATH}/{sandbox}/terminal", {"name": "private"})
        atoll.wait_for(lambda: recorded(sandbox) == filmed, 30, "two recordings")
    finally:
        api.call("PUT", "/api/sandbox/settings", {"record_terminals": False})


def test_a_recording_outlives_its_sandbox_and_is_replayed(server, api, tmp_path):
    with api.sandbox(internet=False) as sandbox:
        made = api.post(f"{PATH}/{sandbox}/terminal", {"name": "film", "record": True, "rows": 12, "cols": 50})
        api.post(f"{PATH}/{sandbox}/terminal", {"name": "film", "record": True})
        assert run(api, sandbox, "film", "printf 'caf\\xc3'; sleep 0.1; printf '\\xa9 \\xff end\\n'")["exit_code"] == 0
        api.delete(f"{PATH}/{sandbox}/windows/film")

        def mine():
            return [r for r in api.get("/api/sandbox/recordings")["items"] if r["sandbox_id"] == sandbox]
        recording, = atoll.wait_for(mine, 30, "the recording")
        assert recording["process"] == made["process"] and recording["size_bytes"] > 100
        assert recording["window"] == "film" and recording["user"]
        assert api.get(f"/api/sandbox/recordings?sandbox={sandbox}")["items"] == [recording]
        with api.sandbox(internet=False) as other:
            assert api.get(f"/api/sandbox/recordings?sandbox={other}")["items"] == []
    answer = api.raw("GET", f"/api/sandbox/recordings/{recording['id']}")
    lines = [json.loads(line) for line in answer.body.decode().splitlines()]
    assert (lines[0]["version"], lines[0]["width"], lines[0]["height"], lines[0]["title"]) == (2, 50, 12, "film")
    times = [line[0] for line in lines[1:]]
    text = "".join(line[2] for line in lines[1:])
    assert abs(recording["duration_ms"] - times[-1] * 1000) <= 1
    assert times == sorted(times) and all(line[1] == "o" for line in lines[1:]) and "café \ufffd end" in text
    played = server.cli("replay", "--speed", "100", recording["id"])
    assert played.returncode == 0 and "café" in played.stdout.decode(), played.stderr
    file = tmp_path / "film.cast"
    file.write_bytes(answer.body)
    assert server.cli("replay", "--idle-limit", "10ms", file).stdout == played.stdout
    assert recording["id"] in server.cli("terminal", "recordings").stdout.decode()
    api.delete(f"/api/sandbox/recordings/{recording['id']}")
    for method in ("GET", "DELETE"):
        assert api.raw(method, f"/api/sandbox/recordings/{recording['id']}").status == 404
    for bad in ("..%2f..%2fadmin", "A", "x" * 200):
        assert api.raw("GET", f"/api/sandbox/recordings/{bad}").status in (400, 404)


def test_a_server_that_ends_in_order_completes_its_recordings(private_server):
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    open_window(api, box, "film", record=True)
    run(api, box, "film", "echo kept")
    api.close()
    private_server.stop()
    private_server.start()
    api = private_server.api()
    recording, = api.get("/api/sandbox/recordings")["items"]
    assert b"kept" in api.raw("GET", f"/api/sandbox/recordings/{recording['id']}").body
    api.close()


@pytest.mark.parametrize("step", ["", "recording-published"])
def test_a_recording_in_progress_outlives_kill_9_of_atolld(private_server, step):
    """Whole lines of it, once: also when the server is killed between the blob and the end of the spooled file."""
    server = private_server
    if step:
        server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    api = server.api()
    box = api.create(internet=False)["id"]
    open_window(api, box, "film", record=True, rows=12, cols=50)
    run(api, box, "film", "echo shown before")
    spool = server.data / "recordings"
    atoll.wait_for(lambda: [f for f in spool.iterdir() if b"shown before\\r" in f.read_bytes()], 30, "it is written through")
    if step:
        with contextlib.suppress(OSError, atoll.ApiError):
            api.delete(f"{PATH}/{box}/windows/film")
        atoll.wait_for(lambda: list((server.data / "blobs").rglob("*.cast")), 30, "it is published, and the server dies")
        server.environment.pop("ATOLL_FAULT")
        server.stop()
        server.start()
    else:
        server.kill9("api")
        server.wait_ready()
        file = next(spool.iterdir(), None)
        assert file is None or file.stat().st_size > 0
    api = server.api()
    recording, = atoll.wait_for(lambda: api.get("/api/sandbox/recordings")["items"], 30, "the recording")
    atoll.wait_for(lambda: not list(spool.iterdir()), 30, "nothing is spooled any more")
    lines = [json.loads(line) for line in api.raw("GET", f"/api/sandbox/recordings/{recording['id']}").body.decode().splitlines()]
    assert "shown before" in "".join(line[2] for line in lines[1:]) and lines[0]["title"] == "film"
    assert len(api.get("/api/sandbox/recordings")["items"]) == 1


def asleep(seconds):
    """The `sleep` of so many seconds in a sandbox, as this machine sees it."""
    def found():
        for line in glob.glob("/proc/[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if pathlib.Path(line).read_bytes() == f"sleep\0{seconds}\0".encode():
                    return int(line.split("/")[2])
        return None
    return atoll.wait_for(found, 60, f"sleep {seconds}")


def test_what_a_server_was_too_slow_for_is_told_as_missing(private_server):
    """It stands still while two terminals go on: what it takes up after that begins anew everywhere."""
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=False)["id"]
    open_window(api, box, "film", record=True)
    pty = f"/daytona/toolbox/{box}/process/pty"
    api.post(pty, {"id": "shell"})
    seen, ended = Socket(server, f"{pty}/shell/connect", api.key), []
    seen.until(lambda s: s.output)  # its prompt
    naps = [os.getpid() * 10 + 10000000 + n for n in range(4)]  # nobody else's

    def flood(begin, end):
        return f"sleep {begin}; head -c 6000000 /dev/zero | tr '\\0' x; echo; sleep {end}; echo all of it"
    waiter = threading.Thread(target=lambda: ended.append(run(server.api(), box, "film", flood(*naps[:2]), wait_ms=120000)))
    waiter.start()
    seen.send(flood(*naps[2:]).encode() + b"\r")
    before, stopped = [asleep(nap) for nap in naps[::2]], server.pid_of("api")
    os.kill(stopped, signal.SIGSTOP)
    try:
        for pid in before:
            os.kill(pid, signal.SIGTERM)
        after = [asleep(nap) for nap in naps[1::2]]
    finally:
        os.kill(stopped, signal.SIGCONT)
    for pid in after:
        os.kill(pid, signal.SIGTERM)
    waiter.join()
    result, = ended
    assert result["exit_code"] == 0 and result["output"].endswith("\nall of it\n"), result["output"][-200:]
    assert abs(result["end"] - result["since"] - result["dropped"] - len(result["output"])) < 100
    seen.until(lambda s: b"\nall of it\r\n" in s.output[-500:])
    assert seen.output.count(b"\x18") >= 1 and len(seen.output) < 6000000
    seen.close()
    api.delete(f"{PATH}/{box}/windows/film")
    recording, = atoll.wait_for(lambda: api.get("/api/sandbox/recordings")["items"], 30, "the recording")
    events = [json.loads(line) for line in api.raw("GET", f"/api/sandbox/recordings/{recording['id']}").body.decode().splitlines()[1:]]
    missing = sum(int(data.removesuffix(" bytes are missing")) for _, kind, data in events if kind == "m")
    shown = sum(len(data.replace("\x18", "")) for _, kind, data in events if kind == "o")
    assert missing > 0 and missing + shown >= 6000000
    api.close()


@pytest.mark.parametrize("text", [b"", b"no\n", b'{"version":1}\n', b'{"version":2}\n[1]\n', b'{"version":2}\n[-1,"o","x"]\n',
                                  b'{"version":2}\n["a","o","x"]\n', b'{"version":2}\n[1e99,"o","x"]\n'])
def test_what_is_no_recording_is_refused(server, tmp_path, text):
    file = tmp_path / "bad.cast"
    file.write_bytes(text)
    assert server.cli("replay", file).returncode != 0


def test_windows_from_the_command_line(server, api, box):
    done = server.cli("terminal", "run", box, "cli", "echo from-cli; false")
    assert (done.returncode, done.stdout) == (1, b"from-cli\n"), done.stderr
    assert server.cli("terminal", "run", "--wait", "100ms", box, "cli", "cat").returncode == 124
    typed = server.cli("terminal", "keys", "--until", "typed", box, "cli", "typed", "Enter")
    assert typed.returncode == 0 and b"typed" in typed.stdout
    assert b"typed" in server.cli("terminal", "screen", box, "cli").stdout
    listed = server.cli("terminal", "ls", box).stdout.decode()
    assert any(line.split()[0] == "cli" and "yes" in line for line in listed.splitlines()[1:])
    assert server.cli("terminal", "viewers", box, "cli").returncode == 0
    assert server.cli("terminal", "close", box, "cli").returncode == 0
    assert server.cli("terminal", "screen", box, "cli").returncode != 0
    assert b"needs a terminal" in server.cli("terminal", "open", box, "cli").stderr
