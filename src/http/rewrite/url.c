/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "http/rewrite/rewrite.h"

size_t rewrite_own_host(struct span text, const struct rewrite_place *place)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1", "0.0.0.0", "[::1]"};
	char port[16];

	/* Few addresses belong to the server: its port is formatted only for those. */
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		size_t size = strlen(hosts[i]);

		if (!span_starts_with_word(text, hosts[i]))
			continue;
		(void)snprintf(port, sizeof(port), ":%u", place->port);
		return span_starts_with(span_after(text, size), port) ? size + strlen(port) : 0;
	}
	return 0;
}

/* Size of "http://localhost:5173" at the front, or 0. */
static size_t own_origin_size(struct span url, const struct rewrite_place *place)
{
	static const char *const schemes[] = {"http://", "https://", "//"};

	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		size_t scheme = strlen(schemes[i]), size;

		if (!span_starts_with_word(url, schemes[i]))
			continue;
		size = rewrite_own_host(span_after(url, scheme), place);
		if (size == 0)
			return 0;
		size += scheme;
		return url.size == size || strchr("/?#", url.data[size]) ? size : 0;
	}
	return 0;
}

static bool is_below(struct span path, struct span prefix)
{
	return path.size >= prefix.size && memcmp(path.data, prefix.data, prefix.size) == 0 &&
	       (path.size == prefix.size || strchr("/?#", path.data[prefix.size]));
}

/* A server that knows its prefix may write it itself. */
static void add_path(struct buf *out, struct span path, const struct rewrite_place *place)
{
	if (!place->prefix.size || !is_below(path, place->prefix))
		buf_add_span(out, place->prefix);
	if (!path.size || path.data[0] != '/')
		buf_add_byte(out, '/');
	buf_add_span(out, path);
}

void rewrite_url(struct buf *out, struct span url, const struct rewrite_place *place)
{
	size_t own;

	while (url.size && rewrite_is_blank(url.data[0]))
		url = span_after(url, 1);
	/* "//host" and its equivalents in browsers name another host. */
	if (url.size && url.data[0] == '/' &&
	    (url.size == 1 || (url.data[1] != '/' && url.data[1] != '\\'))) {
		add_path(out, url, place);
		return;
	}
	own = own_origin_size(url, place);
	if (own)
		add_path(out, span_after(url, own), place);
	else
		buf_add_span(out, url);
}

/* "5; url=/x" */
void rewrite_refresh(struct buf *out, struct span value, const struct rewrite_place *place)
{
	for (size_t i = 0; i < value.size; i++) {
		struct span rest = span_after(value, i);
		size_t at = 3;
		char quote = 0;

		if (!span_starts_with_word(rest, "url"))
			continue;
		while (at < rest.size && (rest.data[at] == ' ' || rest.data[at] == '='))
			at++;
		if (at < rest.size && (rest.data[at] == '"' || rest.data[at] == '\''))
			quote = rest.data[at++];
		buf_add(out, value.data, i + at);
		rest = span_after(rest, at);
		if (quote && rest.size && rest.data[rest.size - 1] == quote)
			rest.size--;
		rewrite_url(out, rest, place);
		if (quote)
			buf_add_byte(out, quote);
		return;
	}
	buf_add_span(out, value);
}

/* </a.css>; rel=preload, </b.js>; rel=modulepreload */
void rewrite_link(struct buf *out, struct span value, const struct rewrite_place *place)
{
	bool quoted = false, has_end = true;

	while (value.size) {
		char c = value.data[0];
		bool opens = c == '<' && !quoted && has_end;
		ptrdiff_t end = opens ? span_find(value, '>') : -1;

		buf_add_byte(out, c);
		value = span_after(value, 1);
		quoted ^= c == '"';
		/* If this field is missing, the following ones are missing, too. */
		has_end = has_end && (!opens || end >= 0);
		if (end < 1)
			continue;
		rewrite_url(out, (struct span){value.data, (size_t)end - 1}, place);
		value = span_after(value, (size_t)end - 1);
	}
}

/* As in browsers: with blanks around the name and the value. */
static void add_cookie_attribute(struct buf *out, struct span part,
                                 const struct rewrite_place *place)
{
	struct span value = part, name;

	(void)span_split(&value, '=', &name);
	name = span_trim(name);
	value = span_trim(value);
	if (!name.size || span_is_word(name, "domain"))
		return;
	buf_add_text(out, "; ");
	if (place->prefix.size && span_is_word(name, "path") && value.size &&
	    value.data[0] == '/') {
		buf_add_text(out, "Path=");
		add_path(out, value, place);
	} else {
		buf_add_span(out, span_trim(part));
	}
}

void rewrite_cookie(struct buf *out, struct span value, const struct rewrite_place *place)
{
	struct span part;
	bool more = span_split(&value, ';', &part);

	buf_add_span(out, span_trim(part));
	while (more) {
		more = span_split(&value, ';', &part);
		add_cookie_attribute(out, part, place);
	}
}
