/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/authority.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fd.h"
#include "base/id.h"
#include "http/tls/certificate.h"

#define COMMON_NAME_MAX 64 /* X.520 */

const struct credential_variable credential_variables[] = {
        {"SSL_CERT_FILE", CREDENTIAL_BUNDLE_PATH},
        {"CURL_CA_BUNDLE", CREDENTIAL_BUNDLE_PATH},
        {"REQUESTS_CA_BUNDLE", CREDENTIAL_BUNDLE_PATH},
        {"GIT_SSL_CAINFO", CREDENTIAL_BUNDLE_PATH},
        {"AWS_CA_BUNDLE", CREDENTIAL_BUNDLE_PATH},
        {"PIP_CERT", CREDENTIAL_BUNDLE_PATH},
        {"CARGO_HTTP_CAINFO", CREDENTIAL_BUNDLE_PATH},
        {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", CREDENTIAL_BUNDLE_PATH},
        {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", CREDENTIAL_BUNDLE_PATH},
        {"HTTPLIB2_CA_CERTS", CREDENTIAL_BUNDLE_PATH},
        {"NIX_SSL_CERT_FILE", CREDENTIAL_BUNDLE_PATH},
        {"NODE_EXTRA_CA_CERTS", CREDENTIAL_AUTHORITY_PATH},
        {"DENO_CERT", CREDENTIAL_AUTHORITY_PATH},
        {"NODE_USE_SYSTEM_CA", "1"},
        {"UV_NATIVE_TLS", "1"},
        {"JAVA_TOOL_OPTIONS",
         "-Djavax.net.ssl.trustStore=" CREDENTIAL_JAVA_PATH " -Djavax.net.ssl.trustStoreType=jks"},
        {NULL, NULL},
};

int credential_authority_make(struct arena *a, const char *sandbox, const char **ret_certificate,
                              const char **ret_key, struct error *err)
{
	AUTO(certificate_pair_done) struct certificate_pair pair = CERTIFICATE_PAIR;
	char name[COMMON_NAME_MAX + 1], day[sizeof("2026-01-02")], unique[9];
	time_t now = time(NULL);
	struct tm parts;

	id_random_text(unique, sizeof(unique));
	if (!gmtime_r(&now, &parts) || strftime(day, sizeof(day), "%Y-%m-%d", &parts) == 0)
		return FAIL(err, ERROR_SYSTEM, "read the date");
	(void)snprintf(name, sizeof(name), CREDENTIAL_AUTHORITY_NAME "%.20s %s %s", sandbox, day,
	               unique);
	if (certificate_make_open_authority(name, CREDENTIAL_AUTHORITY_DAYS, &pair, err) < 0)
		return -1;
	*ret_certificate = arena_copy(a, buf_span(&pair.certificate));
	*ret_key = arena_copy(a, buf_span(&pair.key));
	return 0;
}

int credential_roots_read(struct buf *out, struct error *err)
{
	const char *const places[] = {getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
	                              "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	                              "/etc/ssl/cert.pem"};

	for (size_t i = places[0] ? 0 : 1; i < COUNT_OF(places); i++) {
		error_clear(err);
		if (file_read(AT_FDCWD, places[i], out, err) == 0)
			return 0;
		buf_reset(out);
	}
	return FAIL_CONTEXT(err, "the host's certificates of authorities");
}

void credential_bundle_write(struct buf *out, const char *certificate)
{
	AUTO(buf_done) struct buf roots = BUF(CREDENTIAL_BUNDLE_MAX);
	struct error ignored = {0};

	if (credential_roots_read(&roots, &ignored) == 0)
		buf_add_span(out, buf_span(&roots));
	if (out->size > 0 && out->data[out->size - 1] != '\n')
		buf_add_byte(out, '\n');
	buf_add_text(out, certificate);
}
