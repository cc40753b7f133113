/* SPDX-License-Identifier: Apache-2.0 */
/* A client inside signs with keys that are worth nothing; what it signed for, region and service,
 * is signed again with the keys of the credential. */
#include <string.h>
#include <strings.h>

#include "credential/passage/draft.h"
#include "signature/signature.h"

#define ALGORITHM "AWS4-HMAC-SHA256 Credential="
#define HASH "x-amz-content-sha256"
#define STREAMING "STREAMING-"
#define UNSIGNED_TRAILER "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
#define HASH_DIGITS 64
#define QUERY_MAX (64 * 1024)

const struct credential_inject *draft_signature(const struct draft *d)
{
	const struct credential_inject *items = d->rule ? d->rule->inject.items : NULL;

	for (size_t i = 0; items && i < d->rule->inject.count; i++)
		if (items[i].kind == INJECT_SIGV4)
			return &items[i];
	return NULL;
}

bool draft_needs_body(const struct draft *d)
{
	return draft_signature(d) && !draft_find(d, HASH) &&
	       (d->head->chunked || d->head->content_length > 0);
}

static bool list_allows(const char *const *list, const char *text)
{
	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return !list || !list[0];
}

struct signing_scope {
	const char *region, *service;
};

/* "AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request, …" */
static int read_scope(const struct draft *d, const struct credential_inject *n,
                      struct signing_scope *ret, struct error *err)
{
	const char *sent = draft_find(d, "authorization");
	struct span rest = span_of(sent), id, date, region, service, end;

	if (!sent || !span_starts_with(rest, ALGORITHM))
		return FAIL(err, ERROR_INVALID,
		            "the request has no signature of version 4 in its Authorization");
	span_skip(&rest, strlen(ALGORITHM));
	(void)span_split(&rest, ',', &end);
	if (!span_split(&end, '/', &id) || !span_split(&end, '/', &date) ||
	    !span_split(&end, '/', &region) || !span_split(&end, '/', &service) ||
	    !span_equals_text(end, "aws4_request") || region.size == 0 || service.size == 0)
		return FAIL(err, ERROR_INVALID,
		            "the scope of the request's signature is malformed");
	ret->region = arena_copy(d->arena, region);
	ret->service = arena_copy(d->arena, service);
	if (!list_allows((const char *const *)n->regions, ret->region) ||
	    !list_allows((const char *const *)n->services, ret->service))
		return FAIL(err, ERROR_FORBIDDEN,
		            "the rule signs for other regions or services than '%.40s', '%.40s'",
		            ret->region, ret->service);
	return 0;
}

static int read_hash(const struct draft *d, const char **ret, struct error *err)
{
	const char *sent = draft_find(d, HASH);

	*ret = NULL;
	if (!sent)
		return 0;
	if (strncmp(sent, STREAMING, strlen(STREAMING)) == 0 && strcmp(sent, UNSIGNED_TRAILER) != 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "chunks that are signed one by one cannot be signed again; set the "
		            "client to unsigned payloads or to a hash of the whole body");
	if (strcmp(sent, SIGNATURE_UNSIGNED) != 0 && strcmp(sent, UNSIGNED_TRAILER) != 0 &&
	    strspn(sent, "0123456789abcdef") != HASH_DIGITS)
		return FAIL(err, ERROR_INVALID, "the request's hash of its body is malformed");
	*ret = sent;
	return 0;
}

static bool is_signed(const char *name)
{
	return strcasecmp(name, "content-type") == 0 || strcasecmp(name, "content-md5") == 0 ||
	       strncasecmp(name, "x-amz-", 6) == 0;
}

/* The signer says these itself. */
static bool is_of_signer(const char *name)
{
	static const char *const names[] = {"authorization", "x-amz-date", "x-amz-security-token",
	                                    HASH, NULL};

	return head_name_is_of(name, names);
}

/* A name without '=' is signed, and so has to be sent, as one with an empty value. */
static const char *complete_query(const struct draft *d)
{
	AUTO(buf_done) struct buf query = BUF(QUERY_MAX);
	struct span rest = span_of(d->query), part;

	while (rest.size > 0) {
		(void)span_split(&rest, '&', &part);
		if (part.size == 0)
			continue;
		if (query.size > 0)
			buf_add_byte(&query, '&');
		buf_add_span(&query, part);
		if (span_find(part, '=') < 0)
			buf_add_byte(&query, '=');
	}
	return arena_copy(d->arena, buf_span(&query));
}

static size_t list_signed(struct draft *d, const char *ret[SIGNATURE_HEADERS_MAX])
{
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct head_field *f = &d->fields[i];

		if (is_of_signer(f->name))
			continue;
		if (is_signed(f->name) && count < SIGNATURE_HEADERS_MAX - 1)
			ret[count++] = arena_format(d->arena, "%s: %s", f->name, f->value);
		d->fields[kept++] = *f;
	}
	d->count = kept;
	ret[count] = NULL;
	return count;
}

static int fill_key(const struct draft *d, const char *template, const char **ret,
                    struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(CREDENTIAL_VALUE_MAX * 2);

	*ret = NULL;
	if (!template)
		return 0;
	if (credential_fill(&out, d->set, template, err) < 0)
		return -1;
	*ret = arena_copy(d->arena, buf_span(&out));
	return 0;
}

static void add_lines(struct draft *d, const char *const *lines)
{
	for (; *lines && d->count < DRAFT_FIELDS_MAX; lines++) {
		struct span value = span_of(*lines), name;

		(void)span_split(&value, ':', &name);
		d->fields[d->count++] = (struct head_field){arena_copy(d->arena, name),
		                                            arena_copy(d->arena, span_trim(value))};
	}
}

int draft_sign(struct draft *d, struct span body, int64_t unix_ms, struct error *err)
{
	const struct credential_inject *n = draft_signature(d);
	const char *lines[SIGNATURE_HEADERS_MAX], *headers[SIGNATURE_HEADERS_MAX];
	struct signature_key key = {.id = NULL};
	struct signing_scope scope;
	const char *hash;

	if (read_scope(d, n, &scope, err) < 0 || read_hash(d, &hash, err) < 0 ||
	    fill_key(d, n->access_key_id, &key.id, err) < 0 ||
	    fill_key(d, n->secret_access_key, &key.secret, err) < 0 ||
	    fill_key(d, n->session_token, &key.session_token, err) < 0)
		return -1;
	d->query = complete_query(d);
	(void)list_signed(d, headers);
	const struct signature_request request = {.method = d->head->method,
	                                          .host = d->host,
	                                          .path = d->path,
	                                          .query = d->query,
	                                          .headers = headers,
	                                          .body = body,
	                                          .body_hash = hash,
	                                          .region = scope.region,
	                                          .service = scope.service,
	                                          .unix_ms = unix_ms};
	if (signature_sign(d->arena, &key, &request, lines, err) < 0)
		return -1;
	add_lines(d, lines);
	return 0;
}
