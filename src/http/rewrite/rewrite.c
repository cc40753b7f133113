/* SPDX-License-Identifier: Apache-2.0 */
#include "http/rewrite/rewrite.h"

#include <stdio.h>

void rewriter_init(struct rewriter *r, const struct rewrite_place *place, enum rewriter_kind kind)
{
	*r = (struct rewriter){.place = *place,
	                       .kind = kind,
	                       .held = BUF(REWRITE_TAG_MAX),
	                       .hashes = BUF(REWRITE_HASHES_MAX)};
}

void rewriter_done(struct rewriter *r)
{
	buf_done(&r->held);
	buf_done(&r->hashes);
	css_rewriter_done(&r->css);
}

static void add_escaped(struct buf *out, struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] == '"')
			buf_add_text(out, "&quot;");
		else if (text.data[i] == '\'')
			buf_add_text(out, "&#39;");
		else if (text.data[i] == '&')
			buf_add_text(out, "&amp;");
		else if (text.data[i] == '<')
			buf_add_text(out, "&lt;");
		else
			buf_add_byte(out, text.data[i]);
	}
}

static void put_base(struct rewriter *r, struct buf *out)
{
	r->has_base = true;
	buf_add_text(out, "<base href=\"");
	add_escaped(out, r->place.prefix);
	add_escaped(out, r->place.document);
	buf_add_text(out, "\">");
}

static void put_script(struct rewriter *r, struct buf *out)
{
	r->has_script = true;
	buf_add_text(out, "<script>");
	rewrite_add_script(out, r->place.prefix);
	buf_add_text(out, "</script>");
}

/* Only before the first module script, and only when the page has no import map: a page may have a
 * single one. */
static void put_imports(struct rewriter *r, struct buf *out)
{
	r->has_imports = true;
	buf_add_text(out, "<script type=\"importmap\">");
	rewrite_add_imports(out, r->place.prefix);
	buf_add_text(out, "</script>");
}

struct attribute {
	struct span name, value;
	bool is_quoted;
};

/* Facts about the current tag, computed once for its attributes, which may be thousands. */
struct element {
	struct span name;
	struct span meaning; /* http-equiv of a <meta>, until its content was read */
};

/* Reads an attribute from *at, after the tag's name. False at the tag's end. */
static bool next_attribute(const char **at, const char *end, struct attribute *ret)
{
	const char *c = *at;

	while (c < end && (rewrite_is_blank(*c) || *c == '/'))
		c++;
	if (c >= end || *c == '>')
		return false;
	ret->name.data = c++;
	while (c < end && !rewrite_is_blank(*c) && *c != '=' && *c != '>' && *c != '/')
		c++;
	ret->name.size = (size_t)(c - ret->name.data);
	ret->value = (struct span){c, 0};
	ret->is_quoted = false;
	*at = c;
	while (c < end && rewrite_is_blank(*c))
		c++;
	if (c >= end || *c != '=')
		return true;
	c++;
	while (c < end && rewrite_is_blank(*c))
		c++;
	char quote = c < end && (*c == '"' || *c == '\'') ? *c++ : 0;
	ret->value.data = c;
	while (c < end && (quote ? *c != quote : !rewrite_is_blank(*c) && *c != '>'))
		c++;
	ret->value.size = (size_t)(c - ret->value.data);
	ret->is_quoted = quote;
	*at = c + (quote && c < end);
	return true;
}

static struct span tag_name(struct span tag)
{
	size_t i = 1;

	while (i < tag.size && !rewrite_is_blank(tag.data[i]) && tag.data[i] != '>' &&
	       (tag.data[i] != '/' || i == 1))
		i++;
	return (struct span){tag.data + 1, i - 1};
}

static struct span find_value(struct span tag, const char *name)
{
	const char *at = tag.data + 1 + tag_name(tag).size, *end = tag.data + tag.size;
	struct attribute attribute;

	while (next_attribute(&at, end, &attribute))
		if (span_is_word(attribute.name, name))
			return attribute.value;
	return (struct span){NULL, 0};
}

