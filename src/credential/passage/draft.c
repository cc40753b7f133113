/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/passage/draft.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "json/base64.h"
#include "signature/signature.h"

#define TEXT_MAX (64 * 1024)
#define BASIC "Basic "

/* About the connection, or about how the body is sent, which the proxy says itself; and names by
 * which a client asks for another method than the one that rules saw. */
static const char *const dropped[] = {"connection",
                                      "keep-alive",
                                      "proxy-connection",
                                      "proxy-authorization",
                                      "te",
                                      "trailer",
                                      "transfer-encoding",
                                      "content-length",
                                      "upgrade",
                                      "host",
                                      "http2-settings",
                                      "x-http-method-override",
                                      "x-http-method",
                                      "x-method-override",
                                      NULL};

static char fold_byte(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '_' ? '-' : c;
}

bool draft_is_same_name(const char *a, const char *b)
{
	while (*a && fold_byte(*a) == fold_byte(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

bool draft_name_is_of(const char *name, const char *const *names)
{
	for (; names && *names; names++)
		if (draft_is_same_name(*names, name))
			return true;
	return false;
}

void draft_begin(struct draft *d, struct arena *a, const struct http_head *head, const char *host)
{
	struct span rest = head->target, path;
	const char *upgrade = head->known[HEAD_UPGRADE], *te = head_find(head, "te");

	(void)span_split(&rest, '?', &path);
	*d = (struct draft){.arena = a,
	                    .head = head,
	                    .host = host,
	                    .path = arena_copy(a, path),
	                    .query = arena_copy(a, rest),
	                    .is_websocket = upgrade && head->upgrade &&
	                                    strcasecmp(upgrade, "websocket") == 0 &&
	                                    head->known[HEAD_WEBSOCKET_KEY],
	                    .wants_trailers = te && strcasestr(te, "trailers")};
	for (unsigned i = 0; i < head->field_count; i++)
		if (!draft_name_is_of(head->fields[i].name, dropped))
			d->fields[d->count++] = head->fields[i];
}

const char *draft_find(const struct draft *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcasecmp(d->fields[i].name, name) == 0)
			return d->fields[i].value;
	return NULL;
}

static void remove_field(struct draft *d, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++)
		if (!draft_is_same_name(d->fields[i].name, name))
			d->fields[kept++] = d->fields[i];
	d->count = kept;
}

/* Those that are the same name only for some servers. */
static void remove_aliases(struct draft *d, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++)
		if (strcasecmp(d->fields[i].name, name) == 0 ||
		    !draft_is_same_name(d->fields[i].name, name))
			d->fields[kept++] = d->fields[i];
	d->count = kept;
}

static void set_field(struct draft *d, const char *name, const char *value)
{
	remove_field(d, name);
	if (d->count < DRAFT_FIELDS_MAX)
		d->fields[d->count++] = (struct head_field){name, value};
}

static int fill_template(const struct draft *d, const char *template, const char **ret,
                         struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);

	*ret = "";
	if (!template)
		return 0;
	if (credential_fill(&out, d->set, template, err) < 0)
		return -1;
	if (out.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a filled template is too large");
	*ret = arena_copy(d->arena, buf_span(&out));
	return 0;
}

/* Whether what the client sent leaves the place to the credential. */
static bool may_replace(const struct credential_inject *n, const char *sent)
{
	switch ((enum credential_when)n->when) {
	case INJECT_IF_ABSENT:
		return sent == NULL;
	case INJECT_IF_PLACEHOLDER:
		return sent && n->marker && strstr(sent, n->marker);
	case INJECT_ALWAYS:
		break;
	}
	return true;
}

static const char *encode_basic(const struct draft *d, const char *user, const char *password)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	const char *pair = arena_format(d->arena, "%s:%s", user, password);

	buf_add_text(&out, BASIC);
	base64_encode(&out, span_of(pair));
	return arena_copy(d->arena, buf_span(&out));
}

static int inject_header(struct draft *d, const struct credential_inject *n, struct error *err)
{
	bool is_basic = n->kind == INJECT_BASIC;
	const char *name = is_basic ? "authorization" : n->name, *value, *password;

	remove_aliases(d, name);
	if (!may_replace(n, draft_find(d, name)))
		return 0;
	if (fill_template(d, is_basic ? n->username : n->value, &value, err) < 0 ||
	    fill_template(d, is_basic ? n->password : NULL, &password, err) < 0)
		return -1;
	set_field(d, name, is_basic ? encode_basic(d, value, password) : value);
	return 0;
}

static bool part_has_name(struct arena *a, struct span part, const char *name)
{
	struct error ignored = {0};
	struct span decoded;

	return json_decode_query(a, part, &decoded, &ignored) == 0 &&
	       span_equals_text(decoded, name);
}

/* Gives every value of a part of the query; removes them when `out` is not NULL, by writing the
 * others there. NULL: the query has no such part. */
