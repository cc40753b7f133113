/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a change on either side. inotify reports local changes; a thread reads a stream of the
 * sandbox's changes. Both only trigger a new scan. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "cli/core/server.h"
#include "cli/sync/sync.h"

/* Changes often come in groups; this pause ends a group. */
#define QUIET_MS 250
#define CROWDS_MAX 8
#define LOOK_EVERY_MS 30000
#define AGAIN_S 1

struct sync_watch {
	const struct http_client_options *server;
	const char *path;
	int inotify, told[2];
};

static bool on_event(void *context, UNUSED struct span piece)
{
	struct sync_watch *w = context;

	/* A full pipe wakes the reader just as well. */
	(void)!write(w->told[1], "x", 1);
	return true;
}

/* Runs until the process ends. */
static void *listen_there(void *argument)
{
	struct sync_watch *w = argument;
	const struct timespec pause = {.tv_sec = AGAIN_S};

	for (;;) {
		struct http_call call = {
		        .method = "GET", .path = w->path, .on_body = on_event, .context = w};
		struct http_answer answer = {0};
		struct http_client *client;
		struct error err = {0};

		if (http_client_open(w->server, &client, &err) == 0) {
			(void)!http_client_call(client, &call, &answer, &err);
			buf_done(&answer.body);
			http_client_close(client);
		}
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

int sync_watch_open(struct folder_sync *s, struct sync_watch **ret)
{
	struct sync_watch *w = ARENA_NEW(s->cli->arena, struct sync_watch);
	pthread_t thread;

	*w = (struct sync_watch){
	        .server = s->cli->server,
	        .path = arena_text(s->cli->arena, sync_url(s, "/files/watch?path=", "",
	                                                   "&recursive=true&stream=ndjson")),
	        .inotify = s->inotify};
	if (pipe2(w->told, O_CLOEXEC | O_NONBLOCK) < 0)
		return FAIL_ERRNO(s->cli->err, "make a pipe");
	errno = pthread_create(&thread, NULL, listen_there, w);
	if (errno)
		return FAIL_ERRNO(s->cli->err, "start a thread");
	(void)pthread_detach(thread);
	*ret = w;
	return 0;
}

static void drain_fd(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}

int sync_watch_wait(struct sync_watch *w, struct error *err)
{
	struct pollfd fds[] = {{.fd = w->inotify, .events = POLLIN},
	                       {.fd = w->told[0], .events = POLLIN}};
	int found = poll(fds, 2, LOOK_EVERY_MS);

	for (int i = 0; found > 0 && i < CROWDS_MAX; i++) {
		drain_fd(w->inotify);
		drain_fd(w->told[0]);
		found = poll(fds, 2, QUIET_MS);
	}
	return found < 0 && errno != EINTR ? FAIL_ERRNO(err, "wait for changes") : 0;
}
