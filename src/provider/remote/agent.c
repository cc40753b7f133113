/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "provider/agent_health.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/remote/parts.h"
#include "wire/agent.h"
#include "wire/agent_reverse.h"

#define PROGRAM_MAX ((size_t)32 << 20)
#define ANSWER_MS 15000 /* for the first answer of an agent that has just started */
#define ANSWER_PAUSE_MS 30
#define MISSING "no-agent"

_Static_assert(AGENT_TOKEN_MAX == 2 * crypto_auth_hmacsha256_BYTES, "a token fits");
_Static_assert(crypto_auth_hmacsha256_KEYBYTES == 32, "the key has the size of struct remote");

const char *remote_agent_name(const struct remote *r, const struct remote_sandbox *s)
{
	return r->kind->is_agent_named ? s->remote_id : s->id;
}

void remote_agent_token(const struct remote *r, const char *name, char *ret)
{
	unsigned char hash[crypto_auth_hmacsha256_BYTES];

	(void)crypto_auth_hmacsha256(hash, (const unsigned char *)name, strlen(name), r->key);
	hex_encode(hash, sizeof(hash), ret);
}

int remote_agent_load(struct remote *r, struct error *err)
{
	AUTO_CLOSE int fd = open(r->own->program, O_RDONLY | O_CLOEXEC);

	r->agent = BUF(PROGRAM_MAX);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", r->own->program);
	return fd_read_to_end(fd, &r->agent, err);
}

int remote_agent_put(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                     struct error *err)
{
	if (!r->kind->put_file)
		return 0;
	if (r->kind->put_file(r, s, REMOTE_AGENT_PATH, buf_span(&r->agent), deadline, err) < 0)
		return FAIL_CONTEXT(err, "upload the agent into sandbox '%s'", s->id);
	return 0;
}

int remote_agent_end(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                     struct error *err)
{
	const struct remote_program program = {"for p in /proc/[0-9]*; do "
	                                       "test \"$(readlink $p/exe)\" = " REMOTE_AGENT_PATH
	                                       " && kill -9 ${p#/proc/}; "
	                                       "done; true",
	                                       "", deadline};

	return r->kind->run(r, s, &program, err);
}

static int ping_agent(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_pong pong;
	const struct compute_call call = {.type = AGENT_PING,
	                                  WIRE_REPLY(AGENT_PONG, agent_pong_shape, pong)};

	return compute_call(&r->base, id, &arena, &call, deadline, err);
}

static int run_agent(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                     struct error *err)
{
	char script[512], token[AGENT_TOKEN_MAX + 1];
	const struct remote_program program = {script, token, deadline};

	remote_agent_token(r, remote_agent_name(r, s), token);
	(void)snprintf(script, sizeof(script),
	               "test -f %s || { echo " MISSING " >&2; exit 3; }; chmod 0755 %s && "
	               "exec %s --tunnel %d",
	               REMOTE_AGENT_PATH, REMOTE_AGENT_PATH, REMOTE_AGENT_PATH, REMOTE_PORT);
	return r->kind->run(r, s, &program, err);
}

/* The port is taken by an agent that runs already; the first call tells whether it is ours. */
static bool is_running_already(const struct error *err)
{
	return strstr(err->text, strerror(EADDRINUSE)) != NULL;
}

/* The service has started it just now. */
static int await_agent(struct remote *r, const struct remote_sandbox *s, int64_t answer_by,
                       struct error *err)
{
	const struct timespec pause = {.tv_nsec = ANSWER_PAUSE_MS * 1000000L};

	while (ping_agent(r, s->id, answer_by, err) < 0) {
		if (err->code != ERROR_UNAVAILABLE || deadline_poll_ms(answer_by) == 0)
			return FAIL_CONTEXT(err, "start the agent of sandbox '%s'", s->id);
		error_clear(err);
		agent_health_forget(s->id);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int remote_agent_start(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                       struct error *err)
{
	int64_t answer_by = deadline_after(ANSWER_MS);

	answer_by = answer_by < deadline ? answer_by : deadline;
	if (!r->kind->run)
		return await_agent(r, s, answer_by, err);
	int status = run_agent(r, s, deadline, err);

	if (status < 0 && strstr(err->text, MISSING)) {
		error_clear(err);
		if (remote_agent_put(r, s, deadline, err) < 0)
			return -1;
		status = run_agent(r, s, deadline, err);
	}
	if (status < 0 && !is_running_already(err))
		return FAIL_CONTEXT(err, "start the agent of sandbox '%s'", s->id);
	error_clear(err);
	return ping_agent(r, s->id, answer_by, err);
}
