/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/routes.h — the route tables of the native API, and the state that it owns. */
#pragma once

#include "http/server/http.h"

struct api;

extern const struct route activity_routes[];
extern const struct route artifacts_routes[];
extern const struct route backups_routes[];
extern const struct route builds_routes[];
extern const struct route changes_routes[];
extern const struct route channels_routes[];
extern const struct route configs_routes[];
extern const struct route contexts_routes[];
extern const struct route events_routes[];
extern const struct route exec_routes[];
extern const struct route figures_routes[];
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
extern const struct route trash_routes[];
extern const struct route usage_routes[];
extern const struct route users_routes[];
extern const struct route volume_files_routes[];
extern const struct route volumes_routes[];
extern const struct route webhooks_routes[];
extern const struct route windows_routes[];

/* Terminal windows, whose viewers see each other's activity, and streams of figures. */
void native_state_open(struct api *api);
/* Ends recordings that are still being written. */
void native_state_stop(struct api *api);
void native_state_close(struct api *api);
