/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 8446 and RFC 6066: records hold a message, which holds nested lists. */
#include <string.h>

#include "egress/look.h"

#define RECORD_HEAD 5
#define RECORD_HANDSHAKE 22
#define RECORD_SIZE_MAX 16384
#define MESSAGE_HEAD 4
#define CLIENT_HELLO 1
#define RANDOM_SIZE 32
#define SESSION_SIZE_MAX 32
#define EXTENSION_SERVER_NAME 0
#define NAME_KIND_HOST 0

/* A number of `size` bytes, cut off from the front. */
static bool take_number(struct span *rest, unsigned size, size_t *ret)
{
	size_t number = 0;

	if (rest->size < size)
		return false;
	for (unsigned i = 0; i < size; i++)
		number = number << 8 | (unsigned char)rest->data[i];
	span_skip(rest, size);
	*ret = number;
	return true;
}

static bool take_bytes(struct span *rest, size_t size, struct span *ret)
{
	if (rest->size < size)
		return false;
	*ret = (struct span){rest->data, size};
	span_skip(rest, size);
	return true;
}

/* A list that follows its size of so many bytes. */
static bool take_list(struct span *rest, unsigned size_bytes, struct span *ret)
{
	size_t size;

	return take_number(rest, size_bytes, &size) && take_bytes(rest, size, ret);
}

static enum host_name_result refuse_hello(struct host_name *ret, const char *why)
{
	ret->refusal = why;
	return LOOK_REFUSED;
}

/* Copies the message from its records into `message`; bytes after it may be copied, too. */
static enum host_name_result join_records(struct span bytes, struct buf *message,
                                          struct host_name *ret)
{
	while (bytes.size > 0) {
		size_t kind = 0, version = 0, size = 0, whole;
		struct span rest = bytes, piece;

		if (!take_number(&rest, 1, &kind))
			return LOOK_MORE;
		if (kind != RECORD_HANDSHAKE)
			return refuse_hello(ret, "it is not TLS");
		if (take_number(&rest, 2, &version) && version >> 8 != 3)
			return refuse_hello(ret, "it is not TLS");
		if (bytes.size < RECORD_HEAD)
			return LOOK_MORE;
		if (!take_number(&rest, 2, &size) || size == 0 || size > RECORD_SIZE_MAX)
			return refuse_hello(ret, "its TLS is malformed");
		whole = rest.size < size ? rest.size : size;
		if (!take_bytes(&rest, whole, &piece))
			return LOOK_MORE;
		buf_add_span(message, piece);
		if (whole < size)
			return LOOK_MORE;
		bytes = rest;
	}
	return LOOK_MORE;
}

/* Exactly one entry, of type host name. */
static enum host_name_result read_names(struct span extension, struct host_name *ret)
{
	struct span list, name;
	size_t kind;

	if (!take_list(&extension, 2, &list) || extension.size > 0 ||
	    !take_number(&list, 1, &kind) || kind != NAME_KIND_HOST ||
	    !take_list(&list, 2, &name) || list.size > 0)
		return refuse_hello(ret, "its server name is malformed");
	if (!host_name_is_valid(name))
		return refuse_hello(ret, "its server name is no host's name");
	memcpy(ret->name, name.data, name.size);
	ret->name[name.size] = '\0';
	return LOOK_FOUND;
}

static enum host_name_result read_extensions(struct span list, struct host_name *ret)
{
	enum host_name_result found = LOOK_MORE;

	while (list.size > 0) {
		struct span extension;
		size_t kind;

		if (!take_number(&list, 2, &kind) || !take_list(&list, 2, &extension))
			return refuse_hello(ret, "its TLS is malformed");
		if (kind != EXTENSION_SERVER_NAME)
			continue;
		if (found != LOOK_MORE)
			return refuse_hello(ret, "it has two server names");
		found = read_names(extension, ret);
		if (found == LOOK_REFUSED)
			return found;
	}
	return found == LOOK_FOUND ? found : refuse_hello(ret, "it has no server name");
}

static enum host_name_result read_hello(struct span hello, struct host_name *ret)
{
	struct span session, ciphers, compressions, extensions, random;
	size_t version;

	if (!take_number(&hello, 2, &version) || !take_bytes(&hello, RANDOM_SIZE, &random) ||
	    !take_list(&hello, 1, &session) || session.size > SESSION_SIZE_MAX ||
	    !take_list(&hello, 2, &ciphers) || !take_list(&hello, 1, &compressions))
		return refuse_hello(ret, "its TLS is malformed");
	if (hello.size == 0)
		return refuse_hello(ret, "it has no server name");
	if (!take_list(&hello, 2, &extensions) || hello.size > 0)
		return refuse_hello(ret, "its TLS is malformed");
	return read_extensions(extensions, ret);
}

enum host_name_result hello_look(struct span bytes, struct host_name *ret)
{
	AUTO(buf_done) struct buf message = BUF(LOOK_BYTES_MAX);
	enum host_name_result look;
	struct span rest, hello;
	size_t kind, size;

	*ret = (struct host_name){.refusal = NULL};
	if (bytes.size > LOOK_BYTES_MAX)
		bytes.size = LOOK_BYTES_MAX;
	look = join_records(bytes, &message, ret);
	rest = buf_span(&message);
	if (take_number(&rest, 1, &kind) && kind != CLIENT_HELLO)
		return refuse_hello(ret, "it begins with no ClientHello");
	if (take_number(&rest, MESSAGE_HEAD - 1, &size)) {
		if (size > LOOK_BYTES_MAX - MESSAGE_HEAD - RECORD_HEAD)
			return refuse_hello(ret, "its ClientHello is too large");
		/* The message is whole; the server judges the bytes after it. */
		if (take_bytes(&rest, size, &hello))
			return read_hello(hello, ret);
	}
	if (look == LOOK_MORE && bytes.size == LOOK_BYTES_MAX)
		return refuse_hello(ret, "its ClientHello is too large");
	return look;
}
