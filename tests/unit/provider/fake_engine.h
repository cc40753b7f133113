/* SPDX-License-Identifier: Apache-2.0 */
/* A Docker daemon of a few lines, and the provider docker on it. Included once by a test. */
#pragma once

#include "unit.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "provider/kind_options.h"
#include "provider/provider.h"

#define SERVER "ssssssssssssssssssss"
#define SANDBOX "abcdefghijklmnopqrst"
#define OWNER "bcdefghijklmnopqrstu"

#define PODMAN_VERSION                                                                             \
	"200 {\"Components\":[{\"Name\":\"Podman Engine\"}],\"ApiVersion\":\"1.41\","              \
	"\"MinAPIVersion\":\"1.24\"}"
#define DOCKER_VERSION                                                                             \
	"200 {\"Components\":[{\"Name\":\"Engine\"}],\"ApiVersion\":\"1.41\","                     \
	"\"MinAPIVersion\":\"1.12\"}"

/* Answers requests in order, each on the connection on which it comes. */
struct fake {
	char dir[128], host[160];
	int listener;
	pthread_t thread;
	const char *const *answers; /* "STATUS BODY", NULL-terminated */
	const char *version;        /* the answer to /version, which is not of `answers` */
	unsigned versions;          /* how often it was asked for */
	char asked[16][512];        /* first line and body */
	unsigned count;
};

/* The body's size from a head in lower case or as libcurl writes it. */
static size_t body_size(const char *head)
{
	const char *at = strcasestr(head, "content-length:");

	return at ? strtoul(at + 15, NULL, 10) : 0;
}

static bool take_request(int fd, char out[512])
{
	static char bytes[65536];
	size_t size = 0;
	char *end = NULL;

	while (!end || size < (size_t)(end + 4 - bytes) + body_size(bytes)) {
		ssize_t got = recv(fd, bytes + size, sizeof(bytes) - 1 - size, 0);

		if (got <= 0)
			return false;
		size += (size_t)got;
		bytes[size] = '\0';
		end = strstr(bytes, "\r\n\r\n");
	}
	(void)snprintf(out, 512, "%.*s %.300s", (int)strcspn(bytes, "\r"), bytes, end + 4);
	return true;
}

/* "RAW TEXT" is sent as it is, and ends the connection. */
static bool send_answer(int fd, const char *text)
{
	char answer[4096];
	const char *body = text + 4;
	int size;

	if (strncmp(text, "RAW ", 4) == 0) {
		(void)send(fd, body, strlen(body), MSG_NOSIGNAL);
		return false;
	}
	size = snprintf(answer, sizeof(answer), "HTTP/1.1 %.3s X\r\nContent-Length: %zu\r\n\r\n%s",
	                text, strlen(body), body);
	assert_int_equal(send(fd, answer, (size_t)size, MSG_NOSIGNAL), size);
	return true;
}

static bool answer_next(struct fake *f, int fd)
{
	if (!take_request(fd, f->asked[f->count]))
		return false;
	if (strncmp(f->asked[f->count], "GET /version ", 13) != 0)
		return send_answer(fd, f->answers[f->count++]);
	f->versions++;
	return send_answer(fd, f->version);
}

static void *run_fake(void *argument)
{
	struct fake *f = argument;
	int fd = accept(f->listener, NULL, NULL);

	while (fd >= 0 && f->answers[f->count])
		if (!answer_next(f, fd)) {
			close(fd);
			fd = accept(f->listener, NULL, NULL);
		}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void start_fake(struct fake *f, const char *const *answers)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*f = (struct fake){.answers = answers, .version = DOCKER_VERSION};
	unit_folder(f->dir, sizeof(f->dir), "docker");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/sock", f->dir);
	(void)snprintf(f->host, sizeof(f->host), "unix://%s", address.sun_path);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 8), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run_fake, f), 0);
}

static struct provider *open_docker(struct fake *f)
{
	static struct docker_options docker;
	const struct provider_options options = {.data_dir = f->dir, .docker = &docker};
	struct provider *p = NULL;
	struct error err = {0};

	docker = (struct docker_options){f->host, "worker:1", "/usr/libexec/atoll/atoll-agent"};
	if (provider_find("docker")->open(&options, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void stop_fake(struct fake *f, struct provider *p)
{
	provider_find("docker")->close(p); /* ends the connection that the thread reads */
	(void)shutdown(f->listener, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->listener);
	unit_remove_folder(f->dir);
}

static UNUSED struct sandbox_spec spec_of(void)
{
	return (struct sandbox_spec){
	        .id = SANDBOX,
	        .hostname = "box",
	        .template_dir = "host",
	        .resources = {.cpu = 0.5, .memory_mb = 64, .disk_mb = 64, .pids = 32},
	        .owner = OWNER,
	        .lease_epoch = 7,
	};
}
