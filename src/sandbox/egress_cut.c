/* SPDX-License-Identifier: Apache-2.0 */
/* The first word of a text of network rules, when a quota takes the network away. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sandbox/egress.h"
#include "sandbox/quota.h"

#define SEPARATOR '/'

struct cut_parts {
	struct span name, scope, subject, limit, until;
};

static bool is_cut_word(struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '_' && c != '.' && c != ':'))
			return false;
	}
	return text.size > 0;
}

static bool is_scope(struct span text)
{
	for (unsigned i = 0; i < QUOTA_SCOPE_COUNT; i++)
		if (span_equals_text(text, quota_scopes[i]))
			return true;
	return false;
}

/* "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z" */
static bool parse_cut(struct span cut, struct cut_parts *ret)
{
	struct span *const parts[] = {&ret->name, &ret->scope, &ret->subject, &ret->limit};

	if (cut.size > SANDBOX_EGRESS_CUT_MAX)
		return false;
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (!span_split(&cut, SEPARATOR, parts[i]) || !is_cut_word(*parts[i]))
			return false;
	ret->until = cut;
	return is_cut_word(cut) && is_scope(ret->scope) &&
	       span_equals_text(ret->name, quota_limits[QUOTA_EGRESS_MB_PER_DAY].name);
}

bool egress_cut_is_valid(struct span cut)
{
	struct cut_parts parts;

	return parse_cut(cut, &parts);
}

void egress_cut_format(char out[SANDBOX_EGRESS_CUT_MAX + 1], const struct egress_quota *quota)
{
	AUTO(buf_done) struct buf until = BUF(32);
	int subject_max;

	clock_format(&until, quota->until);
	/* A long subject is shortened: the kernel's log has room for so much. */
	subject_max =
	        SANDBOX_EGRESS_CUT_MAX - snprintf(NULL, 0, "%s/%s//%.10g/%s",
	                                          quota_limits[QUOTA_EGRESS_MB_PER_DAY].name,
	                                          quota->scope, quota->limit_mb, buf_text(&until));
	(void)snprintf(out, SANDBOX_EGRESS_CUT_MAX + 1, "%s/%s/%.*s/%.10g/%s",
	               quota_limits[QUOTA_EGRESS_MB_PER_DAY].name, quota->scope, subject_max,
	               quota->subject, quota->limit_mb, buf_text(&until));
}

void egress_cut_describe(struct buf *out, struct span cut)
{
	struct cut_parts p;

	if (!parse_cut(cut, &p)) {
		buf_add_text(out, "a quota of sent bytes is used up");
		return;
	}
	buf_addf(out,
	         "quota %.*s of %.*s '%.*s' is used up: %.*s MB a day; the network comes back at "
	         "%.*s",
	         (int)p.name.size, p.name.data, (int)p.scope.size, p.scope.data,
	         (int)p.subject.size, p.subject.data, (int)p.limit.size, p.limit.data,
	         (int)p.until.size, p.until.data);
}

const char *sandbox_egress_under(struct arena *a, const char *text, const char *cut)
{
	if (!cut || !*cut)
		return text;
	return *text ? arena_format(a, "%c%s %s", SANDBOX_EGRESS_CUT, cut, text)
	             : arena_format(a, "%c%s", SANDBOX_EGRESS_CUT, cut);
}

struct span sandbox_egress_cut(const char *text)
{
	struct span rest = span_of(text ? text : ""), word;

	if (rest.size == 0 || rest.data[0] != SANDBOX_EGRESS_CUT)
		return (struct span){NULL, 0};
	(void)span_split(&rest, ' ', &word);
	span_skip(&word, 1);
	return word;
}
