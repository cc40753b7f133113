/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "credential/rule.h"

#define WILDCARD "*."
#define PATH_SIZE_MAX ((size_t)64 * 1024)
#define GLOB_STEPS_MAX 65536 /* of one comparison: '**' makes them grow with the square */
/* Of all comparisons for a request, in bytes. The proxy has one thread for all sandboxes. */
#define STEPS_MAX ((size_t)1024 * 1024)

bool credential_host_has(const char *pattern, struct span host)
{
	struct span name = span_of(pattern);

	if (!span_starts_with(name, WILDCARD))
		return span_is_same_word(name, host);
	span_skip(&name, 1); /* ".example.com" needs a label before it */
	return host.size > name.size && span_ends_with_word(host, name);
}

bool credential_host_covers(const char *outer, const char *inner)
{
	struct span name = span_of(inner);

	if (!span_starts_with(name, WILDCARD))
		return credential_host_has(outer, name);
	/* "*.b.example" is within "*.b.example" and within "*.example". */
	return span_starts_with(span_of(outer), WILDCARD) &&
	       (span_is_same_word(span_of(outer), name) ||
	        credential_host_has(outer, span_after(name, strlen(WILDCARD))));
}

bool credential_rules_decrypt(const struct credential_rules *rules, struct span host, int scheme)
{
	for (size_t i = 0; i < rules->rules.count; i++)
		if (credential_rule_at(rules, i)->scheme == scheme &&
		    credential_host_has(credential_rule_at(rules, i)->host, host))
			return true;
	return false;
}

static bool has_escape(struct span decoded)
{
	for (size_t i = 0; i + 2 < decoded.size; i++)
		if (decoded.data[i] == '%' && hex_digit_value(decoded.data[i + 1]) >= 0 &&
		    hex_digit_value(decoded.data[i + 2]) >= 0)
			return true;
	return false;
}

/* Servers read "." and ".." in every form, and some cut "..;x" at the semicolon. */
static bool has_dot_segment(struct span decoded)
{
	struct span segment, head;

	while (decoded.size > 0) {
		(void)span_split(&decoded, '/', &segment);
		(void)span_split(&segment, ';', &head);
		if (span_equals_text(head, ".") || span_equals_text(head, ".."))
			return true;
	}
	return false;
}

static const char *find_byte_fault(struct span rest, bool encoded_slash)
{
	while (rest.size > 0) {
		bool is_escape = rest.data[0] == '%';
		int c = span_take_escaped(&rest);

		if (c < 0)
			return "the path has a malformed escape";
		if (c < 0x20 || c == 0x7f || c == '\\' || (c == '#' && !is_escape))
			return "the path has a control byte, a backslash or a number sign";
		if (c == '/' && is_escape && !encoded_slash)
			return "the path has an escaped slash";
	}
	return NULL;
}

const char *credential_path_fault(struct span path, bool encoded_slash)
{
	AUTO(buf_done) struct buf decoded = BUF(PATH_SIZE_MAX);
	const char *fault;
	struct span rest = path;

	if (path.size == 0 || path.data[0] != '/')
		return "the path does not begin with a slash";
	fault = find_byte_fault(path, encoded_slash);
	if (fault)
		return fault;
	while (rest.size > 0)
		buf_add_byte(&decoded, (char)span_take_escaped(&rest));
	if (memmem(decoded.data, decoded.size, "//", 2))
		return "the path has an empty segment";
	if (has_escape(buf_span(&decoded)))
		return "the path is escaped twice";
	return has_dot_segment(buf_span(&decoded)) ? "the path has a dot segment" : NULL;
}

/* A path as rules are compared with it: escapes decoded. In `kept` an escaped slash stays "%2F"; in
 * `opened` it is a slash, as some servers read it. The loose ones are what is left of these where a
 * server reads less than the whole path: without parameters (";x=1"), a slash at the end and a
 * format (".json"). */
struct decoded_path {
	struct buf kept, opened, loose_kept, loose_opened;
};

static void done_path(struct decoded_path *path)
{
	buf_done(&path->kept);
	buf_done(&path->opened);
	buf_done(&path->loose_kept);
	buf_done(&path->loose_opened);
}

static void decode_path(struct buf *out, struct span path, const char *escaped_slash)
{
	while (path.size > 0) {
		bool is_escape = path.data[0] == '%';
		int c = span_take_escaped(&path);

		/* A malformed escape is refused later; it must not stop this here. */
		if (c < 0)
			span_skip(&path, 1);
		else if (is_escape && c == '/')
			buf_add_text(out, escaped_slash);
		else
			buf_add_byte(out, (char)c);
	}
}

static size_t find_format(struct span path)
{
	static const char *const formats[] = {".json", ".xml", ".html", ".txt", ".yaml", ".js"};

	for (size_t i = 0; i < COUNT_OF(formats); i++)
		if (span_ends_with_word(path, span_of(formats[i])))
			return strlen(formats[i]);
	return 0;
}

