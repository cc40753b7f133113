/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/events.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "edge/text.h"
#include "surface/envd/connect.h"
#include "wire/agent_cause.h"

void events_write_start(struct buf *out, uint32_t pid)
{
	size_t begun = connect_begin_envelope(out);

	buf_addf(out, "{\"event\":{\"start\":{\"pid\":%u}}}", pid);
	connect_end_envelope(out, begun, 0);
}

void events_write_data(struct buf *out, const char *stream, struct span bytes)
{
	size_t begun = connect_begin_envelope(out);

	buf_addf(out, "{\"event\":{\"data\":{\"%s\":\"", stream);
	text_write_base64(out, bytes);
	buf_add_text(out, "\"}}}");
	connect_end_envelope(out, begun, 0);
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
	char status[64];

	if (p->signal)
		format_signal(p->signal, status, sizeof(status));
	else
		(void)snprintf(status, sizeof(status), "exit status %" PRId64, p->exit_code);
	buf_add_text(out, "{\"event\":{\"end\":{");
	if (p->signal)
		buf_add_text(out, "\"exitCode\":-1,");
	else if (p->exit_code)
		buf_addf(out, "\"exited\":true,\"exitCode\":%" PRId64 ",", p->exit_code);
	else
		buf_add_text(out, "\"exited\":true,");
	buf_addf(out, "\"status\":\"%s\"", status);
	if (p->signal || p->exit_code)
		buf_addf(out, ",\"error\":\"%s%s%s\"", status, why ? ": " : "", why ? why : "");
	buf_add_text(out, "}}}");
	connect_end_envelope(out, begun, 0);
}
