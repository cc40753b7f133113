/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "http/server/relay.h"
#include "http/proxy/parts.h"
#include "http/server/reply.h"

/* Fields about framing, routing, authentication and caching belong into the head. In a trailer
 * they would bypass the checks of the head (RFC 9110, 6.5.1). */
static bool is_of_heads(const char *name)
{
	static const char *const names[] = {"Accept",
	                                    "Age",
	                                    "Allow",
	                                    "Alt-Svc",
	                                    "Authorization",
	                                    "Cache-Control",
	                                    "Clear-Site-Data",
	                                    "Content-Type",
	                                    "Content-Encoding",
	                                    "Content-Language",
	                                    "Content-Range",
	                                    "Content-Location",
	                                    "Cookie2",
	                                    "Date",
	                                    "Content-Disposition",
	                                    "Expires",
	                                    "From",
	                                    "Content-Security-Policy",
	                                    "Last-Modified",
	                                    "Link",
	                                    "Location",
	                                    "Max-Forwards",
	                                    "Pragma",
	                                    "Proxy-Authentication-Info",
	                                    "Range",
	                                    "Refresh",
	                                    "Retry-After",
	                                    "Set-Cookie",
	                                    "Set-Cookie2",
	                                    "Strict-Transport-Security",
	                                    "Upgrade",
	                                    "User-Agent",
	                                    "X-HTTP-Method-Override",
	                                    "Vary",
	                                    "Via",
	                                    "WWW-Authenticate",
	                                    NULL};
	static const char *const begins[] = {"Accept-", "Access-Control-", "CF-",        "If-",
	                                     "Sec-",    "X-Forwarded-",    "X-Original-"};

	for (size_t i = 0; i < COUNT_OF(begins); i++)
		if (strncasecmp(begins[i], name, strlen(begins[i])) == 0)
			return true;
	return head_name_is_of(name, names) || proxy_is_own_header(name) ||
	       proxy_is_replaced_header(name);
}

/* Cuts off the next line that may be passed on; NULL if there is none. The name and the value get
 * their NUL in `line`. */
static const char *next_trailer(struct span *lines, char line[BODY_LINE_MAX + 1],
                                const char **ret_value)
{
	struct span item, name;

	while (lines->size > 0) {
		(void)span_split(lines, '\n', &item);
		if (item.size == 0 || item.size > BODY_LINE_MAX || span_find(item, ':') < 0)
			continue;
		memcpy(line, item.data, item.size - 1); /* but its CR */
		line[item.size - 1] = '\0';
		item = (struct span){line, item.size - 1};
		(void)span_split(&item, ':', &name);
		line[name.size] = '\0';
		item = span_trim(item);
		line[(size_t)(item.data - line) + item.size] = '\0';
		*ret_value = item.data;
		if (!is_of_heads(line) && reply_header_is_valid(line, item.data))
			return line;
	}
	return NULL;
}

void proxy_write_trailers(struct proxy *p, struct buf *out)
{
	struct span lines = buf_span(&p->sent);
	char line[BODY_LINE_MAX + 1];
	const char *name, *value;

	while ((name = next_trailer(&lines, line, &value)))
		if (!head_name_is_of(name, p->withheld))
			reply_add_header(out, name, value);
}

void proxy_answer_trailers(struct proxy *p, struct relay *relay)
{
	struct span lines = buf_span(&p->got);
	char line[BODY_LINE_MAX + 1];
	const char *name, *value;

	while ((name = next_trailer(&lines, line, &value)))
		relay_trailer(relay, name, value);
}
