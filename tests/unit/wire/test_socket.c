/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "wire/wire.h"

struct pair {
	int ours, theirs;
};

static struct pair pair_of(int type)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){fds[0], fds[1]};
}

static void pair_close(struct pair *p)
{
	auto_close(&p->ours);
	auto_close(&p->theirs);
}

static unsigned open_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

TEST(a_sent_frame_is_received)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM);
	AUTO(buf_done) struct buf out = BUF(1024), in = BUF(1024);
	struct error err;
	uint16_t type;

	wire_add_frame(&out, 258, SPAN("hello"));
	wire_add_frame(&out, 2, SPAN(""));
	assert_int_equal(wire_send(p.ours, buf_span(&out), deadline_after(1000), &err), 0);
	assert_int_equal(wire_receive(p.theirs, deadline_after(1000), &type, &in, &err), 0);
	assert_int_equal(type, 258);
	assert_string_equal(buf_text(&in), "hello");
	assert_int_equal(wire_receive(p.theirs, deadline_after(1000), &type, &in, &err), 0);
	assert_int_equal(type, 2);
	assert_int_equal(in.size, 0);
}

TEST(a_deadline_that_has_passed_holds_although_frames_are_there)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM);
	AUTO(buf_done) struct buf out = BUF(1024), in = BUF(1024);
	struct error err;
	uint16_t type;

	wire_add_frame(&out, 258, SPAN("hello"));
	assert_int_equal(wire_send(p.ours, buf_span(&out), deadline_after(1000), &err), 0);
	assert_int_equal(wire_receive(p.theirs, deadline_after(0), &type, &in, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(wire_receive(p.theirs, deadline_after(1000), &type, &in, &err), 0);
}

TEST(the_end_between_frames_is_told_from_one_inside_a_frame)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM), q = pair_of(SOCK_STREAM);
	AUTO(buf_done) struct buf in = BUF(1024);
	struct error err;
	uint16_t type;

	auto_close(&p.ours);
	p.ours = -1;
	assert_int_equal(wire_receive(p.theirs, deadline_after(1000), &type, &in, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_string_equal(err.text, "peer closed");
	assert_int_equal(write(q.ours, "\x05\0\0\0\x01\0\0\0ab", 10), 10);
	auto_close(&q.ours);
	q.ours = -1;
	assert_int_equal(wire_receive(q.theirs, deadline_after(1000), &type, &in, &err), -1);
	assert_string_equal(err.text, "peer closed in the middle of a frame");
}

TEST(a_silent_peer_runs_into_the_deadline_both_ways)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM);
	static char much[4 << 20];
	AUTO(buf_done) struct buf in = BUF(1024);
	struct error err;
	uint16_t type;

	assert_int_equal(wire_receive(p.theirs, deadline_after(5), &type, &in, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(
	        wire_send(p.ours, (struct span){much, sizeof(much)}, deadline_after(5), &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
}

TEST(a_frame_larger_than_the_buffer_is_refused_unread)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM);
	AUTO(buf_done) struct buf out = BUF(1024), in = BUF(16);
	struct error err;
	uint16_t type;

	wire_add_frame(&out, 1, SPAN("more than sixteen bytes"));
	assert_int_equal(wire_send(p.ours, buf_span(&out), deadline_after(1000), &err), 0);
	assert_int_equal(wire_receive(p.theirs, deadline_after(1000), &type, &in, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

TEST(sending_to_a_closed_peer_fails_without_a_signal)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_STREAM), q = pair_of(SOCK_SEQPACKET);
	struct error err;

	auto_close(&p.theirs);
	auto_close(&q.theirs);
	p.theirs = q.theirs = -1;
	assert_int_equal(wire_send(p.ours, SPAN("x"), deadline_after(1000), &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(wire_send_packet(q.ours, SPAN("x"), NULL, deadline_after(1000), &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

TEST(a_packet_carries_descriptors_which_arrive_close_on_exec)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_SEQPACKET);
	AUTO(buf_done) struct buf in = BUF(1024);
	struct wire_fds sent = {.count = 2}, got;
	struct error err;

	assert_int_equal(pipe(sent.fds), 0);
	assert_int_equal(
	        wire_send_packet(p.ours, SPAN("packet"), &sent, deadline_after(1000), &err), 0);
	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(1000), &in, &got, &err), 0);
	assert_string_equal(buf_text(&in), "packet");
	assert_int_equal(got.count, 2);
	assert_int_equal(fcntl(got.fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(sent.fds[1], "!", 1), 1);
	assert_int_equal(read(got.fds[0], (char[1]){0}, 1), 1);
	wire_fds_close(&sent);
	wire_fds_close(&got);
	assert_int_equal(got.count, 0);
}

static void send_too_many(int fd)
{
	int fds[WIRE_FDS_MAX + 1];
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(fds))];
	} control = {0};
	struct iovec data = {(char[1]){'x'}, 1};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof(control)};

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = STDERR_FILENO;
	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fds)),
	                                .cmsg_level = SOL_SOCKET,
	                                .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	assert_int_equal(sendmsg(fd, &message, 0), 1);
}

TEST(too_many_descriptors_are_malformed_and_none_is_left_open)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_SEQPACKET);
	AUTO(buf_done) struct buf in = BUF(1024);
	unsigned before = open_fds();
	struct wire_fds got;
	struct error err;

	send_too_many(p.ours);
	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(1000), &in, &got, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(open_fds(), before);
}

TEST(descriptors_that_nobody_asked_for_are_closed)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_SEQPACKET);
	AUTO(buf_done) struct buf in = BUF(1024);
	unsigned before = open_fds();
	struct wire_fds sent = {.fds = {STDERR_FILENO}, .count = 1};
	struct error err;

	assert_int_equal(wire_send_packet(p.ours, SPAN("x"), &sent, deadline_after(1000), &err), 0);
	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(1000), &in, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(open_fds(), before);
}

TEST(a_packet_socket_tells_its_end_and_its_deadline)
{
	AUTO(pair_close) struct pair p = pair_of(SOCK_SEQPACKET);
	AUTO(buf_done) struct buf in = BUF(4);
	struct error err;

	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(5), &in, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_int_equal(wire_send_packet(p.ours, SPAN("12345"), NULL, deadline_after(9), &err), 0);
	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(1000), &in, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	auto_close(&p.ours);
	p.ours = -1;
	assert_int_equal(recv(p.theirs, (char[8]){0}, 8, 0), 5);
	assert_int_equal(wire_receive_packet(p.theirs, deadline_after(1000), &in, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

int main(void)
{
	return RUN(CASE(a_sent_frame_is_received),
	           CASE(a_deadline_that_has_passed_holds_although_frames_are_there),
	           CASE(the_end_between_frames_is_told_from_one_inside_a_frame),
	           CASE(a_silent_peer_runs_into_the_deadline_both_ways),
	           CASE(a_frame_larger_than_the_buffer_is_refused_unread),
	           CASE(sending_to_a_closed_peer_fails_without_a_signal),
	           CASE(a_packet_carries_descriptors_which_arrive_close_on_exec),
	           CASE(too_many_descriptors_are_malformed_and_none_is_left_open),
	           CASE(descriptors_that_nobody_asked_for_are_closed),
	           CASE(a_packet_socket_tells_its_end_and_its_deadline));
}
