/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/launcher.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "broker/host/host.h"
#include "wire/task.h"

int launcher_open(struct host *host, struct error *err)
{
	struct stat status;

	if (fstat(LAUNCH_FD, &status) < 0 || !S_ISSOCK(status.st_mode) ||
	    fcntl(LAUNCH_FD, F_SETFD, FD_CLOEXEC) < 0)
		return FAIL(err, ERROR_INVALID, "the broker is started by atoll-launch");
	host->launcher_fd = LAUNCH_FD;
	return 0;
}

static int send_request(const struct host *host, enum launch_kind kind, const void *request,
                        const struct wire_fds *fds, struct error *err)
{
	const struct launch_head head = {.kind = kind};
	size_t size = launch_request_size(kind);
	AUTO(buf_done) struct buf packet = BUF(sizeof(head) + size);

	buf_add(&packet, &head, sizeof(head));
	if (size > 0)
		buf_add(&packet, request, size);
	return wire_send_packet(host->launcher_fd, buf_span(&packet), fds, DEADLINE_NEVER, err);
}

static int take_answer(const struct host *host, struct launch_answer *ret, struct wire_fds *ret_fds,
                       struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(*ret) + 1);

	if (wire_receive_packet(host->launcher_fd, DEADLINE_NEVER, &packet, ret_fds, err) < 0)
		return -1;
	if (packet.size != sizeof(*ret)) {
		wire_fds_close(ret_fds);
		return FAIL(err, ERROR_SYSTEM, "the answer of atoll-launch is malformed");
	}
	memcpy(ret, packet.data, sizeof(*ret));
	ret->err.where = HERE; /* an address in the other program */
	return 0;
}

int launcher_call(const struct host *host, enum launch_kind kind, const void *request,
                  const struct wire_fds *fds, struct launcher_result *ret, struct error *err)
{
	struct launcher_result ignored, *got = ret ? ret : &ignored;

	*got = (struct launcher_result){.fds.count = 0};
	if (send_request(host, kind, request, fds, err) < 0 ||
	    take_answer(host, &got->answer, &got->fds, err) < 0)
		return FAIL_CONTEXT(err, "ask atoll-launch");
	if (!ret || got->answer.err.code != ERROR_NONE)
		wire_fds_close(&got->fds);
	if (got->answer.err.code == ERROR_NONE)
		return 0;
	*err = got->answer.err;
	return -1;
}

int launcher_open_fd(const struct host *host, enum launch_kind kind, const void *request,
                     const struct wire_fds *fds, int *ret_fd, struct error *err)
{
	struct launcher_result got;

	if (launcher_call(host, kind, request, fds, &got, err) < 0)
		return -1;
	if (got.fds.count != 1) {
		wire_fds_close(&got.fds);
		return FAIL(err, ERROR_SYSTEM, "the answer of atoll-launch is malformed");
	}
	*ret_fd = got.fds.fds[0];
	return 0;
}

int launcher_channel(const struct host *host, int *ret_fd, struct error *err)
{
	return launcher_open_fd(host, LAUNCH_CHANNEL, NULL, NULL, ret_fd, err);
}

int launcher_use(const struct host *host, int channel_fd, struct error *err)
{
	if (dup3(channel_fd, host->launcher_fd, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "use a channel to atoll-launch");
	(void)close(channel_fd);
	return 0;
}

int launcher_file(const struct host *host, pid_t pid, enum launch_file file, int *ret_fd,
                  struct error *err)
{
	const struct launch_process request = {.pid = pid, .file = file};

	return launcher_open_fd(host, LAUNCH_PROCESS, &request, NULL, ret_fd, err);
}

void launcher_reap(const struct host *host, int pidfd, siginfo_t *ret)
{
	struct launcher_result got;
	struct error err = {0};

	*ret = (siginfo_t){0};
	if (fd_wait(pidfd, POLLIN, DEADLINE_NEVER, &err) < 0 ||
	    launcher_call(host, LAUNCH_WAIT, NULL, &(struct wire_fds){.fds = {pidfd}, .count = 1},
	                  &got, &err) < 0)
		return;
	ret->si_pid = got.answer.ended.pid;
	ret->si_code = got.answer.ended.code;
	ret->si_status = got.answer.ended.status;
}

void program_hand_on(struct program *program, int fd, unsigned place)
{
	assert(program->fds.count < LAUNCH_TASK_FDS_MAX);
	program->places[program->fds.count] = place;
	program->fds.fds[program->fds.count++] = fd;
}

int program_start(const struct host *host, const struct program *program, pid_t *ret_pid,
                  int *ret_pidfd, struct error *err)
{
	struct launch_task request = {
	        .kind = program->kind, .is_idle = program->is_idle, .count = program->count};
	struct launcher_result got;

	memcpy(request.places, program->places, sizeof(request.places));
	for (size_t i = 0, size = 0, word; i < program->count; i++, size += word) {
		word = strlen(program->words[i]) + 1;
		if (word > sizeof(request.words) - size)
			return FAIL(err, ERROR_TOO_LARGE, "the words of a program are too long");
		memcpy(request.words + size, program->words[i], word);
	}
	if (launcher_call(host, LAUNCH_TASK, &request, &program->fds, &got, err) < 0)
		return -1;
	assert(got.fds.count == 1);
	*ret_pid = got.answer.pid;
	*ret_pidfd = got.fds.fds[0];
	return 0;
}
