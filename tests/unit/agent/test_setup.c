/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/setup.h"
#include "base/clock.h"
#include "isolation/apply.h"
#include "isolation/identity.h"
#include "isolation/plan.h"
#include "wire/agent.h"

#define PATIENCE_MS 10000

/* The agent's side in a child; 0 when it says that it is set up. */
struct conversation {
	int fd;
	pid_t agent;
};

/* As the agent's loop does: when something comes, or the broker has gone. */
static int take_claim(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct error err;

	(void)poll(&wait, 1, PATIENCE_MS);
	return setup_claim(fd, &err) < 0 ? 2 : 3;
}

/* What the plan would have made, in a mount namespace of our own. */
static void make_files(void)
{
	static const char *const names[] = {"hostname", "hosts", "machine-id"};
	char path[64];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 || mkdir(ISOLATION_FILES, 0755) < 0)
		_exit(77);
	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		(void)snprintf(path, sizeof(path), ISOLATION_FILES "/%s", names[i]);
		if (close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
			_exit(77);
	}
}

static bool has_files; /* the next agent */

static struct conversation start(void)
{
	struct error err;
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(fds[0]);
		AUTO(buf_done) struct buf wish = BUF(64);
		struct isolation_prepared prepared = ISOLATION_PREPARED_NONE;
		const struct error none = {0};
		struct setup_result got;

		if (has_files)
			make_files();
		if (setup_run(fds[1], &(struct setup_begun){&prepared, &none}, &got, &wish, &err) <
		    0)
			_exit(1);
		_exit(got.claim_fd >= 0 ? take_claim(got.claim_fd) : 0);
	}
	(void)close(fds[1]);
	return (struct conversation){fds[0], pid};
}

