/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/fd.h"

static void pass_time(void)
{
	(void)usleep(1000);
}

/* ---- the agent ---- */

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

static void be_agent(const struct box *b, enum box_kind kind, int listener)
{
	char fd[16], name[] = "agent", listen_fd[] = "--listen-fd", host_root[] = "--host-root";
	char *argv[] = {name, listen_fd, fd, host_root, (char *)(uintptr_t)b->folder, NULL};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(fd, sizeof(fd), "%d", listener);
	_exit(agent_main(kind == BOX_HOST ? 5 : 3, argv));
}

struct box box_start(enum box_kind kind)
{
	struct box b = {.folder = "/tmp/atoll-agent-XXXXXX",
	                .payload = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX)};
	int listener;

	assert_non_null(mkdtemp(b.folder));
	assert_int_equal(chmod(b.folder, 0755), 0);
	(void)snprintf(b.socket, sizeof(b.socket), "%s.socket", b.folder);
	listener = listen_at(b.socket);
	b.pid = fork();
	assert_true(b.pid >= 0);
	if (b.pid == 0)
		be_agent(&b, kind, listener);
	(void)close(listener);
	return b;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

void box_end(struct box *b)
{
	int status;

	box_wait_for_children(b, 0);
	assert_int_equal(kill(b->pid, SIGTERM), 0);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	assert_int_equal(status, 0);
	box_forget(b);
}

void box_forget(struct box *b)
{
	(void)nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	(void)unlink(b->socket);
	arena_done(&b->arena);
	buf_done(&b->payload);
}

int box_connect(struct box *b)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, b->socket, strlen(b->socket) + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* ---- its folder ---- */

const char *box_path(struct box *b, const char *name)
{
	return arena_format(&b->arena, "%s/%s", b->folder, name);
}

void box_put(struct box *b, const char *name, const char *text)
{
	int fd = open(box_path(b, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

const char *box_get(struct box *b, const char *name)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	AUTO_CLOSE int fd = open(box_path(b, name), O_RDONLY | O_CLOEXEC);
	struct error err;

	if (fd < 0 || fd_read_to_end(fd, &text, &err) < 0)
		return NULL;
	return arena_copy(&b->arena, buf_span(&text));
}

unsigned box_count_entries(struct box *b, const char *name)
{
	DIR *folder = opendir(box_path(b, name));
	struct dirent *item;
	unsigned count = 0;

	assert_non_null(folder);
	while ((item = readdir(folder)))
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
			count++;
	(void)closedir(folder);
	return count;
}

static bool read_stat(pid_t pid, char *ret_state, pid_t *ret_parent)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct error err;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(AT_FDCWD, path, &text, &err) < 0)
		return false;
	return sscanf(strrchr(buf_text(&text), ')') + 1, " %c %d", ret_state, ret_parent) == 2;
}

static unsigned find_children(struct box *b, pid_t *ret_last)
{
	DIR *proc = opendir("/proc");
	struct dirent *item;
	unsigned count = 0;

	while ((item = readdir(proc))) {
		pid_t pid = (pid_t)strtol(item->d_name, NULL, 10), parent;
		char state;

		if (pid <= 0 || !read_stat(pid, &state, &parent) || parent != b->pid ||
		    state == 'Z')
			continue;
		*ret_last = pid;
		count++;
	}
	(void)closedir(proc);
	return count;
}

unsigned box_children(struct box *b)
{
	pid_t last;

	return find_children(b, &last);
}

pid_t box_only_child(struct box *b)
{
	pid_t last = 0;

	assert_int_equal(find_children(b, &last), 1);
	return last;
}

void box_wait_for_children(struct box *b, unsigned count)
{
	int64_t deadline = deadline_after(PATIENCE_MS);

	while (box_children(b) != count) {
		assert_true(clock_monotonic_ms() < deadline);
		pass_time();
	}
}

/* ---- talking ---- */

void say(struct box *b, int fd, uint16_t type, const struct wire_member *shape, const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err;

	(void)b;
	assert_int_equal(wire_encode(&frame, type, shape, message, &err), 0);
	assert_int_equal(wire_send(fd, buf_span(&frame), deadline_after(PATIENCE_MS), &err), 0);
}

