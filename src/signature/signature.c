/* SPDX-License-Identifier: Apache-2.0 */
#include "signature/signature.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define CANONICAL_MAX (256 * 1024)
#define QUERY_PARTS_MAX 256
#define HEX_SIZE (2 * crypto_hash_sha256_BYTES + 1)
#define DATE_SIZE sizeof("20260102T030405Z")
#define DAY_SIZE 8

struct signed_header {
	const char *name;  /* in lower case */
	const char *value; /* without blanks around it, and single ones inside */
};

/* One request on its way to its signature. */
struct signing {
	struct arena *arena;
	const struct signature_request *request;
	struct signed_header headers[SIGNATURE_HEADERS_MAX];
	size_t count;
	char date[DATE_SIZE];
	const char *hash;  /* of the body */
	const char *names; /* "host;x-amz-date" */
	const char *scope; /* "20260102/us-east-1/lambda/aws4_request" */
};

void signature_encode(struct buf *out, struct span text, bool is_path)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c < 0x80 && isalnum(c)) || (c != '\0' && strchr("-_.~", c)) ||
		    (is_path && c == '/'))
			buf_add_byte(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

static const char *hash_hex(struct arena *a, struct span bytes)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *hex = arena_alloc(a, HEX_SIZE);

	crypto_hash_sha256(hash, (const unsigned char *)bytes.data, bytes.size);
	hex_encode(hash, sizeof(hash), hex);
	return hex;
}

static void hash_keyed(const unsigned char *key, size_t key_size, const char *text,
                       unsigned char ret[crypto_auth_hmacsha256_BYTES])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_size);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, ret);
}

static int add_header(struct signing *s, const char *name, const char *value, struct error *err)
{
	if (s->count == COUNT_OF(s->headers))
		return FAIL(err, ERROR_INVALID, "more than %d headers to sign",
		            SIGNATURE_HEADERS_MAX);
	s->headers[s->count++] = (struct signed_header){name, value};
	return 0;
}

static const char *squeeze_value(struct arena *a, struct span value)
{
	char *out = arena_alloc(a, value.size + 1);
	size_t size = 0;

	for (size_t i = 0; i < value.size; i++) {
		bool is_blank = strchr(" \t\r\n", value.data[i]) && value.data[i];

		if (!is_blank)
			out[size++] = value.data[i];
		else if (size > 0 && out[size - 1] != ' ')
			out[size++] = ' ';
	}
	if (size > 0 && out[size - 1] == ' ')
		size--;
	out[size] = '\0';
	return out;
}

static int add_line(struct signing *s, const char *line, struct error *err)
{
	struct span rest = span_of(line), name;
	char *lower;

	if (!span_split(&rest, ':', &name) || name.size == 0)
		return FAIL(err, ERROR_INVALID, "header '%.60s' has no colon", line);
	lower = arena_copy(s->arena, name);
	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return add_header(s, lower, squeeze_value(s->arena, rest), err);
}

static int compare_headers(const void *a, const void *b)
{
	const struct signed_header *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int collect_headers(struct signing *s, const struct signature_key *key, struct error *err)
{
	const struct signature_request *rq = s->request;

	for (const char *const *line = rq->headers; line && *line; line++)
		if (add_line(s, *line, err) < 0)
			return -1;
	if (add_header(s, "host", rq->host, err) < 0 ||
	    add_header(s, "x-amz-content-sha256", s->hash, err) < 0 ||
	    add_header(s, "x-amz-date", s->date, err) < 0 ||
	    (text_or_null(key->session_token) &&
	     add_header(s, "x-amz-security-token", key->session_token, err) < 0))
		return -1;
	qsort(s->headers, s->count, sizeof(s->headers[0]), compare_headers);
	return 0;
}

/* Segments that are empty or "." vanish, ".." takes the one before it with it. There are fewer
 * than the path has bytes. */
static size_t normalize_path(struct span path, struct span *segments)
{
	struct span segment;
	size_t count = 0;

	for (bool more = true; more;) {
		more = span_split(&path, '/', &segment);
		if (segment.size == 0 || span_equals_text(segment, "."))
			continue;
		if (span_equals_text(segment, ".."))
			count -= count > 0;
		else
			segments[count++] = segment;
	}
	return count;
}

static void add_path(struct signing *s, struct buf *out)
{
	const char *path = s->request->path;
	size_t size = strlen(path);
	struct span *segments = ARENA_ARRAY(s->arena, struct span, size + 1);

	if (strcmp(s->request->service, "s3") == 0) {
		buf_add_text(out, path);
		return;
	}
	size_t count = normalize_path(span_of(path), segments);
	buf_add_byte(out, '/');
	for (size_t i = 0; i < count; i++) {
		signature_encode(out, segments[i], false);
		if (i + 1 < count || path[size - 1] == '/')
			buf_add_byte(out, '/');
	}
}

/* By the name, then by the value: '=' would sort after the digits and '-'. */
static int compare_parts(const void *a, const void *b)
{
	struct span x = *(const struct span *)a, y = *(const struct span *)b, name_x, name_y;

	(void)span_split(&x, '=', &name_x);
	(void)span_split(&y, '=', &name_y);
	size_t least = name_x.size < name_y.size ? name_x.size : name_y.size;
	int order = memcmp(name_x.data, name_y.data, least);
	if (order == 0)
		order = (name_x.size > name_y.size) - (name_x.size < name_y.size);
	if (order != 0)
		return order;
	least = x.size < y.size ? x.size : y.size;
	order = memcmp(x.data, y.data, least);
	return order ? order : (x.size > y.size) - (x.size < y.size);
}

static int add_query(struct signing *s, struct buf *out, struct error *err)
{
	struct span rest = span_of(s->request->query), parts[QUERY_PARTS_MAX];
	size_t count = 0;

	while (rest.size > 0) {
		if (count == COUNT_OF(parts))
			return FAIL(err, ERROR_INVALID, "a query of more than %d parts",
			            QUERY_PARTS_MAX);
		(void)span_split(&rest, '&', &parts[count++]);
	}
	qsort(parts, count, sizeof(parts[0]), compare_parts);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buf_add_byte(out, '&');
		buf_add_span(out, parts[i]);
		if (span_find(parts[i], '=') < 0)
			buf_add_byte(out, '=');
	}
	return 0;
}

