# SPDX-License-Identifier: Apache-2.0
"""The same server on PostgreSQL, and two servers on one database."""

import os
import signal
import threading
import time

import pytest

import atoll
import postgres
from test_lost_access import PASSWORD, WITHIN_S, assert_ends, assert_goes_on, cookie_headers, event_stream
from test_sign_in import Browser

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


@pytest.fixture
def database():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    running = postgres.Postgres()
    yield running
    running.remove()


@pytest.fixture
def serve(database):
    """Makes servers on the database; each has a data folder and a broker of its own."""
    made = []

    def make(number=0):
        flags = ["--store", database.dsn, "--network-subnet", f"10.{231 + number}.0.0/16", "--cells", "1"]
        made.append(atoll.Server(flags=flags))
        return made[-1].start()

    yield make
    if database.process.poll() is not None:
        database.start()
    for server in made:
        if server.process is None or server.process.poll() is not None:
            server.process = None
            server.start()
        remove_own(server)


def remove_own(server):
    """Lists show the other server's, too: each deletes what it has."""
    api = server.api()
    for row in api.get(f"{PATH}?limit=1000")["items"]:
        try:
            api.remove(row["id"])
        except atoll.ApiError as refused:
            assert refused.code in ("conflict", "not_found"), refused
    api.close()
    atoll.Host(server.data).wait_clean()
    server.stop()
    import shutil
    shutil.rmtree(server.data, ignore_errors=True)


def node_of(server):
    return (server.data / "node.id").read_text().strip()


def state_in(database, sandbox):
    return database.rows(f"SELECT actual FROM sandboxes WHERE id = '{sandbox}'")[0]


def test_a_life_on_postgresql(serve, database):
    server = serve()
    api = server.api()
    made = api.create(internet=False, name="box", persistent=True, env={"GREETING": "hello"})["id"]
    assert not (server.data / "store" / "atoll.db").exists()
    assert state_in(database, made) == "started"
    assert api.exec(made, "echo $GREETING; echo kept > note")["stdout"] == "hello\n"
    sealed = database.rows(f"SELECT env_json FROM sandboxes WHERE id = '{made}'")[0]
    assert sealed.startswith('"sealed.') and "hello" not in sealed
    assert server.cli("key", "rotate-secrets").stdout == b"5 values are encrypted with the new key\n"  # with those of access tokens, share links, providers and the audit
    assert database.rows(f"SELECT env_json FROM sandboxes WHERE id = '{made}'")[0] != sealed
    api.post(f"{PATH}/box/stop")
    assert state_in(database, made) == "stopped"
    api.post(f"{PATH}/box/start")
    assert api.exec(made, "cat note")["stdout"] == "kept\n"
    api.remove("box")
    assert state_in(database, made) == "deleted"


def test_kill_9_of_each_process_and_a_restart(serve, database):
    server = serve()
    api = server.api()
    made = api.create(internet=False)["id"]
    for role in ("api", "broker"):
        old = server.kill9(role)
        atoll.wait_for(lambda: server.pid_of(role) not in (None, old), 15, f"a new {role}")
        server.wait_ready()
        api.close()
        assert api.exec(made, "echo there")["stdout"] == "there\n"
    victims = [server.process.pid, server.pid_of("api"), server.pid_of("broker")]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.start()
    api = server.api()
    assert api.exec(made, "echo again")["stdout"] == "again\n"
    api.remove(made)
    assert state_in(database, made) == "deleted"


def test_a_database_that_is_started_again(serve, database):
    server = serve()
    api = server.api()
    made = api.create(internet=False)["id"]
    assert api.exec(made, "true")["exit_code"] == 0  # what it needs is known from here on
    database.end()
    with pytest.raises(atoll.ApiError) as away:
        api.create(internet=False)
    assert away.value.status == 503 and "database" in away.value.message
    # What is known without the store goes on.
    assert api.exec(made, "echo still")["stdout"] == "still\n"
    database.start()
    atoll.wait_for(lambda: api.raw("GET", "/readyz").status == 200, 30, "readiness")
    fresh = api.create(internet=False)["id"]
    assert api.exec(fresh, "echo new")["stdout"] == "new\n"
    assert api.exec(made, "echo old")["stdout"] == "old\n"


def test_an_address_that_is_wrong_ends_the_start(database):
    server = atoll.Server(flags=["--store", f"{database.dsn} password=hunter2 sslmode=nonsense"])
    server.start(wait=False)
    assert server.process.wait(30) != 0
    assert "hunter2" not in server.log_text()
    server.process = None
    server.remove_all()


def test_two_servers_share_a_database_and_leave_each_others_sandboxes_alone(serve, database):
    first, second = serve(0), serve(1)
    assert node_of(first) != node_of(second)
    one, two = first.api(), second.api(first.key)
    made = one.create(internet=False, name="of-first")["id"]
    other = two.create(internet=False, name="of-second")["id"]
    assert database.rows(f"SELECT node FROM sandboxes WHERE id IN ('{made}', '{other}') ORDER BY name") == \
        [node_of(first), node_of(second)]
    # A key of one is known to the other, and so are the rows.
    assert {row["id"] for row in two.get(PATH)["items"]} >= {made, other}
    for call in (lambda: two.exec(made, "true"), lambda: two.remove(made),
                 lambda: two.post(f"{PATH}/{made}/stop"), lambda: two.remove("of-first")):
        with pytest.raises(atoll.ApiError) as refused:
            call()
        assert refused.value.code == "conflict"
        assert node_of(first) in refused.value.message and node_of(second) in refused.value.message
    # Neither the start nor the rounds of one touch what the other has.
    second.stop()
    second.start()
    second.kill9("api")
    atoll.wait_for(lambda: second.pid_of("api"), 30, "a new api process")
    second.wait_ready()
    assert one.exec(made, "echo mine")["stdout"] == "mine\n"
    assert state_in(database, made) == state_in(database, other) == "started"
    # What one server lost, the other does not settle.
    first.stop()
    assert second.api().exec(other, "echo mine")["stdout"] == "mine\n"
    assert state_in(database, made) == "started"
    first.start()
    one = first.api()
    assert one.exec(made, "echo found")["stdout"] == "found\n"
    one.remove(made)
    assert state_in(database, made) == "deleted" and state_in(database, other) == "started"


