/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "http/proxy/parts.h"
#include "http/server/relay.h"

/* Headers that apply to the whole origin, which a page below a prefix shares with other pages. */
static bool is_of_origin(const char *name)
{
	static const char *const of_origin[] = {"Strict-Transport-Security",
	                                        "Public-Key-Pins",
	                                        "Clear-Site-Data",
	                                        "Service-Worker-Allowed",
	                                        "Alt-Svc",
	                                        "NEL",
	                                        "Report-To",
	                                        "Reporting-Endpoints",
	                                        "Origin-Agent-Cluster",
	                                        "WWW-Authenticate",
	                                        NULL};

	return head_name_is_of(name, of_origin);
}

/* A page without an origin has no cookies. */
static bool is_of_sharing(const char *name)
{
	return strncasecmp(name, "Access-Control-Allow-", 21) == 0 ||
	       strcasecmp(name, "Access-Control-Expose-Headers") == 0;
}

typedef void rewrite_value(struct buf *out, struct span value, const struct rewrite_place *place);

static rewrite_value *rewriting_of(const char *name)
{
	static const struct {
		const char *name;
		rewrite_value *rewrite;
	} rows[] = {
	        {"Location", rewrite_url},
	        {"Content-Location", rewrite_url},
	        {"SourceMap", rewrite_url},
	        {"X-SourceMap", rewrite_url},
	        {"Refresh", rewrite_refresh},
	        {"Link", rewrite_link},
	        {"Set-Cookie", rewrite_cookie},
	        {"Content-Security-Policy", rewrite_csp},
	        {"Content-Security-Policy-Report-Only", rewrite_csp},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcasecmp(rows[i].name, name) == 0)
			return rows[i].rewrite;
	return NULL;
}

static bool is_policy(const char *name)
{
	return strcasecmp(name, "Content-Security-Policy") == 0;
}

static void add_rewritten(struct proxy *p, struct relay *relay, const struct head_field *field)
{
	AUTO(buf_done) struct buf value = BUF(4 * PROXY_HEAD_MAX);

	rewriting_of(field->name)(&value, span_of(field->value), &p->asked.place);
	buf_add_byte(&value, '\0');
	if (!value.overflowed)
		relay_begin_header(relay, field->name, value.data);
	/* Without its policy a page would have more rights. */
	else if (is_policy(field->name))
		relay_begin_header(relay, field->name, field->value);
}

/* The relay writes these itself. */
static bool is_of_relay(const char *name)
{
	static const char *const names[] = {"Date", "X-Request-Id", "Content-Type", NULL};

	return head_name_is_of(name, names);
}

static void add_header(struct proxy *p, struct relay *relay, const struct head_field *field)
{
	/* They describe the original body, not the rewritten one. */
	static const char *const of_body[] = {"ETag", "Digest", "Content-MD5", "Accept-Ranges",
	                                      NULL};
	const struct proxy_asked *asked = &p->asked;

	if (proxy_is_own_header(field->name) || is_of_relay(field->name) ||
	    (asked->place.prefix.size && is_of_origin(field->name)) ||
	    ((asked->is_boxed || asked->has_shares) && is_of_sharing(field->name)))
		return;
	if (strcasecmp(field->name, "Set-Cookie") == 0 &&
	    proxy_is_own_cookie(span_of(field->value), asked->cookie_mark))
		return;
	if (p->content_decoder && strcasecmp(field->name, "Content-Encoding") == 0)
		return;
	if (p->is_rewritten && head_name_is_of(field->name, of_body))
		return;
	if (!asked->is_whole && rewriting_of(field->name))
		add_rewritten(p, relay, field);
	else
		relay_begin_header(relay, field->name, field->value);
}

static void add_headers(struct proxy *p, struct relay *relay, const struct http_head *head)
{
	const char *connection = head_find(head, "Connection");

	for (unsigned i = 0; i < head->field_count; i++)
		if (!connection || !proxy_list_has(connection, span_of(head->fields[i].name)))
			add_header(p, relay, &head->fields[i]);
	if (!p->asked.is_boxed)
		return;
	/* Without allow-same-origin the page has its own origin and cannot read Atoll's pages. */
	relay_begin_header(relay, "Content-Security-Policy",
	                   "sandbox allow-scripts allow-forms allow-popups allow-modals "
	                   "allow-downloads allow-pointer-lock allow-presentation "
	                   "allow-orientation-lock allow-popups-to-escape-sandbox");
	relay_begin_header(relay, "Access-Control-Allow-Origin", "*");
	relay_begin_header(relay, "Referrer-Policy", "no-referrer");
}