/* "/a.png 1x, /b.png 2x" */
static void add_set(struct buf *out, struct span set, const struct rewrite_place *place)
{
	while (set.size) {
		size_t url = 0, rest;

		while (set.size && (rewrite_is_blank(set.data[0]) || set.data[0] == ',')) {
			buf_add_byte(out, set.data[0]);
			span_skip(&set, 1);
		}
		while (url < set.size && !rewrite_is_blank(set.data[url]))
			url++;
		rewrite_url(out, (struct span){set.data, url}, place);
		for (rest = url; rest < set.size && set.data[rest] != ',';)
			rest++;
		buf_add(out, set.data + url, rest - url);
		span_skip(&set, rest);
	}
}

static void add_style(struct buf *out, struct span style, const struct rewrite_place *place)
{
	AUTO(css_rewriter_done) struct css_rewriter css = {CSS_TEXT};

	css_rewriter_take(&css, place, style, out);
	css_rewriter_end(&css, out);
}

/* The size of a character reference for a quote at the front, or 0. Only the common spellings
 * count. */
static size_t take_reference(struct span text, char *ret)
{
	static const struct {
		const char *text;
		char means;
	} references[] = {{"&#39;", '\''}, {"&#039;", '\''}, {"&#x27;", '\''}, {"&apos;", '\''},
	                  {"&quot;", '"'}, {"&#34;", '"'},   {"&amp;", '&'}};

	for (size_t i = 0; i < COUNT_OF(references); i++) {
		if (!span_starts_with_word(text, references[i].text))
			continue;
		*ret = references[i].means;
		return strlen(references[i].text);
	}
	return 0;
}

/* The policy of a <meta>. A policy with other references, or without quotes, stays unchanged. */
static void add_policy(struct rewriter *r, struct buf *out, const struct attribute *a)
{
	const struct span value = a->value;
	AUTO(buf_done) struct buf policy = BUF(REWRITE_TAG_MAX);
	AUTO(buf_done) struct buf rewritten = BUF(2 * REWRITE_TAG_MAX);

	for (size_t i = 0, size; i < value.size; i += size) {
		char c = value.data[i];

		size = c == '&' ? take_reference((struct span){value.data + i, value.size - i}, &c)
		                : 1;
		if (!size) {
			buf_add_span(out, value);
			return;
		}
		buf_add_byte(&policy, c);
	}
	rewrite_csp_by(&rewritten, buf_span(&policy), &r->place, &r->hashes);
	r->has_base = r->has_base || rewrite_csp_limits_base(buf_span(&policy));
	if (rewritten.overflowed || !a->is_quoted)
		buf_add_span(out, value);
	else
		add_escaped(out, buf_span(&rewritten));
}

/* The script has the same table (script.c). Custom elements have addresses only in the
 * common attributes; their data attributes stay unchanged. */
static bool is_url(struct span element, struct span attribute)
{
	static const struct {
		const char *attribute, *elements[3]; /* no elements: any element */
	} urls[] = {
	        {"src", {NULL}},
	        {"href", {NULL}},
	        {"xlink:href", {NULL}},
	        {"action", {"form"}},
	        {"formaction", {"button", "input"}},
	        {"poster", {"video"}},
	        {"data", {"object"}},
	        {"manifest", {"html"}},
	        {"ping", {"a", "area"}},
	        {"background", {"body", "table", "td"}},
	};

	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		if (!span_is_word(attribute, urls[i].attribute))
			continue;
		for (size_t j = 0; j < COUNT_OF(urls[i].elements) && urls[i].elements[j]; j++)
			if (span_is_word(element, urls[i].elements[j]))
				return true;
		return !urls[i].elements[0];
	}
	return false;
}

/* Only the first attribute of a <meta> counts, as in browsers. */
static void add_content(struct rewriter *r, struct buf *out, struct element *e,
                        const struct attribute *a)
{
	struct span meaning = e->meaning;

	e->meaning = (struct span){NULL, 0};
	if (span_is_word(meaning, "refresh"))
		rewrite_refresh(out, a->value, &r->place);
	else if (span_is_word(meaning, "content-security-policy"))
		add_policy(r, out, a);
	else
		buf_add_span(out, a->value);
}

static void add_value(struct rewriter *r, struct buf *out, struct element *e,
                      const struct attribute *a)
{
	if (is_url(e->name, a->name))
		rewrite_url(out, a->value, &r->place);
	else if (span_is_word(a->name, "srcset") || span_is_word(a->name, "imagesrcset"))
		add_set(out, a->value, &r->place);
	else if (span_is_word(a->name, "style"))
		add_style(out, a->value, &r->place);
	else if (e->meaning.size && span_is_word(a->name, "content"))
		add_content(r, out, e, a);
	else
		buf_add_span(out, a->value);
}