static void add_headers(struct signing *s, struct buf *out)
{
	AUTO(buf_done) struct buf names = BUF(CANONICAL_MAX);

	for (size_t i = 0; i < s->count; i++) {
		buf_addf(out, "%s:%s\n", s->headers[i].name, s->headers[i].value);
		buf_addf(&names, "%s%s", i > 0 ? ";" : "", s->headers[i].name);
	}
	s->names = arena_copy(s->arena, buf_span(&names));
}

/* The hash of the canonical request. */
static int hash_request(struct signing *s, const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CANONICAL_MAX);

	buf_addf(&text, "%s\n", s->request->method);
	add_path(s, &text);
	buf_add_byte(&text, '\n');
	if (add_query(s, &text, err) < 0)
		return -1;
	buf_add_byte(&text, '\n');
	add_headers(s, &text);
	buf_addf(&text, "\n%s\n%s", s->names, s->hash);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a request is too large to be signed");
	*ret = hash_hex(s->arena, buf_span(&text));
	return 0;
}

static const char *sign_hash(struct signing *s, const char *secret, const char *hash)
{
	const struct signature_request *rq = s->request;
	const char *first = arena_format(s->arena, "AWS4%s", secret);
	const char *day = arena_copy(s->arena, (struct span){s->date, DAY_SIZE});
	const char *text =
	        arena_format(s->arena, ALGORITHM "\n%s\n%s\n%s", s->date, s->scope, hash);
	const char *const steps[] = {day, rq->region, rq->service, "aws4_request", text};
	unsigned char key[crypto_auth_hmacsha256_BYTES];
	char *hex = arena_alloc(s->arena, HEX_SIZE);

	hash_keyed((const unsigned char *)first, strlen(first), steps[0], key);
	for (size_t i = 1; i < COUNT_OF(steps); i++)
		hash_keyed(key, sizeof(key), steps[i], key);
	hex_encode(key, sizeof(key), hex);
	sodium_memzero(key, sizeof(key));
	return hex;
}

static void format_date(int64_t unix_ms, char out[DATE_SIZE])
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(out, DATE_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

int signature_sign(struct arena *a, const struct signature_key *key,
                   const struct signature_request *request, const char *ret[SIGNATURE_HEADERS_MAX],
                   struct error *err)
{
	struct signing s = {.arena = a, .request = request};
	const char *hash = NULL;
	size_t count = 0;

	format_date(request->unix_ms, s.date);
	s.hash = request->body_hash ? request->body_hash : hash_hex(a, request->body);
	s.scope = arena_format(a, "%.*s/%s/%s/aws4_request", DAY_SIZE, s.date, request->region,
	                       request->service);
	if (collect_headers(&s, key, err) < 0 || hash_request(&s, &hash, err) < 0)
		return FAIL_CONTEXT(err, "sign a request to %s", request->service);
	ret[count++] = arena_format(a, "X-Amz-Date: %s", s.date);
	ret[count++] = arena_format(a, "X-Amz-Content-Sha256: %s", s.hash);
	if (text_or_null(key->session_token))
		ret[count++] = arena_format(a, "X-Amz-Security-Token: %s", key->session_token);
	ret[count++] = arena_format(
	        a, "Authorization: " ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
	        key->id, s.scope, s.names, sign_hash(&s, key->secret, hash));
	ret[count] = NULL;
	return 0;
}
