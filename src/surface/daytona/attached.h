/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/attached.h — secrets of a project in a sandbox. Private to this folder.
 *
 * The sandbox has a variable with the secret's placeholder. The credential proxy replaces it by the
 * value in requests to the secret's hosts (credential/rule.h). */
#pragma once

#include "base/bytes.h"

struct arena;
struct fleet_create;
struct fleet_ref;
struct request;
struct sandbox_record;
struct vault_record;

#define DAYTONA_PLACEHOLDER "dtn_secret_"
#define DAYTONA_SECRET_HOSTS_MAX 64

/* What the variable has. */
const char *daytona_placeholder(struct arena *a, const struct vault_record *r);
/* The hosts of a secret, NULL-terminated; without any the value is not put into requests. */
const char **daytona_secret_hosts(struct arena *a, const struct vault_record *r);
/* Puts the secrets of a create request, [{"VARIABLE": "NAME"}, …], into a create whose network is
 * decided already. */
MUST_CHECK int daytona_secrets_prepare(struct request *rq, struct span secrets,
                                       struct fleet_create *ret, struct error *err);
/* Replaces the network rules of a sandbox; its secrets go to those of their hosts that the new
 * rules allow. */
MUST_CHECK int daytona_egress_set(struct request *rq, const struct fleet_ref *ref,
                                  const char *egress, struct sandbox_record *r, struct error *err);