static void add_tag(struct rewriter *r, struct buf *out, struct span tag)
{
	struct element element = {.name = tag_name(tag)};
	const char *copied = tag.data, *end = tag.data + tag.size;
	const char *at = tag.data + 1 + element.name.size;
	struct attribute attribute;

	if (span_is_word(element.name, "meta"))
		element.meaning = find_value(tag, "http-equiv");

	while (next_attribute(&at, end, &attribute)) {
		if (!attribute.value.size)
			continue;
		buf_add(out, copied, (size_t)(attribute.value.data - copied));
		add_value(r, out, &element, &attribute);
		copied = attribute.value.data + attribute.value.size;
	}
	buf_add(out, copied, (size_t)(end - copied));
}

/* Comes before the first tag that could hold an address, but after the page's own <base>. */
static void put_before(struct rewriter *r, struct buf *out, struct span tag, struct span name)
{
	static const char *const without[] = {"html", "head", "meta", "title", "base"};
	bool is_module;

	for (size_t i = 0; i < COUNT_OF(without); i++)
		if (span_is_word(name, without[i]))
			return;
	if (!r->has_base)
		put_base(r, out);
	if (!r->has_script)
		put_script(r, out);
	if (span_is_word(name, "script") && span_is_word(find_value(tag, "type"), "importmap"))
		r->has_imports = true;
	is_module =
	        (span_is_word(name, "script") && span_is_word(find_value(tag, "type"), "module")) ||
	        (span_is_word(name, "link") &&
	         span_is_word(find_value(tag, "rel"), "modulepreload"));
	if (is_module && !r->has_imports)
		put_imports(r, out);
}

/* Begins an element whose content is not markup. */
static void begin_raw(struct rewriter *r, struct span name)
{
	static const char *const raw[] = {"script", "style",  "textarea", "title",
	                                  "xmp",    "iframe", "noembed",  "noframes"};

	r->state = REWRITER_TEXT;
	r->is_style = span_is_word(name, "style");
	for (size_t i = 0; i < COUNT_OF(raw); i++) {
		if (!span_is_word(name, raw[i]))
			continue;
		(void)snprintf(r->raw, sizeof(r->raw), "%s", raw[i]);
		r->state = REWRITER_RAW;
	}
}

static bool is_of_page(struct span name)
{
	return span_is_word(name, "html") || span_is_word(name, "head") ||
	       span_is_word(name, "body");
}

static void take_tag(struct rewriter *r, struct buf *out)
{
	struct span tag = buf_span(&r->held), name = tag_name(tag);

	if (name.size && name.data[0] == '/') {
		buf_add_span(out, tag);
		r->state = REWRITER_TEXT;
	} else {
		if (r->kind == REWRITER_ANY && is_of_page(name))
			r->kind = REWRITER_PAGE;
		if (r->kind == REWRITER_PAGE)
			put_before(r, out, tag, name);
		if (span_is_word(name, "base") && find_value(tag, "href").size)
			r->has_base = true;
		add_tag(r, out, tag);
		begin_raw(r, name);
	}
	buf_reset(&r->held);
}

static void hold_byte(struct rewriter *r, char c)
{
	buf_add_byte(&r->held, c);
}

