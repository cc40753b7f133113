/* SPDX-License-Identifier: Apache-2.0 */
#include "config/mask.h"

#include "base/bytes.h"

/* Any other setting of libpq may hold a secret. */
static const char *const shown_settings[] = {
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "passfile",
        "service",
        "options",
        "sslmode",
        "sslcert",
        "sslkey",
        "sslrootcert",
        "sslcrl",
        "channel_binding",
        "gssencmode",
        "krbsrvname",
        "keepalives",
        "keepalives_idle",
        "connect_timeout",
        "application_name",
        "client_encoding",
        "tcp_user_timeout",
        "target_session_attrs",
};

static bool is_shown(struct span name)
{
	for (size_t i = 0; i < COUNT_OF(shown_settings); i++)
		if (span_equals_text(name, shown_settings[i]))
			return true;
	return false;
}

static void add_span(struct buf *out, struct span text)
{
	buf_add(out, text.data, text.size);
}

static void add_setting(struct buf *out, struct span name, struct span value)
{
	add_span(out, name);
	buf_add_byte(out, '=');
	if (is_shown(name))
		add_span(out, value);
	else
		buf_add_text(out, MASK);
}

/* "user:secret@" becomes "user:****@". A secret may hold unescaped '@' characters, so it ends at
 * the last '@': this hides too much rather than too little. */
static void add_user(struct buf *out, struct span *rest)
{
	ptrdiff_t colon = span_find(*rest, ':'), at = -1;

	for (size_t i = 0; i < rest->size; i++)
		if (rest->data[i] == '@')
			at = (ptrdiff_t)i;
	if (colon < 0 || at < colon)
		return;
	add_span(out, (struct span){rest->data, (size_t)colon});
	buf_add_text(out, ":" MASK);
	span_skip(rest, (size_t)at);
}

/* "//user@host/name?setting=value&…" */
static void add_uri(struct buf *out, struct span rest)
{
	struct span head, setting;
	const char *mark = "?";

	add_user(out, &rest);
	(void)span_split(&rest, '?', &head);
	add_span(out, head);
	for (; rest.size > 0; mark = "&") {
		struct span name;

		(void)span_split(&rest, '&', &setting);
		(void)span_split(&setting, '=', &name);
		buf_add_text(out, mark);
		add_setting(out, name, setting);
	}
}

static size_t value_size(struct span rest)
{
	bool is_quoted = rest.size > 0 && rest.data[0] == '\'';
	size_t size = is_quoted;

	while (size < rest.size && rest.data[size] != (is_quoted ? '\'' : ' '))
		size += rest.data[size] == '\\' && size + 1 < rest.size ? 2 : 1;
	return size + (is_quoted && size < rest.size);
}

/* "setting=value setting='it''s value'". A word without '=' may be part of a secret. */
static void add_conninfo(struct buf *out, struct span rest)
{
	while (rest.size > 0) {
		struct span name;
		size_t size = 0;

		if (rest.data[0] == ' ') {
			buf_add_byte(out, ' ');
			span_skip(&rest, 1);
			continue;
		}
		while (size < rest.size && rest.data[size] != ' ' && rest.data[size] != '=')
			size++;
		name = (struct span){rest.data, size};
		if (size == rest.size || rest.data[size] == ' ') {
			buf_add_text(out, MASK);
		} else {
			rest = (struct span){rest.data + size + 1, rest.size - size - 1};
			size = value_size(rest);
			add_setting(out, name, (struct span){rest.data, size});
		}
		span_skip(&rest, size);
	}
}

void mask_store(struct buf *out, const char *value)
{
	struct span rest = span_of(value), scheme;

	if (!span_starts_with(rest, "postgres:") && !span_starts_with(rest, "postgresql:")) {
		buf_add_text(out, value);
		return;
	}
	(void)span_split(&rest, ':', &scheme);
	add_span(out, scheme);
	buf_add_byte(out, ':');
	if (span_starts_with(rest, "//"))
		add_uri(out, rest);
	else
		add_conninfo(out, rest);
}

void mask_secret(struct buf *out, const char *value)
{
	if (value[0])
		buf_add_text(out, MASK);
}