static enum content_coding coding_of(const struct http_head *head)
{
	enum content_coding coding = CONTENT_CODING_NONE;

	for (unsigned i = 0; i < head->field_count; i++)
		if (strcasecmp(head->fields[i].name, "Content-Encoding") == 0)
			coding = content_coding_join(
			        coding, content_coding_parse(span_of(head->fields[i].value)));
	return coding;
}

static bool is_of_type(const struct http_head *head, const char *wanted)
{
	const char *type = head->known[HEAD_CONTENT_TYPE];
	size_t size = strlen(wanted);

	return type && strncasecmp(type, wanted, size) == 0 &&
	       (!type[size] || strchr("; \t", type[size]));
}

static bool has_body(const struct proxy *p, int status)
{
	return !p->asked.is_head && status != 204 && status != 304;
}

static bool is_of_page(const struct proxy *p, const struct http_head *head)
{
	return p->asked.place.prefix.size && head->status != 206 && head->status != 101 &&
	       (is_of_type(head, "text/html") || is_of_type(head, "text/css"));
}

static bool is_to_be_rewritten(const struct proxy *p, const struct http_head *head)
{
	return is_of_page(p, head) && has_body(p, head->status);
}

/* Redirects that a browser follows without the body. */
static bool is_redirect(const struct http_head *head)
{
	int status = head->status;

	return ((status >= 301 && status <= 303) || status == 307 || status == 308) &&
	       head_find(head, "Location");
}

/* Whether a page shows the answer's body, or would if the request were a GET. */
static bool is_shown(const struct http_head *head)
{
	return head->status >= 200 && head->status != 204 && head->status != 304 &&
	       !is_redirect(head) && (head->chunked || head->content_length != 0);
}

bool proxy_cannot_read(const struct proxy *p, const struct http_head *head)
{
	return proxy_asks_as_is(&p->asked) && is_of_page(p, head) && is_shown(head) &&
	       coding_of(head) == CONTENT_CODING_UNKNOWN;
}

/* A refused base would change nothing and cause an error message. */
static bool limits_base(const struct http_head *head)
{
	for (unsigned i = 0; i < head->field_count; i++)
		if (is_policy(head->fields[i].name) &&
		    rewrite_csp_limits_base(span_of(head->fields[i].value)))
			return true;
	return false;
}

static void begin_body(struct proxy *p, const struct http_head *head)
{
	bool is_framed = head->chunked || head->content_length >= 0;

	p->until_close = has_body(p, head->status) && !is_framed;
	p->may_keep = head->keep_alive && !p->until_close;
	body_start(&p->body, head->chunked && has_body(p, head->status),
	           has_body(p, head->status) ? head->content_length : 0);
	/* The headers describe the original body, not the rewritten one. */
	if (p->asked.takes_trailers && !p->is_rewritten)
		p->body.trailers = &p->got;
	if (!p->is_rewritten)
		return;
	rewriter_init(&p->rewriter, &p->asked.place, p->asked.takes);
	p->rewriter.has_base = limits_base(head);
}

void proxy_begin_answer(struct proxy *p, struct relay *relay, const struct http_head *head)
{
	int64_t length = head->chunked ? -1 : head->content_length;
	enum content_coding coding = coding_of(head);

	p->has_answered = true;
	p->is_tunnel = head->status == 101;
	p->is_rewritten = is_to_be_rewritten(p, head) && coding != CONTENT_CODING_UNKNOWN;
	if (p->is_rewritten && coding != CONTENT_CODING_NONE)
		p->content_decoder = content_decoder_new(coding);
	p->is_style = p->is_rewritten && is_of_type(head, "text/css");
	add_headers(p, relay, head);
	if (p->is_tunnel) {
		relay_switch(relay, head->known[HEAD_UPGRADE]);
		return;
	}
	begin_body(p, head);
	relay_begin(relay, head->status, head->known[HEAD_CONTENT_TYPE],
	            p->is_rewritten ? -1 : length);
}
