/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/certificate.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/config.h"
#include "http/tls/tls.h"

static struct certificate_mark mark_of(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return (struct certificate_mark){.device = 0};
	return (struct certificate_mark){
	        .device = status.st_dev,
	        .inode = status.st_ino,
	        .size = (uint64_t)status.st_size,
	        .changed_ns = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec,
	};
}

static bool is_same(const struct certificate_mark *a, const struct certificate_mark *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

static void wipe_buf(struct buf *b)
{
	if (b->data)
		sodium_memzero(b->data, b->capacity);
	buf_done(b);
}

static int check_certificate(struct span pem, char expires[24], struct error *err)
{
	struct tls_context *context;

	if (tls_context_new(pem, &context, err) < 0)
		return -1;
	tls_context_expiry(context, expires);
	tls_context_free(context);
	return 0;
}

static int write_memory(int fd, struct span pem, struct error *err)
{
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "keep the certificate");
	return fd_write_all(fd, pem.data, pem.size, err);
}

static int load_certificate(struct certificate_source *s, struct error *err)
{
	AUTO(wipe_buf) struct buf pem = BUF(TLS_PEM_MAX);
	char expires[24];

	for (unsigned i = 0; i < 2; i++) {
		/* Marked before reading, so that a change during the read is noticed at the next
		 * look. */
		s->seen[i] = mark_of(s->paths[i]);
		if (file_read(AT_FDCWD, s->paths[i], &pem, err) < 0)
			return -1;
		buf_add_byte(&pem, '\n');
	}
	if (pem.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "certificate and key are too large");
	if (check_certificate(buf_span(&pem), expires, err) < 0)
		return FAIL_CONTEXT(err, "'%s' and '%s'", s->paths[0], s->paths[1]);
	if (write_memory(s->memory_fd, buf_span(&pem), err) < 0)
		return -1;
	log_info("certificate", TEXT("file", s->paths[0]), TEXT("expires", expires));
	return 0;
}

int certificate_open(struct arena *a, const struct config *config, struct certificate_source *ret,
                     struct error *err)
{
	*ret = (struct certificate_source){.memory_fd = -1};
	if (!config->tls_listen[0])
		return 0;
	ret->paths[0] = config->tls_cert[0]
	                        ? config->tls_cert
	                        : arena_format(a, "%s/tls/server.pem", config->data_dir);
	ret->paths[1] = config->tls_key[0] ? config->tls_key
	                                   : arena_format(a, "%s/tls/server.key", config->data_dir);
	ret->memory_fd = memfd_create("tls", MFD_CLOEXEC);
	if (ret->memory_fd < 0)
		return FAIL_ERRNO(err, "make a file for the certificate");
	if (load_certificate(ret, err) < 0) {
		return FAIL_HINT(err, "'atoll tls init' makes both; see --tls-cert and --tls-key");
	}
	ret->look_at_ms = clock_monotonic_ms() + CERTIFICATE_LOOK_MS;
	return 0;
}

void certificate_close(struct certificate_source *s)
{
	auto_close(&s->memory_fd);
}

bool certificate_look(struct certificate_source *s, int64_t now_ms, bool is_asked)
{
	bool has_changed = false;
	struct error err;

	if (s->memory_fd < 0 || (!is_asked && now_ms < s->look_at_ms))
		return false;
	s->look_at_ms = now_ms + CERTIFICATE_LOOK_MS;
	for (unsigned i = 0; i < 2; i++) {
		const struct certificate_mark now = mark_of(s->paths[i]);

		has_changed |= !is_same(&now, &s->seen[i]);
	}
	if (!has_changed && !is_asked)
		return false;
	if (load_certificate(s, &err) == 0)
		return true;
	log_warning("the new certificate is invalid; the old one stays in use", FAILURE(&err));
	return false;
}

int certificate_take(struct http_server *server, int memory_fd, struct error *err)
{
	struct tls_context *context;
	AUTO(wipe_buf) struct buf pem = BUF(TLS_PEM_MAX);
	struct stat status;
	char *room;

	if (fstat(memory_fd, &status) < 0)
		return FAIL_ERRNO(err, "read the certificate");
	room = buf_reserve(&pem, (size_t)status.st_size);
	if (!room || pread(memory_fd, room, (size_t)status.st_size, 0) != status.st_size)
		return FAIL(err, ERROR_SYSTEM, "read the certificate");
	buf_commit(&pem, (size_t)status.st_size);
	if (tls_context_new(buf_span(&pem), &context, err) < 0)
		return -1;
	server_set_tls(server, context);
	return 0;
}
