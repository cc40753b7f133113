/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/access.h — where the API server is, and who this server is there. Private to
 * provider/. */
#pragma once

#include "base/bytes.h"

struct json_value;
struct kubernetes_options;

/* How the API server is reached: a kubeconfig file's context, or the account of the pod that this
 * server runs in. In the arena. */
struct cluster_access {
	const char *url, *namespace;
	const char *token, *token_file;              /* the file is read again when it is refused */
	const char *authorities, *certificate, *key; /* PEM; NULL = none */
};
MUST_CHECK int cluster_access_load(struct arena *a, const struct kubernetes_options *options,
                                   struct cluster_access *ret, struct error *err);

/* yaml.c: a YAML text as the value that JSON has for it; every scalar is a text. */
MUST_CHECK int yaml_load(struct arena *a, const char *path, struct span text,
                         const struct json_value **ret, struct error *err);