static void release_held(struct rewriter *r, struct buf *out)
{
	buf_add_span(out, buf_span(&r->held));
	buf_reset(&r->held);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* After "<". */
static void take_open(struct rewriter *r, char c, struct buf *out)
{
	hold_byte(r, c);
	struct span held = buf_span(&r->held);
	if (held.size == 2 && (is_letter(c) || c == '/')) {
		r->state = REWRITER_TAG;
		r->quote = 0;
		r->after_equals = false;
		return;
	}
	if (span_equals_text(held, "<!--")) {
		r->state = REWRITER_COMMENT;
		r->dashes = 2;
	} else if (c == '-' || (c == '!' && held.size == 2)) {
		return;
	} else {
		r->state = REWRITER_TEXT;
		if (r->kind == REWRITER_ANY && span_is_word(held, "<!d"))
			r->kind = REWRITER_PAGE;
	}
	/* Another tag may begin at the byte where this one ends. */
	if (c == '<' && r->state == REWRITER_TEXT) {
		r->held.size--;
		release_held(r, out);
		hold_byte(r, c);
		r->state = REWRITER_OPEN;
		return;
	}
	release_held(r, out);
}

/* Whether the byte ends the tag. A quote counts only where a value may begin. */
static bool ends_tag(struct rewriter *r, char c)
{
	if (r->quote) {
		if (c == r->quote)
			r->quote = 0;
		return false;
	}
	if ((c == '"' || c == '\'') && r->after_equals)
		r->quote = c;
	if (!rewrite_is_blank(c))
		r->after_equals = c == '=';
	return c == '>';
}

static void take_in_tag(struct rewriter *r, char c, struct buf *out)
{
	bool ends = ends_tag(r, c);

	if (r->held.size == REWRITE_TAG_MAX) {
		release_held(r, out);
		r->state = REWRITER_LONG_TAG;
	}
	if (r->state == REWRITER_LONG_TAG) {
		buf_add_byte(out, c);
		if (ends)
			r->state = REWRITER_TEXT;
		return;
	}
	hold_byte(r, c);
	if (ends)
		take_tag(r, out);
}

static void take_comment(struct rewriter *r, char c, struct buf *out)
{
	buf_add_byte(out, c);
	if (c == '>' && r->dashes >= 2)
		r->state = REWRITER_TEXT;
	r->dashes = c == '-' ? r->dashes + 1 : 0;
}

static void add_raw(struct rewriter *r, struct span text, struct buf *out)
{
	if (r->is_style)
		css_rewriter_take(&r->css, &r->place, text, out);
	else
		buf_add_span(out, text);
}

/* In a script only "</script" followed by a byte that is no part of a name is a tag. */
static void take_raw_end(struct rewriter *r, char c, struct buf *out)
{
	size_t size = strlen(r->raw), at = r->held.size;

	if (at == 1 ? c == '/' : at < size + 2 && (c | 32) == r->raw[at - 2]) {
		hold_byte(r, c);
		return;
	}
	if (at == size + 2 && (rewrite_is_blank(c) || c == '/' || c == '>')) {
		if (r->is_style)
			css_rewriter_end(&r->css, out);
		r->is_style = false;
		r->state = REWRITER_TAG;
		r->quote = 0;
		r->after_equals = false;
		take_in_tag(r, c, out);
		return;
	}
	add_raw(r, buf_span(&r->held), out);
	buf_reset(&r->held);
	r->state = REWRITER_RAW;
	if (c == '<') {
		hold_byte(r, c);
		r->state = REWRITER_RAW_END;
	} else {
		add_raw(r, (struct span){&c, 1}, out);
	}
}

/* Passes text unchanged up to the next "<". */
static size_t take_plain(struct rewriter *r, struct span in, struct buf *out)
{
	ptrdiff_t open = span_find(in, '<');
	size_t size = open < 0 ? in.size : (size_t)open;

	add_raw(r, (struct span){in.data, size}, out);
	if (open < 0)
		return size;
	hold_byte(r, '<');
	r->state = r->state == REWRITER_RAW ? REWRITER_RAW_END : REWRITER_OPEN;
	return size + 1;
}

void rewriter_take(struct rewriter *r, struct span in, struct buf *out)
{
	for (size_t i = 0; i < in.size;) {
		char c = in.data[i];

		switch (r->state) {
		case REWRITER_TEXT:
		case REWRITER_RAW:
			i += take_plain(r, (struct span){in.data + i, in.size - i}, out);
			continue;
		case REWRITER_OPEN:
			take_open(r, c, out);
			break;
		case REWRITER_TAG:
		case REWRITER_LONG_TAG:
			take_in_tag(r, c, out);
			break;
		case REWRITER_COMMENT:
			take_comment(r, c, out);
			break;
		case REWRITER_RAW_END:
			take_raw_end(r, c, out);
			break;
		}
		i++;
	}
}

void rewriter_end(struct rewriter *r, struct buf *out)
{
	if (r->is_style)
		css_rewriter_end(&r->css, out);
	release_held(r, out);
	r->state = REWRITER_TEXT;
}
