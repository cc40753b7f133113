/* SPDX-License-Identifier: Apache-2.0 */
/* tests/bench/stopwatch.c — times single operations for run.py, so that no interpreter is timed.
 *
 * Reads one order a line, words separated by tabs; answers one line
 * "MICROSECONDS<tab>STATUS<tab>TEXT".
 *
 * - spawn PROGRAM ARG…: posix_spawn until it is reaped; STATUS is the exit status
 * - connect HOST PORT KEY: a keep-alive connection for `http`
 * - http METHOD PATH BODY: until the whole reply is read; TEXT is the body without newlines
 * - cycles SECONDS THREADS BODY_CREATE BODY_EXEC: create, exec, delete in a loop; STATUS = cycles
 * - burst COUNT METHOD PATH BODY: so many at once; STATUS is the worst, TEXT each one's time
 * - upload PATH BYTES, download PATH: zeros up, or a body read and dropped */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES (1 << 16)
#define WORDS_MAX 64
#define BURST_MAX 256

extern char **environ;

struct connection {
	int fd;
	char host[64], key[128];
	uint16_t port;
	char text[1 << 18]; /* the reply's head and body */
	size_t size;
};

static struct connection main_connection = {.fd = -1};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "stopwatch: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void answer(int64_t ns, int status, const char *text)
{
	printf("%.1f\t%d\t", (double)ns / 1000.0, status);
	for (; *text; text++)
		putchar(strchr("\r\n\t", *text) ? ' ' : *text);
	putchar('\n');
	fflush(stdout);
}

static void open_connection(struct connection *c)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(c->port)};
	int one = 1;

	inet_pton(AF_INET, c->host, &to.sin_addr);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);

		if (sent < 0)
			die("send");
		data += sent;
		size -= (size_t)sent;
	}
}

struct head {
	const char *method, *path;
	size_t body_size;
	bool is_raw; /* the body; else JSON */
};

static size_t format_head(const struct connection *c, const struct head *head, char *out,
                          size_t out_size)
{
	return (size_t)snprintf(out, out_size,
	                        "%s %s HTTP/1.1\r\nHost: %s:%u\r\nAuthorization: Bearer %s\r\n"
	                        "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
	                        head->method, head->path, c->host, c->port, c->key,
	                        head->is_raw ? "application/octet-stream" : "application/json",
	                        head->body_size);
}

/* Until the last chunk. The bodies are JSON, which holds no CRLF of its own; what is longer than
 * the buffer is dropped but for the end. */
static void read_chunks(struct connection *c)
{
	static const char last[] = "0\r\n\r\n";
	const size_t size = sizeof(last) - 1;

	while (c->size < size || memcmp(c->text + c->size - size, last, size) != 0) {
		ssize_t got;

		if (c->size == sizeof(c->text) - 1) {
			memmove(c->text + c->size / 2, c->text + c->size - size, size);
			c->size = c->size / 2 + size;
		}
		got = recv(c->fd, c->text + c->size, sizeof(c->text) - 1 - c->size, 0);
		if (got <= 0)
			die("reply chunks");
		c->size += (size_t)got;
		c->text[c->size] = '\0';
	}
}

/* Reads a reply with a Content-Length; returns the status, *ret_body is NUL-terminated. Past the
 * buffer the body is counted and dropped. */
static int read_reply(struct connection *c, const char **ret_body, size_t *ret_size)
{
	char *end = NULL;
	size_t body = 0, have;

	c->size = 0;
	while (!end) {
		ssize_t got = recv(c->fd, c->text + c->size, sizeof(c->text) - 1 - c->size, 0);

		if (got <= 0)
			die("reply head");
		c->size += (size_t)got;
		c->text[c->size] = '\0';
		end = strstr(c->text, "\r\n\r\n");
	}
	char *chunked = strcasestr(c->text, "\r\ntransfer-encoding: chunked");

	if (chunked && chunked < end) {
		read_chunks(c);
		*ret_body = end + 4;
		*ret_size = c->size - (size_t)(end + 4 - c->text);
		return (int)strtol(c->text + 9, NULL, 10);
	}
	char *length = strcasestr(c->text, "\r\ncontent-length:");

	body = length && length < end ? strtoull(length + 17, NULL, 10) : 0;
	have = c->size - (size_t)(end + 4 - c->text);
	static __thread char sink[1 << 18];

	while (have < body) {
		bool fits = c->size + (body - have) < sizeof(c->text);
		ssize_t got = recv(c->fd, fits ? c->text + c->size : sink,
		                   fits ? body - have : sizeof(sink), 0);

		if (got <= 0)
			die("reply body");
		have += (size_t)got;
		if (fits)
			c->size += (size_t)got;
	}
	c->text[c->size] = '\0';
	*ret_body = end + 4;
	*ret_size = body;
	return (int)strtol(c->text + 9, NULL, 10);
}

