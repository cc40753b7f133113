/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "sandbox/egress.h"

#define LABEL_MAX 63
#define WILDCARD "*."
#define WILDCARD_SIZE (sizeof(WILDCARD) - 1)

static bool is_label(struct span label, bool *ret_is_number)
{
	bool is_number = true;

	if (label.size == 0 || label.size > LABEL_MAX)
		return false;
	for (size_t i = 0; i < label.size; i++) {
		unsigned char c = (unsigned char)label.data[i];

		if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '_'))
			return false;
		is_number = is_number && isdigit(c);
	}
	*ret_is_number = is_number;
	return label.data[0] != '-' && label.data[label.size - 1] != '-';
}

bool host_name_is_valid(struct span name)
{
	bool is_number = true, has_more = true;
	struct span label;

	if (name.size > SANDBOX_HOST_NAME_MAX)
		return false;
	while (has_more) {
		has_more = span_split(&name, '.', &label);
		if (!is_label(label, &is_number))
			return false;
	}
	/* A name whose last label is a number is meant as an address. */
	return !is_number;
}

static struct span wildcard_domain(struct span pattern)
{
	return (struct span){pattern.data + WILDCARD_SIZE, pattern.size - WILDCARD_SIZE};
}

bool egress_name_is_valid(struct span pattern)
{
	if (pattern.size > SANDBOX_HOST_NAME_MAX)
		return false;
	return host_name_is_valid(span_starts_with(pattern, WILDCARD) ? wildcard_domain(pattern)
	                                                              : pattern);
}

static bool pattern_matches(struct span pattern, struct span name)
{
	if (!span_starts_with(pattern, WILDCARD))
		return span_is_same_word(name, pattern);
	/* ".example.com" needs at least one character before it. */
	span_skip(&pattern, 1);
	return name.size > pattern.size && span_ends_with_word(name, pattern);
}

/* Moves to the next entry that is a host name; returns false at the end. */
static bool next_signed_name(struct span *rest, char sign, struct span *ret)
{
	while (rest->size > 0) {
		struct span entry;
		struct span name;

		(void)span_split(rest, ' ', &entry);
		if (entry.size < 2 || entry.data[0] != sign)
			continue;
		name = (struct span){entry.data + 1, entry.size - 1};
		if (!egress_name_is_valid(name))
			continue;
		*ret = name;
		return true;
	}
	return false;
}

static bool next_name(struct span *rest, struct span *ret)
{
	return next_signed_name(rest, '+', ret);
}

bool sandbox_egress_decrypts(const char *text, struct span name, bool is_plain)
{
	struct span rest = span_of(text), mark;

	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &mark);
		if (mark.size < 2 || mark.data[0] != '!')
			continue;
		span_skip(&mark, 1);
		if (span_ends_with_word(mark, SPAN(SANDBOX_EGRESS_PLAIN)) != is_plain)
			continue;
		mark.size -= is_plain ? strlen(SANDBOX_EGRESS_PLAIN) : 0;
		if (egress_name_is_valid(mark) && pattern_matches(mark, name))
			return true;
	}
	return false;
}

bool sandbox_egress_has_names(const char *text)
{
	struct span rest = span_of(text), name;

	return next_name(&rest, &name);
}

struct span sandbox_egress_rule_of_name(const char *text, struct span name)
{
	struct span rest = span_of(text), pattern;

	if (!host_name_is_valid(name) || sandbox_egress_cut(text).size > 0)
		return (struct span){NULL, 0};
	while (next_name(&rest, &pattern))
		if (pattern_matches(pattern, name))
			return pattern;
	return (struct span){NULL, 0};
}

bool sandbox_egress_allows_name(const char *text, struct span name)
{
	return sandbox_egress_rule_of_name(text, name).size > 0;
}

static const struct egress_preset *find_preset(const char *name)
{
	for (const struct egress_preset *p = egress_presets; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static int refuse_preset(const char *name, struct error *err)
{
	AUTO(buf_done) struct buf known = BUF(256);

	for (const struct egress_preset *p = egress_presets; p->name; p++)
		buf_addf(&known, "%s%s", p == egress_presets ? "" : ", ", p->name);
	(void)FAIL(err, ERROR_INVALID, "unknown preset '%.64s' of network rules", name);
	return FAIL_HINT(err, "known presets: %s", buf_text(&known));
}

static size_t list_size(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

static bool list_has(const char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

int egress_presets_add(struct arena *a, const char *const *names, const char *const *allow,
                       const char ***ret, struct error *err)
{
	size_t count = list_size(allow), room = count;
	const struct egress_preset *preset;
	const char **all;

	for (size_t i = 0; names && names[i]; i++) {
		preset = find_preset(names[i]);
		if (!preset)
			return refuse_preset(names[i], err);
		room += list_size(preset->hosts);
	}
	all = ARENA_ARRAY(a, const char *, room + 1);
	for (size_t i = 0; i < count; i++)
		all[i] = allow[i];
	for (size_t i = 0; names && names[i]; i++) {
		preset = find_preset(names[i]);
		for (size_t j = 0; preset && preset->hosts[j]; j++)
			if (!list_has(all, count, preset->hosts[j]))
				all[count++] = preset->hosts[j];
	}
	all[count] = NULL;
	*ret = all;
	return 0;
}
