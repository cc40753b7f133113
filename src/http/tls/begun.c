/* SPDX-License-Identifier: Apache-2.0 */
/* A socket of which another process has read the first bytes. */
#include "http/tls/begun.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"

struct begun_socket {
	int fd;
	size_t at, size;
	char bytes[];
};

static bool is_for_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int read_begun(BIO *bio, char *out, int size)
{
	struct begun_socket *b = BIO_get_data(bio);
	ssize_t got;

	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	if (b->at < b->size) {
		size_t piece = b->size - b->at < (size_t)size ? b->size - b->at : (size_t)size;

		memcpy(out, b->bytes + b->at, piece);
		b->at += piece;
		return (int)piece;
	}
	got = recv(b->fd, out, (size_t)size, MSG_DONTWAIT);
	if (got < 0 && is_for_later())
		BIO_set_retry_read(bio);
	return (int)got;
}

static int write_begun(BIO *bio, const char *data, int size)
{
	const struct begun_socket *b = BIO_get_data(bio);
	ssize_t sent = send(b->fd, data, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);

	BIO_clear_retry_flags(bio);
	if (sent < 0 && is_for_later())
		BIO_set_retry_write(bio);
	return (int)sent;
}

static long control_begun(UNUSED BIO *bio, int command, UNUSED long number, UNUSED void *pointer)
{
	return command == BIO_CTRL_FLUSH;
}

static int free_begun(BIO *bio)
{
	free(BIO_get_data(bio));
	BIO_set_data(bio, NULL);
	return 1;
}

/* Made once, on the first use, and kept until the process ends. */
static BIO_METHOD *begun_method(void)
{
	static BIO_METHOD *method;

	if (method)
		return method;
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "begun socket");
	if (!method)
		return NULL;
	(void)BIO_meth_set_read(method, read_begun);
	(void)BIO_meth_set_write(method, write_begun);
	(void)BIO_meth_set_ctrl(method, control_begun);
	(void)BIO_meth_set_destroy(method, free_begun);
	return method;
}

BIO *begun_socket_new(int fd, struct span begun)
{
	BIO_METHOD *method = begun_method();
	BIO *bio = method ? BIO_new(method) : NULL;
	struct begun_socket *b;

	if (!bio)
		return NULL;
	b = memory_new(sizeof(*b) + begun.size);
	b->fd = fd;
	b->size = begun.size;
	if (begun.size > 0)
		memcpy(b->bytes, begun.data, begun.size);
	BIO_set_data(bio, b);
	BIO_set_init(bio, 1);
	return bio;
}
