/* SPDX-License-Identifier: Apache-2.0 */
/* image/host_config.h — what of this machine's configuration a template may know: the authorities
 * it trusts and where packages come from, so that registries behind a company's proxy work inside.
 * Nothing that holds a secret: each line is copied by an allow-list, and never with credentials. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "image/image.h"

/* Copies the machine's own authorities; *ret_extra tells whether there are any. */
MUST_CHECK int host_copy_authorities(int root, bool *ret_extra, struct error *err);

/* "name = value" lines of npm's and pip's configuration whose name is one of `names` (NULL at the
 * end; "*suffix" = any name that ends so) and whose value has no credentials. */
void host_filter_settings(struct span text, const char *const *names, struct buf *out);
extern const char *const host_npm_settings[], *const host_pip_settings[];
/* A URL with a user or a password in it. */
bool host_has_credentials(struct span value);

/* The configuration of this machine's apt, which is run to read it. */
struct host_apt {
	const char *suite;  /* the codename to build, of this Debian or a default */
	struct buf sources; /* lines "deb URI SUITE main" of Debian's own packages; may be empty */
	struct buf options; /* lines of apt.conf: how it reaches them */
	struct buf safe_sources, safe_options; /* the same without what holds a secret */
};
void host_apt_done(struct host_apt *apt);
/* `apt` is zeroed or done. */
MUST_CHECK int host_apt_ask(const struct image_spec *spec, struct arena *a, struct host_apt *apt,
                            struct error *err);