static int request(struct connection *c, const char *method, const char *path, const char *body,
                   const char **ret_body)
{
	char text[LINE_MAX_BYTES];
	size_t size = format_head(c, &(struct head){method, path, strlen(body), false}, text,
	                          sizeof(text));
	size_t ignored;

	size += (size_t)snprintf(text + size, sizeof(text) - size, "%s", body);
	send_all(c->fd, text, size);
	return read_reply(c, ret_body, &ignored);
}

static void run_spawn(char **words)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	int64_t start = now_ns();

	if (posix_spawnp(&pid, words[1], &actions, NULL, words + 1, environ) != 0)
		die(words[1]);
	waitpid(pid, &status, 0);
	int64_t took = now_ns() - start;

	posix_spawn_file_actions_destroy(&actions);
	answer(took, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "");
}

static void run_connect(char **words)
{
	struct connection *c = &main_connection;

	if (c->fd >= 0)
		close(c->fd);
	snprintf(c->host, sizeof(c->host), "%s", words[1]);
	c->port = (uint16_t)strtoul(words[2], NULL, 10);
	snprintf(c->key, sizeof(c->key), "%s", words[3]);
	int64_t start = now_ns();

	open_connection(c);
	answer(now_ns() - start, 0, "");
}

static void run_http(char **words)
{
	const char *body;
	int64_t start = now_ns();
	int status = request(&main_connection, words[1], words[2], words[3] ? words[3] : "", &body);

	answer(now_ns() - start, status, body);
}

static void run_upload(char **words)
{
	static char zeros[1 << 18];
	struct connection *c = &main_connection;
	size_t left = strtoull(words[2], NULL, 10), ignored;
	char head[4096];
	const char *body;
	int64_t start = now_ns();

	send_all(c->fd, head,
	         format_head(c, &(struct head){"PUT", words[1], left, true}, head, sizeof(head)));
	while (left) {
		size_t piece = left < sizeof(zeros) ? left : sizeof(zeros);

		send_all(c->fd, zeros, piece);
		left -= piece;
	}
	int status = read_reply(c, &body, &ignored);

	answer(now_ns() - start, status, body);
}

static void run_download(char **words)
{
	struct connection *c = &main_connection;
	char head[4096], text[32];
	const char *body;
	size_t size = 0;
	int64_t start = now_ns();

	send_all(c->fd, head,
	         format_head(c, &(struct head){"GET", words[1], 0, false}, head, sizeof(head)));
	int status = read_reply(c, &body, &size);

	snprintf(text, sizeof(text), "%zu", size);
	answer(now_ns() - start, status, text);
}

struct cycler {
	pthread_t thread;
	int64_t end_ns;
	const char *create, *exec;
	long cycles;
};

static void *run_cycler(void *argument)
{
	struct cycler *cycler = argument;
	struct connection *c = malloc(sizeof(*c));
	char path[256], id[64];
	const char *body;

	memcpy(c->host, main_connection.host, sizeof(c->host));
	memcpy(c->key, main_connection.key, sizeof(c->key));
	c->port = main_connection.port;
	open_connection(c);
	while (now_ns() < cycler->end_ns) {
		if (request(c, "POST", "/api/sandbox/instances", cycler->create, &body) >= 300)
			die(body);
		const char *at = strstr(body, "\"id\":\"");

		snprintf(id, sizeof(id), "%.*s", at ? (int)strcspn(at + 6, "\"") : 0,
		         at ? at + 6 : "");
		snprintf(path, sizeof(path), "/api/sandbox/instances/%s/exec", id);
		if (request(c, "POST", path, cycler->exec, &body) >= 300)
			die(body);
		snprintf(path, sizeof(path), "/api/sandbox/instances/%s", id);
		if (request(c, "DELETE", path, "", &body) >= 300)
			die(body);
		cycler->cycles++;
	}
	close(c->fd);
	free(c);
	return NULL;
}

