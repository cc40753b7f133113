/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/upstream.h"

#include <string.h>

#include "json/base64.h"

#define VERSION "HTTP/1."
#define STATUS_END 12 /* "HTTP/1.1 200" */
#define STATUS_MIN 200
#define STATUS_MAX 599

void upstream_authorization(struct buf *out, struct span login)
{
	buf_add_text(out, "Basic ");
	base64_encode(out, login);
}

void upstream_ask(struct buf *out, uint32_t address, uint16_t port, const char *authorization)
{
	AUTO(buf_done) struct buf target = BUF(32);

	buf_addf(&target, "%u.%u.%u.%u:%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
	         address & 255, port);
	buf_addf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", buf_text(&target), buf_text(&target));
	if (*authorization)
		buf_addf(out, "Proxy-Authorization: %s\r\n", authorization);
	buf_add_text(out, "\r\n");
}

/* The bytes up to and with the empty line; 0 when it is missing. */
static size_t head_size(struct span bytes)
{
	for (size_t i = 3; i < bytes.size; i++)
		if (memcmp(bytes.data + i - 3, "\r\n\r\n", 4) == 0)
			return i + 1;
	return 0;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* "HTTP/1.1 200 …"; 0 when it is malformed. */
static int read_status(struct span head)
{
	const char *digits = head.data + STATUS_END - 3;
	int status = 0;

	if (!is_digit(head.data[sizeof(VERSION) - 1]) || head.data[sizeof(VERSION)] != ' ' ||
	    (head.data[STATUS_END] != ' ' && head.data[STATUS_END] != '\r'))
		return 0;
	for (unsigned i = 0; i < 3; i++) {
		if (!is_digit(digits[i]))
			return 0;
		status = status * 10 + digits[i] - '0';
	}
	return status >= STATUS_MIN && status <= STATUS_MAX ? status : 0;
}

enum upstream_answer upstream_read(struct span bytes, size_t *ret_size, int *ret_status)
{
	size_t compared = bytes.size < sizeof(VERSION) - 1 ? bytes.size : sizeof(VERSION) - 1;
	size_t size;
	int status;

	/* What is no HTTP at all need not be read to its end. */
	if (memcmp(bytes.data, VERSION, compared) != 0)
		return UPSTREAM_MALFORMED;
	size = head_size((struct span){
	        bytes.data, bytes.size < UPSTREAM_HEAD_MAX ? bytes.size : UPSTREAM_HEAD_MAX});
	if (size == 0)
		return bytes.size < UPSTREAM_HEAD_MAX ? UPSTREAM_MORE : UPSTREAM_MALFORMED;
	status = size > STATUS_END ? read_status(bytes) : 0;
	if (status == 0)
		return UPSTREAM_MALFORMED;
	*ret_size = size;
	*ret_status = status;
	return status < 300 ? UPSTREAM_OPEN : UPSTREAM_REFUSED;
}
