/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/native/broker_follow.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "provider/native/broker_client.h"
#include "provider/native/broker_provider.h"
#include "provider/template_progress.h"
#include "provider/templates.h"
#include "wire/broker.h"
#include "wire/broker_template.h"

#define CLEAN_UP_MS 10000 /* for the end of a call that was given up */
#define LOOK_MS 1000

/* Reads to the end of the lines, which is when the builder has ended. */
static int follow_lines(int fd, const struct broker_followed *f, struct template_progress *progress,
                        struct error *err)
{
	char bytes[4096];

	for (;;) {
		int64_t look_at = f->is_given_up ? deadline_after(LOOK_MS) : f->deadline;
		int ready = fd_wait(fd, POLLIN, look_at < f->deadline ? look_at : f->deadline, err);
		if (f->is_given_up && f->is_given_up(f->context))
			return FAIL(err, ERROR_CONFLICT, "given up");
		if (ready == 0 && clock_monotonic_ms() < f->deadline)
			continue;
		if (ready == 0)
			return FAIL(err, ERROR_TIMEOUT, "not done in time");
		ssize_t got = ready < 0 ? -1 : read(fd, bytes, sizeof(bytes));
		if (got == 0)
			return 0;
		if (got > 0)
			template_progress_take(progress, (struct span){bytes, (size_t)got});
		else if (ready < 0)
			return -1;
		else if (errno != EINTR)
			return FAIL_ERRNO(err, "read progress");
	}
}

/* `lines`: the reading end of what fds[0] writes. */
static int follow_call(struct provider *p, const struct broker_followed *f, int *lines,
                       struct wire_fds *fds, struct error *err)
{
	AUTO(template_progress_done) struct template_progress progress =
	        TEMPLATE_PROGRESS(f->on_progress, f->context);
	struct error failure = {0};
	struct broker_waiter *waiter = NULL;
	struct broker_call call = {
	        .type = f->type, .shape = f->shape, .message = f->message, .fds = fds};

	progress.on_size = f->on_size;
	if (broker_client_begin(broker_provider_client(p), &call, f->deadline, &waiter, err) < 0)
		return -1;
	/* Closes the writing end here, or the reader would never see the end of the lines. */
	fd_forget(&fds->fds[0]);
	int followed = follow_lines(*lines, f, &progress, &failure);
	/* The builder ends when the pipe of its lines has no reader. */
	fd_forget(lines);
	int ret = broker_client_end(broker_provider_client(p), &call, waiter,
	                            deadline_after(CLEAN_UP_MS), err);
	if (ret == 0)
		return 0;
	if (followed < 0)
		*err = failure;
	else if (progress.failure.code != ERROR_NONE)
		*err = progress.failure;
	return -1;
}

int broker_provider_follow(struct provider *p, const struct broker_followed *f, struct error *err)
{
	struct wire_fds fds = {.count = 1};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	assert(fds.count + f->fd_count <= COUNT_OF(fds.fds));
	fds.fds[0] = ends[1];
	for (unsigned i = 0; i < f->fd_count; i++)
		fds.fds[fds.count++] = f->fds[i];
	int ret = follow_call(p, f, &ends[0], &fds, err);
	auto_close(&ends[0]);
	auto_close(&fds.fds[0]);
	return ret;
}

static const enum broker_template_verb wire_template_verbs[] = {
        [PROVIDER_TEMPLATE_BUILD] = BROKER_TEMPLATE_BUILD,
        [PROVIDER_TEMPLATE_IMPORT] = BROKER_TEMPLATE_IMPORT,
        [PROVIDER_TEMPLATE_REMOVE] = BROKER_TEMPLATE_REMOVE,
};

int broker_provider_template(struct provider *p, const struct provider_template *request,
                             int64_t deadline, struct error *err)
{
	struct broker_template message = {
	        .verb = wire_template_verbs[request->verb],
	        .name = request->name,
	        .recipe = request->recipe,
	        .source = request->source,
	        .known_digest = request->known_digest,
	        .size_max = request->size_max,
	};
	const struct broker_followed call = {
	        .type = BROKER_TEMPLATE,
	        .shape = broker_template_shape,
	        .message = &message,
	        .fds = &request->source_fd,
	        .fd_count = request->source_fd < 0 ? 0 : 1,
	        .on_progress = request->on_progress,
	        .on_size = request->on_size,
	        .is_given_up = request->is_given_up,
	        .context = request->context,
	        .deadline = deadline,
	};

	/* The caller knows a name that says more than the folder's. */
	return broker_provider_follow(p, &call, err);
}
