/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/e2b.h — what the files of E2B's control API share. The API is at E2B's own paths.
 *
 * The same handlers serve two generations of paths. Bodies are open shapes, because newer clients
 * may send more members. A feature that Atoll does not have is refused by its name. */
#pragma once

#include "edge/api.h"

struct id;
struct json_shape;
struct sandbox_record;
struct snapshot_record;
struct template_record;

/* The version of E2B's daemon whose calls surface/envd answers. Clients check it before they use
 * newer calls. */
#define E2B_ENVD_VERSION "0.6.13"
#define E2B_PAGE_MAX 100

/* Of every route row: E2B documents the calls. */
#define E2B_TAG "e2b"
#define E2B_ROW .tag = E2B_TAG, .summary = "See docs/use/migrate-e2b.md"

/* E2B's state of a sandbox: "running" or "paused". Returns false if E2B's clients must not see the
 * sandbox. */
bool e2b_state_of(const struct sandbox_record *r, const char **ret);
/* Finds the sandbox of ":id". ERROR_NOT_FOUND if E2B's clients must not see it. */
MUST_CHECK int e2b_sandbox_find(struct request *rq, struct sandbox_record *ret, struct error *err);

/* The reply of the calls that create or connect to a sandbox. */
struct e2b_sandbox {
	const char *template_id;
	const char *sandbox_id;
	const char *alias;
	const char *client_id;
	const char *envd_version;
	const char *envd_access_token;
	const char *traffic_access_token;
	const char *domain;
};
extern const struct json_shape e2b_sandbox_shape;
struct e2b_sandbox e2b_sandbox_of(struct request *rq, const struct sandbox_record *r);

/* E2B's "name", "id", "name:tag" or "team/name:tag". The team is ignored. */
struct e2b_name {
	const char *name;
	const char *tag; /* "default" if none is given */
	const char *own; /* the name in the store: NAME, or NAME..TAG */
};
MUST_CHECK int e2b_name_parse(struct arena *a, const char *text, struct e2b_name *ret,
                              struct error *err);
/* "NAME:TAG" for a name in the store. */
const char *e2b_name_format(struct arena *a, const char *own);
/* The same without the tag "default": a templateID. */
const char *e2b_name_short(struct arena *a, const char *own);
MUST_CHECK int e2b_template_find(struct request *rq, const struct e2b_name *name,
                                 struct template_record *ret, struct error *err);
MUST_CHECK int e2b_snapshot_find(struct request *rq, const struct e2b_name *name,
                                 struct snapshot_record *ret, struct error *err);

/* Clients expect a UUID. An id leaves 28 bits of a UUID free; they hold `mark`, which the parser
 * returns unchecked. */
#define E2B_MARK_BITS 28
const char *e2b_uuid_format(struct arena *a, const char *id, uint32_t mark);
MUST_CHECK int e2b_uuid_parse(const char *text, struct id *ret, uint32_t *ret_mark,
                              struct error *err);

/* The network settings of a request; see network.c. */
struct e2b_network {
	const char **allow_out;
	const char **deny_out;
	const char *mask_request_host;
	struct span egress_proxy;
	struct span rules;
	struct span https_ports;
	bool allow_public_traffic;
	bool allow_internet;
	uint64_t present;
};
extern const struct json_shape e2b_network_shape;
/* The access that results from the settings. */
struct e2b_access {
	int internet;       /* -1 = not given, 0 = no network at all, 1 = a network */
	const char *egress; /* rules as in sandbox/egress.h */
};
/* `internet` is the setting beside the network object: -1 = not given, 0 or 1. The object's own
 * member allow_internet_access has precedence. */
MUST_CHECK int e2b_network_access(struct arena *a, const struct e2b_network *n, int internet,
                                  struct e2b_access *ret, struct error *err);
/* Whether requests to the sandbox's ports need the traffic token. */
bool e2b_network_is_guarded(const struct e2b_network *n);
/* The text that the sandbox's record stores. */
const char *e2b_network_format(struct arena *a, const struct e2b_network *n);
/* The text that replies show: the stored one with the rules that are in force now. */
const char *e2b_network_format_current(struct arena *a, const struct sandbox_record *r);
