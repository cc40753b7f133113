/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#include "base/random.h"
#include "http/server/outflow.h"

struct pair {
	int ours, theirs;
	struct outflow out;
};

static void open_pair(struct pair *p)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	p->ours = fds[0];
	p->theirs = fds[1];
	outflow_init(&p->out);
}

static void close_pair(struct pair *p)
{
	outflow_done(&p->out);
	close(p->ours);
	close(p->theirs);
}

TEST(small_pieces_wait_for_the_flush_and_leave_together)
{
	struct pair p;
	char room[16];
	const struct span parts[] = {SPAN("ab"), SPAN("c")};

	open_pair(&p);
	outflow_write(&p.out, p.ours, parts, 2);
	outflow_write(&p.out, p.ours, parts, 1);
	assert_int_equal(outflow_size(&p.out), 5);
	assert_int_equal(recv(p.theirs, room, sizeof(room), MSG_DONTWAIT), -1);
	outflow_flush(&p.out, p.ours);
	assert_int_equal(recv(p.theirs, room, sizeof(room), MSG_DONTWAIT), 5);
	assert_memory_equal(room, "abcab", 5);
	assert_null(p.out.queue.data);
	assert_int_equal(p.out.sent, 5);
	close_pair(&p);
}

TEST(what_a_slow_reader_leaves_is_kept_in_order)
{
	enum { SIZE = 3000000 };
	struct pair p;
	char *data = malloc(SIZE), *got = malloc(SIZE);
	size_t sent = 0, received = 0;

	assert_true(data && got);
	random_bytes(data, SIZE);
	open_pair(&p);
	while (received < SIZE) {
		size_t size = sent % 70001 + 1, half;
		ssize_t result;

		if (size > SIZE - sent)
			size = SIZE - sent;
		half = size / 2;
		outflow_write(&p.out, p.ours,
		              (const struct span[]){{data + sent, half},
		                                    {data + sent + half, size - half}},
		              2);
		sent += size;
		result = recv(p.theirs, got + received,
		              SIZE - received < 30000 ? SIZE - received : 30000, MSG_DONTWAIT);
		if (result > 0)
			received += (size_t)result;
		if (p.out.blocked || sent == SIZE)
			outflow_ready(&p.out, p.ours);
	}
	assert_memory_equal(data, got, SIZE);
	assert_int_equal(outflow_size(&p.out), 0);
	free(data);
	free(got);
	close_pair(&p);
}

TEST(a_closed_peer_breaks_the_flow)
{
	struct pair p;
	const struct span part = SPAN("x");

	open_pair(&p);
	close(p.theirs);
	p.theirs = -1;
	outflow_write(&p.out, p.ours, &part, 1);
	outflow_flush(&p.out, p.ours);
	assert_true(p.out.broken);
	outflow_write(&p.out, p.ours, &part, 1);
	assert_int_equal(outflow_size(&p.out), 1);
	close_pair(&p);
}

int main(void)
{
	return RUN(CASE(small_pieces_wait_for_the_flush_and_leave_together),
	           CASE(what_a_slow_reader_leaves_is_kept_in_order),
	           CASE(a_closed_peer_breaks_the_flow));
}
