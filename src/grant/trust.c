/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in a sandbox come to trust its authority. */
#include "base/log.h"
#include "credential/authority.h"
#include "grant/state.h"
#include "http/tls/java_store.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/file_write.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

/* One installation. */
struct installation {
	struct provider *provider;
	const char *id; /* of the sandbox */
	const char *certificate;
	int64_t deadline;
};

/* Where systems have the bundle that their programs read. A path may be a link to another one. */
static const char *const bundles[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", /* SUSE */
        "/etc/ssl/cert.pem",
};
/* What tools of the system make the bundle from: the authority stays when a package is upgraded. */
static const char *const sources[] = {
        "/usr/local/share/ca-certificates/atoll.crt",
        "/etc/pki/ca-trust/source/anchors/atoll.crt",
};

static int write_file(const struct installation *at, const char *path, uint32_t flags,
                      struct span content, struct error *err)
{
	return provider_write_file(
	        at->provider, at->id,
	        &(struct provider_file){
	                .path = path, .content = content, .flags = flags, .deadline = at->deadline},
	        err);
}

static int read_file(const struct installation *at, const char *path, struct buf *out,
                     struct error *err)
{
	const struct agent_path message = {.path = path, .size_max = CREDENTIAL_BUNDLE_MAX};
	const struct compute_request request = {AGENT_READ, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = at->deadline};
	AUTO(agent_reader_done) struct agent_reader agent = {0};

	agent_reader_init(&agent, at->provider, at->id, &limits);
	if (agent_reader_ask(&agent, &request, err) < 0 ||
	    agent_reader_expect(&agent, AGENT_FILE, err) < 0)
		return -1;
	for (;;) {
		if (agent_reader_next(&agent, err) < 0)
			return FAIL_CONTEXT(err, "read '%s'", path);
		if (agent.has_ended)
			return 0;
		buf_add_span(out, buf_span(&agent.payload));
		if (out->overflowed)
			return FAIL(err, ERROR_TOO_LARGE, "'%s' is too large", path);
	}
}

/* Returns 1 if the sandbox has this bundle, which then has the authority. */
static int update_bundle(const struct installation *at, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf before = BUF(CREDENTIAL_BUNDLE_MAX);
	AUTO(buf_done) struct buf after = BUF(2 * CREDENTIAL_BUNDLE_MAX);

	if (read_file(at, path, &before, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	credential_bundle_update(&after, buf_span(&before), at->certificate);
	if (span_equals(buf_span(&before), buf_span(&after)))
		return 1;
	return write_file(at, path, 0, buf_span(&after), err) < 0 ? -1 : 1;
}

/* The bundle that the system's programs read, and what the system makes it from. The sandbox may
 * have made these paths unusable, or may have no such folders. */
static void install_in_system(const struct installation *at, struct span bundle)
{
	struct error err = {0};
	bool is_found = false;

	for (size_t i = 0; i < COUNT_OF(bundles); i++) {
		int got = update_bundle(at, bundles[i], &err);

		if (got < 0)
			log_debug("a bundle of a sandbox stays", TEXT("sandbox", at->id),
			          FAILURE(&err));
		is_found = is_found || got != 0;
		error_clear(&err);
	}
	if (!is_found && write_file(at, bundles[0], AGENT_PATH_PARENTS, bundle, &err) < 0)
		log_debug("a sandbox got no bundle", TEXT("sandbox", at->id), FAILURE(&err));
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		error_clear(&err);
		if (write_file(at, sources[i], 0, span_of(at->certificate), &err) < 0 &&
		    err.code != ERROR_NOT_FOUND)
			log_debug("a source of a bundle stays", TEXT("sandbox", at->id),
			          FAILURE(&err));
	}
}

int grant_install_trust(struct provider *p, const char *id, const char *certificate,
                        int64_t deadline, struct error *err)
{
	const struct installation at = {p, id, certificate, deadline};
	AUTO(buf_done) struct buf bundle = BUF(CREDENTIAL_BUNDLE_MAX);
	AUTO(buf_done) struct buf java = BUF(CREDENTIAL_BUNDLE_MAX);

	if (provider_require(p, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	credential_bundle_write(&bundle, certificate);
	if (java_store_write(&java, buf_span(&bundle), err) < 0 ||
	    write_file(&at, CREDENTIAL_AUTHORITY_PATH, AGENT_PATH_PARENTS, span_of(certificate),
	               err) < 0 ||
	    write_file(&at, CREDENTIAL_BUNDLE_PATH, AGENT_PATH_PARENTS, buf_span(&bundle), err) <
	            0 ||
	    write_file(&at, CREDENTIAL_JAVA_PATH, AGENT_PATH_PARENTS, buf_span(&java), err) < 0)
		return -1;
	install_in_system(&at, buf_span(&bundle));
	return 0;
}
