/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/native.h — the native API: its route tables, what the bodies and answers of many
 * of its routes have in common, and the state that it owns. */
#pragma once

#include "http/server/http.h"
#include "json/json.h"

struct api;

extern const struct route activity_routes[];
extern const struct route decisions_routes[];
extern const struct route audit_routes[];
extern const struct route artifacts_routes[];
extern const struct route backups_routes[];
extern const struct route builds_routes[];
extern const struct route changes_routes[];
extern const struct route channels_routes[];
extern const struct route configs_routes[];
extern const struct route contexts_routes[];
extern const struct route ephemeral_routes[];
extern const struct route events_routes[];
extern const struct route exec_routes[];
extern const struct route figures_routes[];
extern const struct route connects_routes[];
extern const struct route credentials_routes[];
extern const struct route files_routes[];
extern const struct route git_routes[];
extern const struct route history_routes[];
extern const struct route invitations_routes[];
extern const struct route jobs_routes[];
extern const struct route keys_routes[];
extern const struct route lease_files_routes[];
extern const struct route leases_routes[];
extern const struct route limits_routes[];
extern const struct route me_routes[];
extern const struct route members_routes[];
extern const struct route oidc_routes[];
extern const struct route organizations_routes[];
extern const struct route pools_routes[];
extern const struct route processes_routes[];
extern const struct route projects_routes[];
extern const struct route quotas_routes[];
extern const struct route recordings_routes[];
extern const struct route sandbox_list_routes[];
extern const struct route sandbox_patch_routes[];
extern const struct route sandboxes_routes[];
extern const struct route secrets_routes[];
extern const struct route file_links_routes[];
extern const struct route file_search_routes[];
extern const struct route ports_routes[];
extern const struct route services_routes[];
extern const struct route session_routes[];
extern const struct route settings_routes[];
extern const struct route snapshots_routes[];
extern const struct route summary_routes[];
extern const struct route templates_routes[];
extern const struct route terminal_routes[];
extern const struct json_shape terminal_control_shape;
extern const struct route trash_routes[];
extern const struct route usage_routes[];
extern const struct route users_routes[];
extern const struct route volume_files_routes[];
extern const struct route volumes_routes[];
extern const struct route webhooks_routes[];
extern const struct route windows_routes[];
extern const struct route workspaces_routes[];

/* Terminal windows, whose viewers see each other's activity, and streams of figures. */
void native_state_open(struct api *api);
/* Ends recordings that are still being written. */
void native_state_stop(struct api *api);
void native_state_close(struct api *api);

/* A list that is answered whole, or one page of a longer list. */
struct list_answer {
	struct json_list items;
	const char *next_page; /* NULL: this is the last page */
};

static inline void reply_page(struct reply *reply, const struct json_shape *shape,
                              struct json_list items, const char *next_page)
{
	reply_json(reply, shape, &(struct list_answer){items, next_page});
}

static inline void reply_list(struct reply *reply, const struct json_shape *shape, void *items,
                              size_t count)
{
	reply_page(reply, shape, (struct json_list){items, count, .present = true}, NULL);
}

/* Whether a provider of the server can meet the defaults of a template or a project; NULL or "" =
 * none. settings.c */
MUST_CHECK int native_check_placement(struct request *rq, const char *provider,
                                      const char *isolation, struct error *err);
/* -1 stands for a count that the provider does not know, and for one that JSON cannot hold. */
static inline int64_t whole_or_unknown(uint64_t value)
{
	return value > INT64_MAX ? -1 : (int64_t)value;
}

/* `row`: the index of the member in its shape. */
static inline bool row_is_given(uint64_t present, unsigned row)
{
	return present >> row & 1;
}

/* The header Last-Event-ID of a client that resumes a stream: sets both results, or neither. */
static inline int last_event_read(const struct request *rq, bool *ret_given, int64_t *ret,
                                  struct error *err)
{
	const char *id = request_header(rq, "Last-Event-ID");

	if (!id)
		return 0;
	*ret_given = true;
	return span_parse_whole(span_of(id), 0, INT64_MAX, ret, err) < 0
	               ? FAIL_CONTEXT(err, "Last-Event-ID")
	               : 0;
}
