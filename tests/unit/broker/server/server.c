/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's connections: who reads late gets everything, and who never reads is cut off. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/host/options.h"
#include "broker/server/state.h"
#include "unit.h"
#include "wire/broker.h"

/* A broker that has nothing but its server. */
struct fixture {
	struct broker broker;
	struct broker_options options;
	struct timer end;
	char folder[32];
	int peer;
};

static void on_end(struct timer *timer)
{
	struct events *events = &CONTAINER_OF(timer, struct fixture, end)->broker.events;

	events->stopping = true;
	timer_start(events, timer, 1); /* the loop looks after its next wait */
}

static void run(struct fixture *f)
{
	struct error err = {0};

	f->end.on_time = on_end;
	timer_start(&f->broker.events, &f->end, 5);
	f->broker.events.stopping = false;
	assert_int_equal(events_run(&f->broker.events, &err), 0);
	timer_stop(&f->end);
}

static void setup(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error err = {0};

	*f = (struct fixture){.folder = "/tmp/atoll-server-XXXXXX"};
	assert_non_null(mkdtemp(f->folder));
	f->broker.host.folders[FOLDER_RUN] = open(f->folder, O_DIRECTORY | O_CLOEXEC);
	f->options = (struct broker_options){.uid = geteuid(), .gid = getegid()};
	f->broker.host.options = &f->options;
	assert_int_equal(events_open(&f->broker.events, &err), 0);
	assert_int_equal(server_open(&f->broker, &err), 0);
	f->peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/broker.sock", f->folder);
	assert_int_equal(connect(f->peer, (struct sockaddr *)&address, sizeof(address)), 0);
	run(f);
}

static void teardown(struct fixture *f)
{
	close(f->peer);
	server_close(&f->broker);
	events_close(&f->broker.events);
	close(f->broker.host.folders[FOLDER_RUN]);
	assert_int_equal(rmdir(f->folder), 0);
}

static void send_number(struct fixture *f, uint64_t number)
{
	struct broker_id id = {.request = number, .sandbox = "x"};

	server_send_all(&f->broker, BROKER_LIST, broker_id_shape, &id);
}

/* False: nothing is there now, or the connection has ended (*ret_ended). */
static bool receive_number(struct fixture *f, uint64_t *ret, bool *ret_ended)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct wire_fds fds = {.count = 0};
	struct span in, payload;
	struct error err = {0};
	AUTO(arena_done) struct arena a = {0};
	struct broker_id id;
	uint16_t type;

	if (wire_receive_packet(f->peer, deadline_after(0), &packet, &fds, &err) < 0) {
		*ret_ended = err.code == ERROR_UNAVAILABLE;
		return false;
	}
	in = buf_span(&packet);
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
	assert_int_equal(wire_decode(&a, payload, broker_id_shape, &id, sizeof(id), &err), 0);
	*ret = id.request;
	return true;
}

TEST(who_reads_late_gets_everything_in_order)
{
	struct fixture fixture, *f = &fixture;
	uint64_t got, next = 0;
	bool ended = false;

	setup(f);
	for (uint64_t i = 0; i < 20000; i++)
		send_number(f, i);
	while (next < 20000) {
		if (receive_number(f, &got, &ended)) {
			assert_int_equal(got, next);
			next++;
		} else {
			assert_false(ended);
			run(f);
		}
	}
	/* And what comes afterwards goes out at once. */
	send_number(f, next);
	assert_true(receive_number(f, &got, &ended));
	assert_int_equal(got, next);
	teardown(f);
}

TEST(who_never_reads_is_cut_off)
{
	struct fixture fixture, *f = &fixture;
	uint64_t got, count = 0;
	bool ended = false;

	setup(f);
	while (f->broker.server.connections.next != &f->broker.server.connections) {
		send_number(f, count++);
		assert_true(count < 10000000);
	}
	assert_true(count > 100000);
	while (receive_number(f, &got, &ended))
		;
	assert_true(ended);
	teardown(f);
}

int main(void)
{
	return RUN(CASE(who_reads_late_gets_everything_in_order), CASE(who_never_reads_is_cut_off));
}