void say_raw(struct box *b, int fd, uint16_t type, struct span payload)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err;

	(void)b;
	wire_add_frame(&frame, type, payload);
	assert_int_equal(wire_send(fd, buf_span(&frame), deadline_after(PATIENCE_MS), &err), 0);
}

uint16_t hear_any(struct box *b, int fd)
{
	struct error err;
	uint16_t type;

	if (wire_receive(fd, deadline_after(PATIENCE_MS), &type, &b->payload, &err) < 0)
		fail_msg("%s", err.text);
	return type;
}

void hear(struct box *b, int fd, uint16_t type, const struct heard *heard)
{
	uint16_t got = hear_any(b, fd);
	struct error err;

	if (got == AGENT_FAILED && type != AGENT_FAILED) {
		struct agent_failed failed;

		assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_failed_shape,
		                             &failed, sizeof(failed), &err),
		                 0);
		fail_msg("%s", failed.text);
	}
	assert_int_equal(got, type);
	if (wire_decode(&b->arena, buf_span(&b->payload), heard->shape, heard->message, heard->size,
	                &err) < 0)
		fail_msg("%s", err.text);
}

struct agent_failed hear_failed(struct box *b, int fd)
{
	struct agent_failed failed;

	HEAR(b, fd, AGENT_FAILED, agent_failed, &failed);
	return failed;
}

uint64_t hear_done(struct box *b, int fd)
{
	struct agent_done done;

	HEAR(b, fd, AGENT_DONE, agent_done, &done);
	return done.count;
}

bool hear_end(struct box *b, int fd)
{
	struct error err;
	uint16_t type;

	return wire_receive(fd, deadline_after(PATIENCE_MS), &type, &b->payload, &err) < 0 &&
	       err.code == ERROR_UNAVAILABLE;
}

/* ---- commands ---- */

uint64_t exec_start(struct box *b, int fd, const struct agent_exec *exec)
{
	struct agent_process started;

	say(b, fd, AGENT_EXEC, agent_exec_shape, exec);
	HEAR(b, fd, AGENT_STARTED, agent_process, &started);
	return started.process;
}

static void take_output(struct box *b, struct ran *r)
{
	struct agent_output output;
	struct error err;

	assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_output_shape, &output,
	                             sizeof(output), &err),
	                 0);
	assert_in_range(output.stream, AGENT_STDOUT, AGENT_STDERR);
	buf_add_span(&r->out[output.stream - 1], output.bytes);
}

struct ran exec_finish(struct box *b, int fd)
{
	struct ran r = {.out = {BUF(64 << 20), BUF(64 << 20)}};
	struct error err;
	uint16_t type;

	while ((type = hear_any(b, fd)) == AGENT_OUTPUT)
		take_output(b, &r);
	assert_int_equal(type, AGENT_EXIT);
	assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_process_shape,
	                             &r.process, sizeof(r.process), &err),
	                 0);
	return r;
}

struct ran exec(struct box *b, int fd, const struct agent_exec *exec)
{
	(void)exec_start(b, fd, exec);
	return exec_finish(b, fd);
}

void ran_done(struct ran *r)
{
	buf_done(&r->out[0]);
	buf_done(&r->out[1]);
}

struct agent_exec shell(struct box *b, const char *line)
{
	const char **args = ARENA_ARRAY(&b->arena, const char *, 4);

	args[0] = "sh";
	args[1] = "-c";
	args[2] = line;
	return (struct agent_exec){.args = args, .cwd = ""};
}

struct ran run_shell(struct box *b, const char *line)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_exec command = shell(b, line);

	return exec(b, fd, &command);
}

/* ---- processes ---- */

bool is_dead(pid_t pid)
{
	char state;
	pid_t parent;

	return !read_stat(pid, &state, &parent) || state == 'Z' || state == 'X';
}

void wait_until_dead(pid_t pid)
{
	int64_t deadline = deadline_after(PATIENCE_MS);

	while (!is_dead(pid)) {
		assert_true(clock_monotonic_ms() < deadline);
		pass_time();
	}
}

int wait_for_number(struct box *b, const char *name)
{
	int64_t deadline = deadline_after(PATIENCE_MS);

	for (;;) {
		const char *text = box_get(b, name);

		if (text && strchr(text, '\n'))
			return (int)strtol(text, NULL, 10);
		assert_true(clock_monotonic_ms() < deadline);
		pass_time();
	}
}