static const char *take_parts(const struct draft *d, const char *name, struct buf *out)
{
	struct span rest = span_of(d->query), part, head;
	const char *found = NULL;

	while (rest.size > 0) {
		(void)span_split(&rest, '&', &part);
		struct span value = part;

		(void)span_split(&value, '=', &head);
		if (part_has_name(d->arena, head, name)) {
			found = arena_copy(d->arena, value);
			continue;
		}
		if (out && out->size > 0)
			buf_add_byte(out, '&');
		if (out)
			buf_add_span(out, part);
	}
	return found;
}

static int inject_query(struct draft *d, const struct credential_inject *n, struct error *err)
{
	AUTO(buf_done) struct buf query = BUF(TEXT_MAX);
	const char *value;

	if (!may_replace(n, take_parts(d, n->name, NULL)))
		return 0;
	if (fill_template(d, n->value, &value, err) < 0)
		return -1;
	(void)take_parts(d, n->name, &query);
	if (query.size > 0)
		buf_add_byte(&query, '&');
	signature_encode(&query, span_of(n->name), false);
	buf_add_byte(&query, '=');
	signature_encode(&query, span_of(value), false);
	d->query = arena_copy(d->arena, buf_span(&query));
	return 0;
}

static int inject_cookie(struct draft *d, const struct credential_inject *n, struct error *err)
{
	AUTO(buf_done) struct buf cookies = BUF(TEXT_MAX);
	struct span rest, pair, name;
	const char *value, *sent = NULL;

	for (size_t i = 0; i < d->count; i++) {
		if (strcasecmp(d->fields[i].name, "cookie") != 0)
			continue;
		rest = span_of(d->fields[i].value);
		while (rest.size > 0) {
			(void)span_split(&rest, ';', &pair);
			pair = span_trim(pair);
			struct span own = pair;

			(void)span_split(&own, '=', &name);
			if (span_equals_text(name, n->name))
				sent = arena_copy(d->arena, own);
			else if (pair.size > 0)
				buf_addf(&cookies, "%.*s; ", (int)pair.size, pair.data);
		}
	}
	if (!may_replace(n, sent))
		return 0;
	if (fill_template(d, n->value, &value, err) < 0)
		return -1;
	buf_addf(&cookies, "%s=%s", n->name, value);
	set_field(d, "cookie", arena_copy(d->arena, buf_span(&cookies)));
	return 0;
}

/* Every marker in the text, once: what is put in is not searched again. NULL: there is none. */
static const char *replace_marker(struct arena *a, const char *text, const char *marker,
                                  const char *value)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	const char *at = text, *found;

	if (!strstr(text, marker))
		return NULL;
	while ((found = strstr(at, marker))) {
		buf_add(&out, at, (size_t)(found - at));
		buf_add_text(&out, value);
		at = found + strlen(marker);
	}
	buf_add_text(&out, at);
	return out.overflowed ? NULL : arena_copy(a, buf_span(&out));
}

/* "Basic" hides the marker in base64. */
static const char *replace_in_basic(const struct draft *d, const char *text, const char *marker,
                                    const char *value)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	struct span decoded;
	const char *replaced;

	if (strncasecmp(text, BASIC, strlen(BASIC)) != 0 ||
	    !base64_decode(d->arena, span_trim(span_of(text + strlen(BASIC))), &decoded) ||
	    memchr(decoded.data, '\0', decoded.size))
		return NULL;
	replaced = replace_marker(d->arena, arena_copy(d->arena, decoded), marker, value);
	if (!replaced)
		return NULL;
	buf_add_text(&out, BASIC);
	base64_encode(&out, span_of(replaced));
	return arena_copy(d->arena, buf_span(&out));
}

#define ANY "*"

static bool place_has(const char *place, const char *name)
{
	return draft_is_same_name(place, name) ||
	       (strcmp(place, ANY) == 0 && !credential_header_is_repeated(name));
}

/* The field's value with the marker replaced, or NULL: it has none. */
static const char *replace_in_field(struct draft *d, const struct head_field *f, const char *marker,
                                    const char *value)
{
	const char *now = replace_marker(d->arena, f->value, marker, value);

	if (!now && strcasecmp(f->name, "authorization") == 0)
		now = replace_in_basic(d, f->value, marker, value);
	return now;
}

static void replace_in_header(struct draft *d, const char *name, const char *marker,
                              const char *value)
{
	if (strcmp(name, ANY) != 0)
		remove_aliases(d, name);
	for (size_t i = 0; i < d->count; i++) {
		const char *now = place_has(name, d->fields[i].name)
		                          ? replace_in_field(d, &d->fields[i], marker, value)
		                          : NULL;
		size_t before = d->count;

		if (!now)
			continue;
		d->fields[i].value = now;
		remove_aliases(d, d->fields[i].name);
		/* The first of the name is at another place now; it has no marker any more. */
		if (d->count < before)
			i = (size_t)-1;
	}
}