static int finish(struct conversation *c)
{
	int status;

	(void)close(c->fd);
	assert_int_equal(waitpid(c->agent, &status, 0), c->agent);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void say(struct conversation *c, uint16_t type, const struct wire_member *shape,
                const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(65536);
	struct error err;

	assert_int_equal(wire_encode(&frame, type, shape, message, &err), 0);
	assert_int_equal(
	        wire_send_packet(c->fd, buf_span(&frame), NULL, deadline_after(PATIENCE_MS), &err),
	        0);
}

static uint16_t hear(struct conversation *c)
{
	AUTO(buf_done) struct buf packet = BUF(65536);
	struct span in, payload;
	struct error err;
	uint16_t type;

	assert_int_equal(
	        wire_receive_packet(c->fd, deadline_after(PATIENCE_MS), &packet, NULL, &err), 0);
	in = buf_span(&packet);
	assert_int_equal(wire_next(&in, &type, &payload, NULL, &err), 1);
	return type;
}

TEST(an_agent_without_steps_is_ready_at_once)
{
	struct conversation c = start();

	say(&c, AGENT_DONE, agent_done_shape, &(struct agent_done){0});
	assert_int_equal(hear(&c), AGENT_READY);
	assert_int_equal(finish(&c), 0);
}

static void say_at_once(struct conversation *c, const uint16_t *types, unsigned count)
{
	AUTO(buf_done) struct buf frames = BUF(65536);
	struct error err;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(wire_encode(&frames, types[i], agent_done_shape,
		                             &(struct agent_done){0}, &err),
		                 0);
	assert_int_equal(
	        wire_send_packet(c->fd, buf_span(&frames), NULL, deadline_after(PATIENCE_MS), &err),
	        0);
}

TEST(frames_may_share_a_packet_but_none_may_follow_the_last)
{
	AUTO(buf_done) struct buf frames = BUF(65536);
	struct setup_step step = {.kind = STEP_KIND_COUNT};
	struct conversation c = start();
	struct error err;

	for (int i = 0; i < 3; i++)
		assert_int_equal(wire_encode(&frames, AGENT_SETUP, setup_step_shape, &step, &err),
		                 0);
	assert_int_equal(wire_encode(&frames, AGENT_DONE, agent_done_shape,
	                             &(struct agent_done){.count = 3}, &err),
	                 0);
	assert_int_equal(
	        wire_send_packet(c.fd, buf_span(&frames), NULL, deadline_after(PATIENCE_MS), &err),
	        0);
	/* All were read: it is the first of them that fails. */
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
	c = start();
	say_at_once(&c, (const uint16_t[]){AGENT_DONE, AGENT_DONE}, 2);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(a_packet_that_ends_within_a_frame_ends_the_set_up)
{
	AUTO(buf_done) struct buf frame = BUF(65536);
	struct conversation c = start();
	struct error err;

	assert_int_equal(
	        wire_encode(&frame, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, &err),
	        0);
	frame.size--;
	assert_int_equal(
	        wire_send_packet(c.fd, buf_span(&frame), NULL, deadline_after(PATIENCE_MS), &err),
	        0);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(a_step_that_fails_is_told_and_ends_the_agent)
{
	struct conversation c = start();
	struct setup_step step = {.kind = STEP_KIND_COUNT};

	say(&c, AGENT_SETUP, setup_step_shape, &step);
	say(&c, AGENT_DONE, agent_done_shape, &(struct agent_done){.count = 1});
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(what_is_no_step_ends_the_set_up)
{
	struct conversation c = start();

	say(&c, AGENT_PING, NULL, NULL);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
	c = start();
	say(&c, AGENT_SETUP, NULL, NULL);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(too_many_steps_are_refused)
{
	struct conversation c = start();
	struct setup_step step = {.kind = STEP_KIND_COUNT};

	for (int i = 0; i < PLAN_STEPS_MAX + 1; i++)
		say(&c, AGENT_SETUP, setup_step_shape, &step);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(an_agent_whose_broker_goes_away_ends)
{
	struct conversation c = start();

	assert_int_equal(finish(&c), 1);
}

static void say_claim(struct conversation *c)
{
	say(c, AGENT_CLAIM, NULL, NULL);
}

/* One that has the files: makes a mount namespace, which takes root. */
static struct conversation start_prepared(void)
{
	struct conversation c;

	if (geteuid() != 0)
		skip();
	has_files = true;
	c = start();
	has_files = false;
	say(&c, AGENT_PREPARE, NULL, NULL);
	return c;
}

/* It hands over the files that say who it is, which are written before the claim. */
static void hear_files(struct conversation *c)
{
	const struct isolation_identity identity = {"box", "0"};
	AUTO(buf_done) struct buf packet = BUF(65536);
	struct wire_fds fds = {.count = 0};
	struct error err;
	struct stat status;

	assert_int_equal(
	        wire_receive_packet(c->fd, deadline_after(PATIENCE_MS), &packet, &fds, &err), 0);
	assert_int_equal(fds.count, ISOLATION_IDENTITY_FILES);
	assert_int_equal(isolation_identify(fds.fds, &identity, &err), 0);
	assert_int_equal(fstat(fds.fds[0], &status), 0);
	assert_int_equal(status.st_size, strlen("box\n"));
	wire_fds_close(&fds);
}

TEST(a_prepared_agent_is_ready_and_waits_for_its_claim)
{
	struct conversation c = start_prepared();

	hear_files(&c);
	say_claim(&c);
	assert_int_equal(finish(&c), 3);
}

TEST(a_prepared_agent_without_files_that_say_who_it_is_fails)
{
	struct conversation c = start();

	say(&c, AGENT_PREPARE, NULL, NULL);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

TEST(a_prepared_agent_whose_broker_goes_away_ends)
{
	struct conversation c = start_prepared();

	hear_files(&c);
	assert_int_equal(finish(&c), 2);
}

TEST(what_is_no_claim_ends_a_prepared_agent)
{
	struct conversation c = start_prepared();

	hear_files(&c);
	say(&c, AGENT_DONE, agent_done_shape, &(struct agent_done){0});
	assert_int_equal(finish(&c), 2);
}

TEST(an_agent_that_is_not_prepared_takes_no_claim)
{
	struct conversation c = start();

	say_claim(&c);
	assert_int_equal(hear(&c), AGENT_FAILED);
	assert_int_equal(finish(&c), 1);
}

int main(void)
{
	return RUN(CASE(a_prepared_agent_is_ready_and_waits_for_its_claim),
	           CASE(a_prepared_agent_without_files_that_say_who_it_is_fails),
	           CASE(a_prepared_agent_whose_broker_goes_away_ends),
	           CASE(what_is_no_claim_ends_a_prepared_agent),
	           CASE(an_agent_that_is_not_prepared_takes_no_claim),
	           CASE(an_agent_without_steps_is_ready_at_once),
	           CASE(frames_may_share_a_packet_but_none_may_follow_the_last),
	           CASE(a_packet_that_ends_within_a_frame_ends_the_set_up),
	           CASE(a_step_that_fails_is_told_and_ends_the_agent),
	           CASE(what_is_no_step_ends_the_set_up), CASE(too_many_steps_are_refused),
	           CASE(an_agent_whose_broker_goes_away_ends));
}