static void loosen_path(struct buf *out, struct span decoded)
{
	struct span segment, head;

	while (decoded.size > 0) {
		bool is_last = !span_split(&decoded, '/', &segment);

		(void)span_split(&segment, ';', &head);
		buf_add_span(out, head);
		if (!is_last)
			buf_add_byte(out, '/');
	}
	while (out->size > 1 && out->data[out->size - 1] == '/')
		out->size--;
	out->size -= find_format(buf_span(out));
}

/* What is left of STEPS_MAX. */
struct match_budget {
	size_t left;
};

/* False when they are used up. */
static bool take_steps(struct match_budget *budget, size_t count)
{
	bool is_enough = count <= budget->left;

	budget->left = is_enough ? budget->left - count : 0;
	return is_enough;
}

struct glob_state {
	struct span pattern, text;
	size_t steps, steps_max;
	bool is_loose; /* in any case */
};

static bool is_same_byte(char a, char b, bool is_loose)
{
	return a == b || (is_loose && tolower((unsigned char)a) == tolower((unsigned char)b));
}

/* Tries the rest of a pattern at each end that the star before it may have. */
static bool glob_holds(const char *p, const char *p_end, const char *t, struct glob_state *s)
{
	const char *t_end = s->text.data + s->text.size;

	while (p < p_end) {
		bool is_deep = p + 1 < p_end && p[0] == '*' && p[1] == '*';

		if (++s->steps > s->steps_max)
			return false;
		if (*p != '*') {
			if (t == t_end || !is_same_byte(*t, *p, s->is_loose))
				return false;
			p++;
			t++;
			continue;
		}
		while (p < p_end && *p == '*')
			p++;
		if (p == p_end && is_deep)
			return true;
		for (;; t++) {
			if (glob_holds(p, p_end, t, s))
				return true;
			if (t == t_end || (*t == '/' && !is_deep) || s->steps > s->steps_max)
				return false;
		}
	}
	return t == t_end;
}

static bool path_has_prefix(struct span path, const char *prefix, bool is_loose)
{
	size_t size = strlen(prefix);
	struct span rest;

	if (!(is_loose ? span_starts_with_word(path, prefix) : span_starts_with(path, prefix)))
		return false;
	rest = span_after(path, size);
	return rest.size == 0 || rest.data[0] == '/' || (size > 0 && prefix[size - 1] == '/');
}

/* One comparison of a path. */
struct path_comparison {
	struct span path;
	bool is_deny, is_loose;
	struct match_budget *budget;
};

/* A comparison that takes too long holds for a rule that refuses, and for no other. */
static bool glob_is_of(const char *glob, const struct path_comparison *c)
{
	size_t most = c->budget->left < GLOB_STEPS_MAX ? c->budget->left : GLOB_STEPS_MAX;
	struct glob_state s = {.pattern = span_of(glob),
	                       .text = c->path,
	                       .steps_max = most,
	                       .is_loose = c->is_loose};
	bool holds = glob_holds(glob, glob + s.pattern.size, c->path.data, &s);

	(void)take_steps(c->budget, s.steps);
	return holds || (c->is_deny && s.steps > most);
}

static bool path_holds(const struct credential_path_match *m, const struct path_comparison *c)
{
	if (m->exact)
		return c->is_loose ? span_is_word(c->path, m->exact)
		                   : span_equals_text(c->path, m->exact);
	if (m->prefix)
		return path_has_prefix(c->path, m->prefix, c->is_loose);
	return !m->glob || glob_is_of(m->glob, c);
}

static bool value_holds(const struct credential_field_match *m, struct span value)
{
	if (m->exact)
		return span_equals_text(value, m->exact);
	return !m->prefix || span_starts_with(value, m->prefix);
}

/* What the values of one name came to. */
struct field_count {
	unsigned there, held;
};

/* Servers differ in which of several values counts: a rule that refuses holds for any, every other
 * rule only for all. */
static bool count_holds(const struct credential_field_match *m, const struct field_count *n,
                        bool is_deny)
{
	if (!m->exact && !m->prefix)
		return m->is_there == (n->there > 0);
	return n->held > 0 && (is_deny || n->held == n->there);
}

/* Many servers read '_' in the name of a header as '-'. */
static bool is_same_header(struct span a, const char *b)
{
	struct span name = span_of(b);

	if (a.size != name.size)
		return false;
	for (size_t i = 0; i < a.size; i++) {
		char x = a.data[i] == '_' ? '-' : a.data[i], y = b[i] == '_' ? '-' : b[i];

		if (!is_same_byte(x, y, true))
			return false;
	}
	return true;
}

