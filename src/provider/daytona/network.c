/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules as the service has them: a list of what a sandbox may reach; without lists it may
 * reach everything. Rules that deny become the list of all other ranges. */
#include "provider/daytona/daytona.h"

#include "json/write.h"
#include "sandbox/egress.h"

#define BLOCKS_MAX 100         /* entries of the list of ranges */
#define NOWHERE "192.0.2.1/32" /* of documentation (RFC 5737): no host has it */
#define EVERYWHERE SANDBOX_EGRESS_ALL

struct daytona_lists {
	const char *ranges, *names; /* separated by commas; "" = none */
	bool has_all;               /* nothing is denied */
};

static int join_ranges(struct arena *a, const char *egress, struct daytona_lists *ret,
                       struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(BLOCKS_MAX * EGRESS_BLOCK_SIZE);
	struct egress_ranges allowed;
	char block[EGRESS_BLOCK_SIZE];
	unsigned count = 0;

	if (sandbox_egress_allowed(egress, &allowed, err) < 0)
		return -1;
	for (size_t i = 0; i < allowed.count; i++) {
		uint64_t at = allowed.items[i].first;

		while (egress_range_next_block(&allowed.items[i], &at, block)) {
			if (++count > BLOCKS_MAX)
				break;
			buf_addf(&out, "%s%s", count > 1 ? "," : "", block);
		}
	}
	if (count > BLOCKS_MAX)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "Daytona has lists of what a sandbox may reach: as such a list these "
		            "rules have more than %d ranges",
		            BLOCKS_MAX);
	ret->ranges = arena_copy(a, buf_span(&out));
	ret->has_all = allowed.count == 1 && allowed.items[0].first == 0 &&
	               allowed.items[0].last == UINT32_MAX;
	return 0;
}

static int join_names(struct arena *a, const char *egress, struct daytona_lists *ret,
                      struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(SANDBOX_EGRESS_TEXT_MAX);
	struct sandbox_egress rules;

	if (sandbox_egress_parse(a, egress, &rules, err) < 0)
		return -1;
	for (const char *const *item = rules.allow; item && *item; item++)
		if (egress_name_is_valid(span_of(*item)))
			buf_addf(&out, "%s%s", out.size ? "," : "", *item);
	ret->names = arena_copy(a, buf_span(&out));
	return 0;
}

int daytona_network_write(const struct remote *r, struct arena *a, struct buf *out,
                          const struct daytona_rules *wanted, struct error *err)
{
	struct daytona_lists lists = {.ranges = EVERYWHERE, .names = "", .has_all = true};
	const char *egress = wanted->egress ? wanted->egress : "";
	bool is_blocked = wanted->is_blocked;

	if (!is_blocked && *egress &&
	    (remote_rules_check(r, egress, err) < 0 || join_ranges(a, egress, &lists, err) < 0 ||
	     join_names(a, egress, &lists, err) < 0))
		return -1;
	is_blocked = is_blocked || (!*lists.ranges && !*lists.names);
	json_add_bool(out, "networkBlockAll", is_blocked && !r->own->blocks_by_list);
	if (is_blocked && !r->own->blocks_by_list)
		return 0;
	/* A change names both lists, since those of before would stay. */
	if (wanted->is_change || is_blocked || !lists.has_all)
		json_add_text(out, "networkAllowList", *lists.ranges ? lists.ranges : NOWHERE);
	if (wanted->is_change || *lists.names)
		json_add_text(out, "domainAllowList", is_blocked ? "" : lists.names);
	return 0;
}

int daytona_filter(struct remote *r, const struct remote_sandbox *s, const char *egress,
                   int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(256 * 1024);
	const struct daytona_rules wanted = {.egress = egress, .is_change = true};

	json_begin_object(&body, NULL);
	if (daytona_network_write(r, &arena, &body, &wanted, err) < 0)
		return -1;
	json_end_object(&body);
	const struct remote_call call = {
	        .method = "POST",
	        .path = arena_format(&arena, "/sandbox/%s/network-settings", s->remote_id),
	        .body = buf_span(&body),
	        .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}
