/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/create.h — the request for a new sandbox. */
#pragma once

#include "json/json.h"
#include "sandbox/sandbox.h"

struct fleet;
struct fleet_awaited;
struct fleet_caller;
struct fleet_mount;
struct lease_claim;
struct provider;
struct sandbox_record;
struct template_record;

/* The files that the sandbox of a build begins with, instead of the layer of its template. The
 * entrypoint of the template is not started. */
struct build_base {
	const char *layer; /* "" = only the folder of the template */
};

/* When a create pulls its image, as "docker run" does. */
enum fleet_pull { FLEET_PULL_MISSING, FLEET_PULL_ALWAYS, FLEET_PULL_NEVER, FLEET_PULL_COUNT };
extern const char *const fleet_pull_names[]; /* ends with NULL */

struct fleet_create {
	const char *project_id;
	const char *id;      /* a new one; NULL: generated */
	const char *key_id;  /* API key of the caller; NULL: none */
	const char *user_id; /* the caller; NULL: the user of the key, if it has one */
	/* Is asked for its access again after a wait; NULL: the fleet itself. */
	const struct fleet_caller *caller;
	const char *name;      /* NULL: generated */
	const char *template;  /* NULL: the option default_template */
	const char *provider;  /* NULL: any that satisfies the request */
	const char *isolation; /* the least that is accepted, see sandbox/isolation.h; NULL: any */
	const char *image;     /* of a registry, instead of a template; NULL: none */
	enum fleet_pull pull;  /* of the image */
	const char *snapshot;  /* its files and its template are used; NULL: none */
	const char *region;
	struct json_map labels, env;
	struct json_map own_labels;         /* set by the server: keys begin with "atoll." */
	struct sandbox_resources resources; /* 0 = inherited */
	int internet;                       /* -1 = the option's value, 0 = no, 1 = yes */
	bool persistent;
	bool preview_off, preview_public;
	unsigned traits;          /* enum sandbox_trait */
	const char *network_json; /* repeated in answers; NULL: "" */
	const char *egress;       /* rules of egress.h; NULL: "" */
	const char *rules_json;   /* rules of credentials, checked; NULL: "" */
	int64_t timeout_ms;       /* 0 = none */
	struct sandbox_timeouts timeouts;
	bool wait;                           /* false: return in PENDING; a worker creates it */
	const struct fleet_awaited *awaited; /* as in fleet_ref */
	const struct fleet_mount *mounts;    /* volumes, see volume.h */
	size_t mount_count;
	/* KEY: attaches the volume "home-KEY", created if missing, at this path or FLEET_HOME_PATH.
	 */
	const char *persistent_home, *persistent_home_path;
	int64_t persistent_home_mb; /* size of a new volume; 0 = the default */
	/* NAME: the volume of this workspace, created if missing, is mounted at
	 * workspace_root/NAME, where commands begin. Root NULL: FLEET_WORKSPACE_ROOT. */
	const char *workspace, *workspace_root;
	/* set by the fleet itself: */
	const struct build_base *base; /* of a build's sandbox, NULL: none */
	struct lease_claim *claim;     /* of a lease, see lease_claim.h; NULL: none */
};
/* The template that the request names, by itself or by an image; it may not be ready. */
MUST_CHECK int create_find_template(struct fleet *fleet, struct arena *a, const char *project_id,
                                    const struct fleet_create *request, struct template_record *ret,
                                    struct error *err);
/* The sources of a planned value, the strongest first. */
enum fleet_plan_source {
	FLEET_PLAN_REQUEST,
	FLEET_PLAN_TEMPLATE,
	FLEET_PLAN_PROJECT,
	FLEET_PLAN_PLATFORM,
	FLEET_PLAN_SOURCE_COUNT,
};
struct fleet_plan_value {
	const char *name;     /* "cpu", "idle_reap_ms" */
	double value, wanted; /* wanted: before the caps */
	enum fleet_plan_source source;
	int lowered_by; /* enum fleet_plan_source of the cap; -1 = none */
};
#define FLEET_PLAN_VALUES_MAX 16
/* What fleet_create would make of a request. */
struct fleet_plan {
	struct fleet_plan_value values[FLEET_PLAN_VALUES_MAX];
	unsigned count;
	const char *template, *provider, *isolation, *region;
	enum fleet_plan_source template_source, network_source, region_source;
	enum sandbox_network network;
	bool is_template_ready;
	int64_t hour_nano; /* price of an active hour in nano-dollars */
};
/* Makes nothing and waits for nothing. Fails where fleet_create would, except for names, volumes
 * and numbers of sandboxes, which are checked when the sandbox is made. */
MUST_CHECK int fleet_plan_create(struct fleet *fleet, struct arena *a,
                                 const struct fleet_create *request, struct fleet_plan *ret,
                                 struct error *err);
MUST_CHECK int fleet_create(struct fleet *fleet, struct arena *a,
                            const struct fleet_create *request, struct sandbox_record *ret,
                            struct error *err);
/* request.c: checks of create requests */
/* The folder of the request's workspace; NULL: it has none. */
const char *request_workspace_path(struct arena *a, const struct fleet_create *request);
MUST_CHECK int request_check(const struct fleet_create *request, struct error *err);
/* Whether the caller still has access; after a wait. */
MUST_CHECK int request_check_caller(struct fleet *fleet, struct arena *a,
                                    const struct fleet_create *request, struct error *err);
/* Checks network rules: the provider can filter, and there is a network. NULL or "" = no rules. */
MUST_CHECK int egress_check(const struct provider *p, enum sandbox_network network,
                            const char *egress, struct error *err);
/* Whether a provider of the server can give what a stored config asks of it: its name, its
 * isolation, or NULL. The error lists each provider with the reason. */
MUST_CHECK int fleet_providers_check(struct fleet *fleet, const char *provider,
                                     const char *isolation, struct error *err);
