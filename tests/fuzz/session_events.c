/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a server sends, in whatever pieces: events are taken or refused. */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>

#include "cli/core/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how the rest is cut. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int nowhere = -1;
	struct session_events events;
	size_t piece = size > 0 ? data[0] + 1u : 1;
	struct error err;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	session_events_init(&events);
	events.out_fd = events.err_fd = nowhere;
	for (size_t at = 1; at < size; at += piece) {
		size_t left = size - at;
		struct span bytes = {(const char *)data + at, left < piece ? left : piece};

		if (session_events_add(&events, bytes, &err) < 0)
			break;
	}
	assert(events.status >= 0 && events.status <= 255);
	event_lines_done(&events.lines);
	return 0;
}