static void run_cycles(char **words)
{
	struct cycler cyclers[16] = {0};
	unsigned count = (unsigned)strtoul(words[2], NULL, 10);
	int64_t start = now_ns();
	long total = 0;

	count = count > 16 ? 16 : count;
	for (unsigned i = 0; i < count; i++) {
		cyclers[i] =
		        (struct cycler){.end_ns = start + strtoll(words[1], NULL, 10) * 1000000000,
		                        .create = words[3],
		                        .exec = words[4]};
		pthread_create(&cyclers[i].thread, NULL, run_cycler, &cyclers[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(cyclers[i].thread, NULL);
		total += cyclers[i].cycles;
	}
	answer(now_ns() - start, (int)total, "");
}

/* One of many requests that go out at once, each on a connection of its own. */
struct shot {
	pthread_t thread;
	pthread_barrier_t *start;
	char **words; /* METHOD PATH BODY */
	int64_t took_ns;
	int status;
};

static void *run_shot(void *argument)
{
	struct shot *shot = argument;
	struct connection *c = malloc(sizeof(*c));
	const char *body;
	int64_t start;

	memcpy(c->host, main_connection.host, sizeof(c->host));
	memcpy(c->key, main_connection.key, sizeof(c->key));
	c->port = main_connection.port;
	open_connection(c);
	pthread_barrier_wait(shot->start);
	start = now_ns();
	shot->status = request(c, shot->words[0], shot->words[1], shot->words[2], &body);
	shot->took_ns = now_ns() - start;
	close(c->fd);
	free(c);
	return NULL;
}

static void run_burst(char **words)
{
	static struct shot shots[BURST_MAX];
	static char text[BURST_MAX * 16];
	unsigned count = (unsigned)strtoul(words[1], NULL, 10);
	pthread_barrier_t barrier;
	int64_t start = now_ns();
	int status = 0;
	size_t at = 0;

	count = count > BURST_MAX ? BURST_MAX : count;
	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		shots[i] = (struct shot){.start = &barrier, .words = words + 2};
		if (pthread_create(&shots[i].thread, NULL, run_shot, &shots[i]) != 0)
			die("pthread_create");
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(shots[i].thread, NULL);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%.1f ",
		                       (double)shots[i].took_ns / 1000.0);
		if (shots[i].status > status)
			status = shots[i].status;
	}
	pthread_barrier_destroy(&barrier);
	answer(now_ns() - start, status, text);
}

static const struct {
	const char *name;
	void (*run)(char **words);
	unsigned words_min;
} orders[] = {
        {"spawn", run_spawn, 2},   {"connect", run_connect, 4},   {"http", run_http, 3},
        {"upload", run_upload, 3}, {"download", run_download, 2}, {"cycles", run_cycles, 5},
        {"burst", run_burst, 5},
};

int main(void)
{
	static char line[LINE_MAX_BYTES];

	while (fgets(line, sizeof(line), stdin)) {
		char *words[WORDS_MAX] = {0}, *rest = line, *word;
		unsigned count = 0, i;

		line[strcspn(line, "\n")] = '\0';
		while ((word = strsep(&rest, "\t")) && count < WORDS_MAX - 1)
			words[count++] = word;
		for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
			if (words[0] && strcmp(orders[i].name, words[0]) == 0 &&
			    count >= orders[i].words_min)
				break;
		if (i == sizeof(orders) / sizeof(orders[0])) {
			fprintf(stderr, "stopwatch: bad order '%s'\n", line);
			return 2;
		}
		orders[i].run(words);
	}
	return 0;
}