static void replace_in_query(struct draft *d, const char *name, const char *marker,
                             const char *encoded)
{
	AUTO(buf_done) struct buf query = BUF(TEXT_MAX);
	struct span rest = span_of(d->query), part;

	while (rest.size > 0) {
		(void)span_split(&rest, '&', &part);
		struct span value = part, head;
		const char *now = NULL;

		(void)span_split(&value, '=', &head);
		if (strcmp(name, ANY) == 0 || part_has_name(d->arena, head, name))
			now = replace_marker(d->arena, arena_copy(d->arena, part), marker, encoded);
		if (query.size > 0)
			buf_add_byte(&query, '&');
		buf_add_span(&query, now ? span_of(now) : part);
	}
	d->query = arena_copy(d->arena, buf_span(&query));
}

static int inject_placeholder(struct draft *d, const struct credential_inject *n, struct error *err)
{
	AUTO(buf_done) struct buf encoded = BUF(TEXT_MAX);
	const char *value, *now;

	if (fill_template(d, n->value, &value, err) < 0)
		return -1;
	signature_encode(&encoded, span_of(value), false);
	for (size_t i = 0; n->in && n->in[i]; i++) {
		const char *place = n->in[i];

		if (strncmp(place, "header:", 7) == 0) {
			replace_in_header(d, place + 7, n->marker, value);
		} else if (strncmp(place, "query:", 6) == 0) {
			replace_in_query(d, place + 6, n->marker, buf_text(&encoded));
		} else {
			now = replace_marker(d->arena, d->path, n->marker, buf_text(&encoded));
			d->path = now ? now : d->path;
		}
	}
	return 0;
}

static int inject_nothing(UNUSED struct draft *d, UNUSED const struct credential_inject *n,
                          UNUSED struct error *err)
{
	return 0; /* a signature is made last */
}

int draft_inject(struct draft *d, struct error *err)
{
	static int (*const put[])(struct draft *, const struct credential_inject *,
	                          struct error *) = {
	        [INJECT_HEADER] = inject_header, [INJECT_BASIC] = inject_header,
	        [INJECT_QUERY] = inject_query,   [INJECT_COOKIE] = inject_cookie,
	        [INJECT_SIGV4] = inject_nothing, [INJECT_PLACEHOLDER] = inject_placeholder};
	static const char *const partial[] = {"range", "if-range", "request-range", "x-ms-range",
	                                      "sec-websocket-extensions"};
	const struct credential_inject *items;

	if (!d->rule)
		return 0;
	for (size_t i = 0; d->rule->remove && d->rule->remove[i]; i++)
		remove_field(d, d->rule->remove[i]);
	if (d->rule->action != CREDENTIAL_INJECT)
		return 0;
	items = d->rule->inject.items;
	for (size_t i = 0; i < d->rule->inject.count; i++)
		if (put[items[i].kind](d, &items[i], err) < 0)
			return -1;
	/* A part of an answer, or a compressed answer, could repeat a value unseen. */
	if (d->rule->mask == MASK_ALL) {
		for (size_t i = 0; i < COUNT_OF(partial); i++)
			remove_field(d, partial[i]);
		set_field(d, "accept-encoding", "identity");
	}
	return 0;
}

static bool is_secret_place(const struct credential_inject *n, const char *name)
{
	for (size_t i = 0; n->in && n->in[i]; i++)
		if (strncmp(n->in[i], "header:", 7) == 0 ? place_has(n->in[i] + 7, name)
		                                         : strcmp(name, ":path") == 0)
			return true;
	return false;
}

bool draft_is_secret(const struct draft *d, const char *name)
{
	static const char *const of_signature[] = {"authorization", "x-amz-security-token", NULL};
	const struct credential_inject *items = d->rule ? d->rule->inject.items : NULL;

	for (size_t i = 0; items && i < d->rule->inject.count; i++) {
		const struct credential_inject *n = &items[i];

		if ((n->kind == INJECT_HEADER && draft_is_same_name(n->name, name)) ||
		    (n->kind == INJECT_COOKIE && strcasecmp("cookie", name) == 0) ||
		    (n->kind == INJECT_QUERY && strcmp(":path", name) == 0) ||
		    ((n->kind == INJECT_BASIC || n->kind == INJECT_SIGV4) &&
		     draft_name_is_of(name, of_signature)) ||
		    is_secret_place(n, name))
			return true;
	}
	return false;
}

void draft_write(struct buf *out, const struct draft *d)
{
	const struct http_head *h = d->head;

	buf_addf(out, "%s %s%s%s HTTP/1.1\r\nHost: %s\r\n", h->method, d->path,
	         d->query[0] ? "?" : "", d->query, d->host);
	for (size_t i = 0; i < d->count; i++)
		buf_addf(out, "%s: %s\r\n", d->fields[i].name, d->fields[i].value);
	if (h->chunked)
		buf_add_text(out, "Transfer-Encoding: chunked\r\n");
	else if (h->content_length >= 0)
		buf_addf(out, "Content-Length: %lld\r\n", (long long)h->content_length);
	if (d->is_websocket)
		buf_add_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	buf_add_text(out, "\r\n");
}
