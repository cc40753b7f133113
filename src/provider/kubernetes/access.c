/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server is, and who this server is there. */
#include "provider/kubernetes/access.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "json/base64.h"
#include "json/json.h"
#include "provider/kind_options.h"

#define FILE_MAX ((size_t)1 << 20)
#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define DEFAULT_NAMESPACE "default"

static int read_text(struct arena *a, const char *path, const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(FILE_MAX);

	if (file_read(AT_FDCWD, path, &text, err) < 0)
		return -1;
	*ret = arena_copy(a, span_trim(buf_span(&text)));
	return 0;
}

/* The account of the pod that this server runs in. */
static int load_own_account(struct arena *a, struct cluster_access *ret, struct error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");

	if (!host || !port) {
		(void)FAIL(err, ERROR_INVALID,
		           "this server runs in no pod, and kubernetes_config names no file");
		return FAIL_HINT(err, "name a kubeconfig file in the option kubernetes_config");
	}
	ret->url = strchr(host, ':') ? arena_format(a, "https://[%s]:%s", host, port)
	                             : arena_format(a, "https://%s:%s", host, port);
	ret->token_file = ACCOUNT_DIR "/token";
	if (read_text(a, ret->token_file, &ret->token, err) < 0 ||
	    read_text(a, ACCOUNT_DIR "/ca.crt", &ret->authorities, err) < 0)
		return -1;
	return read_text(a, ACCOUNT_DIR "/namespace", &ret->namespace, err);
}

/* The entry of this name: [{name: …, KIND: {…}}]. */
static const struct json_value *find_entry(const struct json_value *root, const char *list,
                                           const char *kind, const char *name)
{
	const struct json_value *items = json_get(root, list);

	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *item = json_item_at(items, i);

		if (strcmp(json_get_text(item, "name", ""), name) == 0)
			return json_get(item, kind);
	}
	return NULL;
}

struct kubeconfig {
	struct arena *arena;
	const char *path;
	const struct json_value *cluster, *user, *context;
};

/* A relative path begins at the folder of the file. */
static const char *path_beside(const struct kubeconfig *k, const char *path)
{
	const char *slash = strrchr(k->path, '/');

	if (path[0] == '/' || !slash)
		return path;
	return arena_format(k->arena, "%.*s/%s", (int)(slash - k->path), k->path, path);
}

/* NAME-data holds base64, NAME the path of a file. NULL: neither is there. */
static int read_pem(const struct kubeconfig *k, const struct json_value *from, const char *name,
                    const char **ret, struct error *err)
{
	const char *data = json_get_text(from, arena_format(k->arena, "%s-data", name), NULL);
	const char *path = json_get_text(from, name, NULL);
	struct span bytes;

	*ret = NULL;
	if (data) {
		if (!base64_decode(k->arena, span_trim(span_of(data)), &bytes))
			return FAIL(err, ERROR_INVALID, "%s: %s-data is no base64", k->path, name);
		*ret = arena_copy(k->arena, bytes);
		return 0;
	}
	return path ? read_text(k->arena, path_beside(k, path), ret, err) : 0;
}

/* What this server does not do, and would be unsafe to leave out in silence. */
static int refuse_others(const struct kubeconfig *k, struct error *err)
{
	static const char *const methods[] = {"exec", "auth-provider", "username", "as"};
	const char *skips = json_get_text(k->cluster, "insecure-skip-tls-verify", "false");

	if (strcmp(skips, "false") != 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "%s: insecure-skip-tls-verify is not done: name the cluster's "
		            "certificate-authority",
		            k->path);
	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (json_get(k->user, methods[i]))
			return FAIL(err, ERROR_UNSUPPORTED,
			            "%s: users.user.%s is not known: use a client certificate, a "
			            "token or a tokenFile",
			            k->path, methods[i]);
	return 0;
}

static int find_context(struct kubeconfig *k, const struct json_value *root, const char *wanted,
                        struct error *err)
{
	const char *name = wanted && *wanted ? wanted : json_get_text(root, "current-context", "");
	const char *cluster, *user;

	k->context = find_entry(root, "contexts", "context", name);
	if (!k->context)
		return FAIL(err, ERROR_INVALID, "%s has no context '%s'", k->path, name);
	cluster = json_get_text(k->context, "cluster", "");
	user = json_get_text(k->context, "user", "");
	k->cluster = find_entry(root, "clusters", "cluster", cluster);
	k->user = find_entry(root, "users", "user", user);
	if (!k->cluster)
		return FAIL(err, ERROR_INVALID, "%s has no cluster '%s'", k->path, cluster);
	return k->user ? refuse_others(k, err)
	               : FAIL(err, ERROR_INVALID, "%s has no user '%s'", k->path, user);
}

static int read_user(const struct kubeconfig *k, struct cluster_access *ret, struct error *err)
{
	const char *file = json_get_text(k->user, "tokenFile", NULL);

	ret->token = json_get_text(k->user, "token", NULL);
	if (read_pem(k, k->user, "client-certificate", &ret->certificate, err) < 0 ||
	    read_pem(k, k->user, "client-key", &ret->key, err) < 0)
		return -1;
	if (!ret->certificate != !ret->key)
		return FAIL(err, ERROR_INVALID, "%s: a client-certificate goes with a client-key",
		            k->path);
	if (!file)
		return 0;
	ret->token_file = path_beside(k, file);
	return read_text(k->arena, ret->token_file, &ret->token, err);
}

static int load_file(struct arena *a, const struct kubernetes_options *options,
                     struct cluster_access *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(FILE_MAX);
	struct kubeconfig k = {.arena = a, .path = options->config};
	const struct json_value *root;

	if (file_read(AT_FDCWD, options->config, &text, err) < 0 ||
	    yaml_load(a, options->config, buf_span(&text), &root, err) < 0 ||
	    find_context(&k, root, options->context, err) < 0 ||
	    read_pem(&k, k.cluster, "certificate-authority", &ret->authorities, err) < 0)
		return -1;
	ret->url = json_get_text(k.cluster, "server", "");
	ret->namespace = json_get_text(k.context, "namespace", DEFAULT_NAMESPACE);
	return read_user(&k, ret, err);
}

/* A path and a header are made of them. */
static int check_access(const struct cluster_access *access, struct error *err)
{
	if (strncmp(access->url, "https://", 8) != 0 && strncmp(access->url, "http://", 7) != 0)
		return FAIL(err, ERROR_INVALID, "'%s' is no URL of an API server", access->url);
	if (!*access->namespace ||
	    access->namespace[strspn(access->namespace, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return FAIL(err, ERROR_INVALID, "'%s' is no name of a namespace",
		            access->namespace);
	for (const char *c = access->token ? access->token : ""; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return FAIL(err, ERROR_INVALID,
			            "the token holds a blank or a control character");
	return 0;
}

int cluster_access_load(struct arena *a, const struct kubernetes_options *options,
                        struct cluster_access *ret, struct error *err)
{
	*ret = (struct cluster_access){0};
	int status = options->config && *options->config ? load_file(a, options, ret, err)
	                                                 : load_own_account(a, ret, err);
	if (status < 0)
		return FAIL_CONTEXT(err, "the cluster");
	if (options->namespace && *options->namespace)
		ret->namespace = options->namespace;
	return check_access(ret, err);
}
