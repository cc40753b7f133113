/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

int cancel_init(struct cancel *c, struct error *err)
{
	atomic_init(&c->is_said, false);
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return c->fd < 0 ? FAIL_ERRNO(err, "eventfd") : 0;
}

void cancel_done(struct cancel *c)
{
	fd_forget(&c->fd);
}

void cancel_say(struct cancel *c)
{
	const uint64_t one = 1;

	if (atomic_exchange(&c->is_said, true))
		return;
	if (write(c->fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes 2^64 - 2 of these */
}

bool cancel_is_said(const struct cancel *c)
{
	return c && atomic_load(&c->is_said);
}

static _Thread_local const struct cancel *current;

void cancel_set_current(const struct cancel *c)
{
	current = c;
}

const struct cancel *cancel_current(void)
{
	return current;
}

int cancel_wait(const struct cancel *c, int fd, short events, int64_t deadline, struct error *err)
{
	struct pollfd entries[2] = {{.fd = fd, .events = events}};
	int count;

	if (!c)
		return fd_wait(fd, events, deadline, err);
	entries[1] = (struct pollfd){.fd = c->fd, .events = POLLIN};
	do
		count = poll(entries, 2, deadline_poll_ms(deadline));
	while ((count < 0 && errno == EINTR) || (count == 0 && deadline_poll_ms(deadline) != 0));
	if (count < 0)
		return FAIL_ERRNO(err, "poll descriptor %d", fd);
	if (entries[1].revents)
		return FAIL(err, ERROR_UNAVAILABLE, "the call was cancelled");
	if (entries[0].revents & POLLNVAL)
		return FAIL(err, ERROR_SYSTEM, "descriptor %d is not open", fd);
	return count > 0;
}