static bool header_holds(const struct credential_field_match *m,
                         const struct credential_request *request, bool is_deny)
{
	struct field_count n = {0, 0};

	for (size_t i = 0; i < request->header_count; i++) {
		if (!is_same_header(request->headers[i].name, m->name))
			continue;
		n.there++;
		n.held += value_holds(m, span_trim(request->headers[i].value));
	}
	return count_holds(m, &n, is_deny);
}

/* Decodes a part of a query; what is malformed stays as it is. */
static void decode_part(struct buf *out, struct span part)
{
	buf_reset(out);
	while (part.size > 0) {
		char first = part.data[0];
		int c = span_take_escaped(&part);

		if (c >= 0) {
			buf_add_byte(out, first == '+' ? ' ' : (char)c);
		} else {
			buf_add_byte(out, first);
			span_skip(&part, 1);
		}
	}
}

static bool query_holds(const struct credential_field_match *m, struct span query, char separator,
                        bool is_deny)
{
	AUTO(buf_done) struct buf text = BUF(PATH_SIZE_MAX);
	struct field_count n = {0, 0};
	struct span part, name;

	while (query.size > 0) {
		(void)span_split(&query, separator, &part);
		(void)span_split(&part, '=', &name);
		decode_part(&text, name);
		if (!span_equals_text(buf_span(&text), m->name))
			continue;
		n.there++;
		decode_part(&text, part);
		n.held += value_holds(m, buf_span(&text));
	}
	return count_holds(m, &n, is_deny);
}

/* Some servers part a query at ';', too: that must not lead past a rule that refuses. */
static bool query_is_of(const struct credential_match *m, struct span query, bool is_deny,
                        struct match_budget *budget)
{
	const struct credential_field_match *fields = m->query.items;
	bool is_parted = is_deny && query.size > 0 && memchr(query.data, ';', query.size);

	for (size_t i = 0; i < m->query.count; i++) {
		if (!take_steps(budget, query.size))
			return is_deny;
		if (!query_holds(&fields[i], query, '&', is_deny) &&
		    !(is_parted && query_holds(&fields[i], query, ';', true)))
			return false;
	}
	return true;
}

/* Some servers take "delete" for "DELETE". */
static bool method_holds(const char *const *methods, struct span method, bool is_deny)
{
	for (size_t i = 0; methods && methods[i]; i++)
		if (is_deny ? span_is_word(method, methods[i])
		            : span_equals_text(method, methods[i]))
			return true;
	return !methods || !methods[0];
}

/* Servers differ in what of a path they compare, and how. None of it must lead past a rule that
 * refuses: an escaped slash that is a slash, unless the rule speaks of it; another case; what
 * loosen_path takes away. */
static bool path_is_of(const struct credential_match *m, const struct decoded_path *path,
                       bool is_deny, struct match_budget *budget)
{
	struct path_comparison c = {buf_span(&path->kept), is_deny, false, budget};
	bool is_opened = is_deny && !m->encoded_slash;

	if (path_holds(&m->path, &c))
		return true;
	if (!is_deny)
		return false;
	c.is_loose = true;
	if (path_holds(&m->path, &c))
		return true;
	c.path = buf_span(is_opened ? &path->loose_opened : &path->loose_kept);
	if (path_holds(&m->path, &c))
		return true;
	c.path = buf_span(&path->opened);
	return is_opened && path_holds(&m->path, &c);
}

static bool rule_holds(const struct credential_rule *rule, const struct credential_request *request,
                       const struct decoded_path *path, struct match_budget *budget)
{
	const struct credential_match *m = &rule->match;
	const struct credential_field_match *headers = m->headers.items;
	bool is_deny = rule->action == CREDENTIAL_DENY;

	if (rule->scheme != request->scheme || !credential_host_has(rule->host, request->host) ||
	    !method_holds((const char *const *)m->methods, request->method, is_deny) ||
	    !path_is_of(m, path, is_deny, budget) ||
	    !query_is_of(m, request->query, is_deny, budget))
		return false;
	for (size_t i = 0; i < m->headers.count; i++)
		if (!header_holds(&headers[i], request, is_deny))
			return false;
	return true;
}

const struct credential_rule *credential_rules_find(const struct credential_rules *rules,
                                                    const struct credential_request *request)
{
	AUTO(done_path) struct decoded_path path = {BUF(PATH_SIZE_MAX), BUF(PATH_SIZE_MAX),
	                                            BUF(PATH_SIZE_MAX), BUF(PATH_SIZE_MAX)};
	struct match_budget budget = {STEPS_MAX};

	decode_path(&path.kept, request->path, "%2F");
	decode_path(&path.opened, request->path, "/");
	loosen_path(&path.loose_kept, buf_span(&path.kept));
	loosen_path(&path.loose_opened, buf_span(&path.opened));
	for (size_t i = 0; i < rules->rules.count; i++) {
		const struct credential_rule *rule = credential_rule_at(rules, i);

		if (rule_holds(rule, request, &path, &budget))
			return rule;
	}
	return NULL;
}
