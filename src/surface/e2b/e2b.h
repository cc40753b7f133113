/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/e2b.h — E2B's control API at E2B's own paths: what its files share. Private to this
 * folder.
 *
 * Two generations of paths are served by the same handlers. Bodies are open shapes: newer clients
 * may send more. What Atoll cannot do is refused by its name. */
#pragma once

#include "edge/caller.h"
#include "fleet/snapshots.h"
#include "http/http.h"

/* The version of E2B's daemon whose calls src/api/envd answers: clients look at it before they use
 * what is newer. */
#define E2B_ENVD_VERSION "0.6.13"
#define E2B_PAGE_MAX 100

/* Of every row: their reference is E2B's. */
#define E2B_TAG "e2b"
#define E2B_ROW .tag = E2B_TAG, .summary = "See docs/use/migrate-e2b.md"

/* Of E2B's states: running or paused; false for what its clients must not see. */
bool e2b_state_of(const struct sandbox_record *r, const char **ret);
/* The sandbox of ":id", which is one that E2B's clients may see. */
MUST_CHECK int e2b_sandbox_find(struct request *rq, struct sandbox_record *ret, struct error *err);
struct fleet_ref e2b_ref_of(const struct request *rq);

/* The reply of what makes or connects to a sandbox. */
struct e2b_sandbox {
	const char *template_id, *sandbox_id, *alias, *client_id, *envd_version, *envd_access_token,
	        *traffic_access_token, *domain;
};
extern const struct json_shape e2b_sandbox_shape;
struct e2b_sandbox e2b_sandbox_of(struct request *rq, const struct sandbox_record *r);

/* "name", "id", "name:tag", "team/name:tag" without team and without the tag, which is "default"
 * when there is none. */
struct e2b_name {
	const char *name, *tag;
	const char *own; /* what it is called here: NAME, or NAME..TAG */
};
MUST_CHECK int e2b_name_parse(struct arena *a, const char *text, struct e2b_name *ret,
                              struct error *err);
/* "NAME:TAG" of what is called so here. */
const char *e2b_name_format(struct arena *a, const char *own);
/* The same without the tag "default": a templateID. */
const char *e2b_name_short(struct arena *a, const char *own);
MUST_CHECK int e2b_template_find(struct request *rq, const struct e2b_name *name,
                                 struct template_record *ret, struct error *err);
MUST_CHECK int e2b_snapshot_find(struct request *rq, const struct e2b_name *name,
                                 struct snapshot_record *ret, struct error *err);

/* An id leaves 28 bits of a UUID free: `mark` is in them, and was not looked at when it is read. */
#define E2B_MARK_BITS 28
const char *e2b_uuid_format(struct arena *a, const char *id, uint32_t mark);
MUST_CHECK int e2b_uuid_parse(const char *text, struct id *ret, uint32_t *ret_mark,
                              struct error *err);

/* What a request says of the network; see network.c. */
struct e2b_network {
	const char **allow_out, **deny_out;
	const char *mask_request_host;
	struct span egress_proxy, rules, https_ports;
	bool allow_public_traffic, allow_internet;
	uint64_t present;
};
extern const struct json_shape e2b_network_shape;
/* What comes of it: internet -1 = not said, 0 = no network at all, and rules as of
 * sandbox/egress.h. */
struct e2b_access {
	int internet;
	const char *egress;
};
/* `said`: of the internet, beside it; -1 = nothing. */
MUST_CHECK int e2b_network_access(struct arena *a, const struct e2b_network *n, int said,
                                  struct e2b_access *ret, struct error *err);
/* Whether its ports want the traffic token. */
bool e2b_network_is_guarded(const struct e2b_network *n);
/* As it is kept in the record … */
const char *e2b_network_format(struct arena *a, const struct e2b_network *n);
/* … and shown again, with the rules that hold now. */
const char *e2b_network_format_current(struct arena *a, const struct sandbox_record *r);