def test_two_servers_that_start_at_once_on_an_empty_database(database):
    flags = ["--store", database.dsn, "--cells", "1"]
    servers = [atoll.Server(flags=flags + ["--network-subnet", f"10.{235 + i}.0.0/16"]) for i in range(2)]
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.wait_ready()
        assert server.api().get(PATH)["items"] == []
    for server in servers:
        server.remove_all()


def test_clients_of_two_servers_that_want_the_same_keys_get_the_same_sandboxes(serve, database):
    servers = [serve(0), serve(1)]
    key = servers[0].key
    keys = [f"workspace:{i}" for i in range(6)]
    found, wrong = {name: set() for name in keys}, []

    def work(number):
        api = servers[number % 2].api(key, timeout=40)
        for turn in range(18):
            name = keys[(turn + number // 2) % len(keys)]
            try:
                lease = api.post("/v1/leases/acquire", {"key": name, "internet": False})
                assert lease["status"] == "ready"
                found[name].add((lease["sandbox_id"], lease["node"]))
            except (atoll.ApiError, AssertionError) as error:
                if getattr(error, "status", 0) != 503:  # too many wait for the other server: ask again
                    wrong.append(error)
        api.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a client hangs"
    assert not wrong
    assert all(len(sandboxes) == 1 for sandboxes in found.values()), found
    living = database.rows("SELECT id FROM sandboxes WHERE actual NOT IN ('deleting', 'deleted', 'failed')")
    assert sorted(living) == sorted(sandbox for sandboxes in found.values() for sandbox, _ in sandboxes)
    for sandboxes in found.values():
        (sandbox, node), = sandboxes
        owner, other = sorted(servers, key=lambda server: node_of(server) != node)
        assert owner.api(key).exec(sandbox, "echo here")["stdout"] == "here\n"
        with pytest.raises(atoll.ApiError) as refused:
            other.api(key).exec(sandbox, "true")
        assert refused.value.code == "conflict" and node in refused.value.message


def test_a_build_and_its_template_belong_to_the_server_that_made_them(serve, database):
    builds = "/api/sandbox/templates/builds"
    one, two = (serve(number).api() for number in range(2))
    spec = {"name": "built", "from": "host", "internet": False}
    made = one.post(builds, {**spec, "steps": [{"type": "run", "command": "echo here > /opt-here"}]})["id"]
    atoll.wait_for(lambda: two.get(f"{builds}/{made}")["status"] == "ready", 60, "the build, as the other sees it")
    assert "done in" in two.get(f"{builds}/{made}/logs")["lines"][-2]["text"]
    with one.sandbox(template="built", internet=False) as box:
        assert one.exec(box, "cat /opt-here")["stdout"] == "here\n"
    with pytest.raises(atoll.ApiError) as refused:
        two.create(template="built", internet=False)
    assert refused.value.status == 409 and "was built on node" in refused.value.message
    # The same steps are executed there once more: layers are a server's own.
    again = two.post(builds, {**spec, "name": "other",
                              "steps": [{"type": "run", "command": "echo here > /opt-here"}]})["id"]
    atoll.wait_for(lambda: two.get(f"{builds}/{again}")["status"] == "ready", 20, "the second build")
    assert two.get(f"{builds}/{again}")["cached_count"] == 0
    running = one.post(builds, {**spec, "name": "long", "steps": [{"type": "run", "command": "sleep 60"}]})["id"]
    with pytest.raises(atoll.ApiError) as refused:
        two.post(f"{builds}/{running}/cancel")
    assert refused.value.status == 409 and "is on node" in refused.value.message
    assert one.post(f"{builds}/{running}/cancel")["status"] == "cancelled"
    one.delete("/api/sandbox/templates/built")
    two.delete("/api/sandbox/templates/other")


def test_a_stream_at_one_server_ends_when_the_other_removes_the_member(serve):
    first, second = serve(0), serve(1)
    api = first.api()
    email = "bob@example.com"
    for address in ("boss@example.com", email):
        api.post("/v1/users", {"email": address, "password": PASSWORD})
    api.post("/v1/projects/default/members", {"user": "boss@example.com", "role": "admin"})
    api.post("/v1/projects/default/members", {"user": email, "role": "member"})
    key = api.post("/api/sandbox/keys", {"name": "streams", "member": email, "scopes": ["sandbox:read"]})["key"]
    person = Browser(second)
    person.sign_in(email=email, password=PASSWORD)
    with event_stream(second, cookie_headers(person)) as of_session, event_stream(second, key=key) as of_key, \
            event_stream(second, key=first.key) as of_admin:
        for stream in (of_session, of_key):
            assert_goes_on(stream)
        since = time.monotonic()
        api.delete(f"/v1/projects/default/members/{email}")
        for stream in (of_session, of_key):
            assert_ends(stream, since)
        while (status := second.api(key).raw("GET", PATH).status) == 200:
            assert time.monotonic() - since < WITHIN_S, "the key goes on"
            time.sleep(0.05)
        assert status == 401
        assert_goes_on(of_admin)
    api.close()
