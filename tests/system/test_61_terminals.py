# SPDX-License-Identifier: Apache-2.0
"""Windows: named terminals, their screens, keys, commands, and what restarts leave of them."""

import threading
import time

import atoll
import pytest

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
        atoll.wait_for(lambda: names() == ["busy"], 10, "the idle one to close")
        time.sleep(1.2)
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


def test_a_command_is_left_running_and_waited_for_again(api, box):
    first = run(api, box, "long", "echo begun; sleep 1; echo ended; exit_with() { return 5; }; exit_with", wait_ms=300)
    assert first["running"] and first["exit_code"] == -1 and first["output"] == "begun\n"
    assert window(api, box, "long")["busy"]
    rest = run(api, box, "long", wait_ms=5000)
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
    assert keys(api, box, "vim", ":wq", "Enter", wait_text="never", wait_ms=5000)["reason"] == "ended"
    assert api.exec(box, "cat /tmp/driven.txt")["stdout"] == "second\n"


def test_htop_is_driven(api, box):
    needs(api, box, "htop")
    open_window(api, box, "htop", rows=30, cols=100, command="htop")
    assert keys(api, box, "htop", wait_text="F10")["alternate"]
    assert keys(api, box, "htop", "F1", wait_text="Released under")["reason"] == "found"
    keys(api, box, "htop", "q", wait_text="F10")
    assert keys(api, box, "htop", "F10", wait_text="never", wait_ms=5000)["reason"] == "ended"


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
    assert keys(api, box, "repl", "C-d", wait_text="never", wait_ms=3000)["reason"] == "ended"


def test_a_question_is_answered_where_it_was_asked(api, box):
    asks = "printf 'Do you want to continue? [Y/n] '; read a; echo \"answer: $a\""
    assert run(api, box, "ask", asks, wait_ms=300)["running"]
    screen = keys(api, box, "ask", text="Y", wait_text="] Y")
    assert "[Y/n]" in screen["text"]
    assert keys(api, box, "ask", "Enter", wait_text="answer: Y")["reason"] == "found"
    assert run(api, box, "ask", "echo after")["output"] == "after\n"


# ---- restarts ----

def test_a_window_shows_the_same_after_kill_9_of_atolld(private_server):
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    open_window(api, box, "kept", rows=20, cols=70)
    assert run(api, box, "kept", "cd /usr; export K=kept; printf '\\033[7mshown\\033[0m %s\\n' $K")["exit_code"] == 0
    keys(api, box, "kept", "half a li", quiet_ms=100)
    before = api.get(f"{PATH}/{box}/windows/kept/screen?form=ansi")
    private_server.kill9("api")
    private_server.wait_ready()
    api.close()
    api = private_server.api()
    after = api.get(f"{PATH}/{box}/windows/kept/screen?form=ansi")
    assert after == before and after["missing"] == 0
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
