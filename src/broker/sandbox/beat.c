/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that hears of no server for `--orphan-timeout` ends its sandbox. The broker sends four
 * beats in that time, round-robin, so that thousands of sandboxes cost it only a few connections at
 * once. A frozen agent does not count time and gets no beat. */
#include "broker/sandbox/beat.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/bytes.h"
#include "broker/host/host.h"
#include "broker/host/options.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "wire/agent_beat.h"

#define TURNS 16
#define BEATS_IN_TIMEOUT 4
#define TURN_MIN_MS 20

static int send_to_agent(const struct sandbox *sandbox, uint16_t type,
                         const struct wire_member *shape, const void *message, int *ret_fd,
                         struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(64);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/agent.sock",
	               sandbox->sandboxes->host->folders[FOLDER_RUN_SANDBOXES], sandbox->id);
	memcpy(address.sun_path, path, sizeof(path));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "connect to the agent of '%s'", sandbox->id);
	if (wire_encode(&frame, type, shape, message, err) < 0)
		return -1;
	if (send(fd, frame.data, frame.size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return FAIL_ERRNO(err, "send message %u to the agent of '%s'", type, sandbox->id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int sandbox_ask_to_stop(struct sandbox *sandbox, uint64_t grace_ms, struct error *err)
{
	const struct agent_stop stop = {.grace_ms = grace_ms};

	return send_to_agent(sandbox, AGENT_STOP, agent_stop_shape, &stop, &sandbox->stop_fd, err);
}

/* An agent that misses this beat gets the next one, or ends in time. */
static void send_beat(const struct sandbox *sandbox)
{
	const struct agent_beat beat = {
	        .bound_ms = (uint64_t)sandbox->sandboxes->host->options->orphan_timeout_s * 1000};
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	if (sandbox->phase == SANDBOX_RUNNING && !sandbox->paused)
		(void)!send_to_agent(sandbox, AGENT_BEAT, agent_beat_shape, &beat, &fd, &ignored);
}

static int64_t turn_ms(const struct sandboxes *b)
{
	int64_t ms = (int64_t)b->host->options->orphan_timeout_s * 1000 / BEATS_IN_TIMEOUT / TURNS;

	return ms > TURN_MIN_MS ? ms : TURN_MIN_MS;
}

static void on_turn(struct timer *timer)
{
	struct beats *beats = CONTAINER_OF(timer, struct beats, timer);
	const struct sandboxes *b = beats->sandboxes;
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	beats->round = (beats->round + 1) % TURNS;
	while ((sandbox = map_next(&b->by_id, &at, &id)))
		if (sandbox->slot % TURNS == beats->round)
			send_beat(sandbox);
	timer_start(b->events, timer, turn_ms(b));
}

/* With a timeout of 0, sandboxes of an earlier broker are told once that their timeout is gone. */
void beats_begin(struct beats *beats, const struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	while ((sandbox = map_next(&b->by_id, &at, &id)))
		send_beat(sandbox);
	*beats = (struct beats){.sandboxes = b, .timer.on_time = on_turn};
	if (b->host->options->orphan_timeout_s > 0)
		timer_start(b->events, &beats->timer, turn_ms(b));
}

void beats_end(struct beats *beats)
{
	timer_stop(&beats->timer);
}
