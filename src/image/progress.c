/* SPDX-License-Identifier: Apache-2.0 */
#include "image/progress.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_ 512

static void send_line(int fd, char *line, size_t size)
{
	if (fd < 0)
		return;
	if (size > LINE_MAX_ - 2)
		size = LINE_MAX_ - 2;
	for (size_t i = 0; i < size; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
			line[i] = ' ';
	line[size] = '\n';
	(void)!write(fd, line, size + 1);
}

void progress_tell(int fd, int percent, const char *text)
{
	char line[LINE_MAX_];

	send_line(fd, line, (size_t)snprintf(line, sizeof(line), "%d %s", percent, text));
}

void progress_tell_size(int fd, int64_t bytes)
{
	char line[LINE_MAX_];

	send_line(fd, line, (size_t)snprintf(line, sizeof(line), "size %lld", (long long)bytes));
}

void progress_fail(int fd, const struct error *err)
{
	char line[LINE_MAX_];
	const char *separator = err->hint[0] ? "\t" : "";

	send_line(fd, line,
	          (size_t)snprintf(line, sizeof(line), "error %s %s%s%s",
	                           error_kind_get(err->code)->name, err->text, separator,
	                           err->hint));
}

bool progress_is_abandoned(int fd)
{
	struct pollfd p = {.fd = fd, .events = 0};

	return fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP);
}
