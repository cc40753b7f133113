/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/events.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "json/write.h"
#include "surface/envd/connect.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"

/* {"event":{NAME:{…}}} */
static void begin_event(struct buf *out, const char *name)
{
	json_begin_object(out, NULL);
	json_begin_object(out, "event");
	json_begin_object(out, name);
}

static void end_event(struct buf *out, size_t begun)
{
	for (unsigned depth = 0; depth < 3; depth++)
		json_end_object(out);
	connect_end_envelope(out, begun, 0);
}

void events_write_start(struct buf *out, uint32_t pid)
{
	size_t begun = connect_begin_envelope(out);

	begin_event(out, "start");
	json_add_whole(out, "pid", pid);
	end_event(out, begun);
}

void events_write_data(struct buf *out, const char *stream, struct span bytes)
{
	size_t begun = connect_begin_envelope(out);

	begin_event(out, "data");
	json_add_bytes(out, stream, bytes);
	end_event(out, begun);
}

/* Writes the signal's name as E2B's daemon writes it: clients may compare it. */
static void format_signal(uint32_t signal, char *out, size_t size)
{
	static const char *const names[] = {
	        [SIGHUP] = "hangup",
	        [SIGINT] = "interrupt",
	        [SIGQUIT] = "quit",
	        [SIGILL] = "illegal instruction",
	        [SIGTRAP] = "trace/breakpoint trap",
	        [SIGABRT] = "aborted",
	        [SIGBUS] = "bus error",
	        [SIGFPE] = "floating point exception",
	        [SIGKILL] = "killed",
	        [SIGUSR1] = "user defined signal 1",
	        [SIGSEGV] = "segmentation fault",
	        [SIGUSR2] = "user defined signal 2",
	        [SIGPIPE] = "broken pipe",
	        [SIGALRM] = "alarm clock",
	        [SIGTERM] = "terminated",
	};

	if (signal < COUNT_OF(names) && names[signal])
		(void)snprintf(out, size, "signal: %s", names[signal]);
	else
		(void)snprintf(out, size, "signal: signal %u", signal);
}

/* Omits the defaults, as the JSON form of protocol buffers does: exit code 0 and no error. */
void events_write_end(struct buf *out, const struct agent_process *p)
{
	const char *cause = agent_process_cause(p);
	const char *why = agent_cause_is_limit(cause) ? agent_cause_explain(cause) : NULL;
	size_t begun = connect_begin_envelope(out);
	char status[64], failure[256];

	if (p->signal)
		format_signal(p->signal, status, sizeof(status));
	else
		(void)snprintf(status, sizeof(status), "exit status %" PRId64, p->exit_code);
	(void)snprintf(failure, sizeof(failure), "%s%s%s", status, why ? ": " : "", why ? why : "");
	begin_event(out, "end");
	if (!p->signal)
		json_add_bool(out, "exited", true);
	if (p->signal || p->exit_code)
		json_add_whole(out, "exitCode", p->signal ? -1 : p->exit_code);
	json_add_text(out, "status", status);
	if (p->signal || p->exit_code)
		json_add_text(out, "error", failure);
	end_event(out, begun);
}
