/* SPDX-License-Identifier: Apache-2.0 */
/* image/image.h — builds and imports the root filesystems of templates.
 *
 * The builders run as root in a process of their own (the program atoll-image, started by the
 * broker), never in atolld and never in the broker. They write into DATA/templates/.NAME.partial
 * and rename at the end: a template folder is whole or absent. mmdebstrap, skopeo and umoci do the
 * work; their output becomes progress lines "percent text". A line "size BYTES" gives the current
 * size. A builder that fails writes "error CODE text\thint" as its last line. A builder gives up
 * when the reader of its progress has gone.
 *
 *   DATA/templates/NAME         mode 0700: it holds set-uid programs from untrusted images
 *   DATA/templates/NAME/rootfs  the root filesystem
 *   DATA/templates/.NAME.json   the image's configuration (struct image_config)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define IMAGE_ROOT "rootfs"

/* A default template, seeded idempotently. */
struct image_seed {
	const char *name, *description, *runtime;
	const char *recipe; /* see image_build; "" = needs no build */
	const char *user, *workdir;
	const int *ports; /* ends with 0 */
};
extern const struct image_seed image_seeds[]; /* ends with name NULL */
/* The template that must exist before this recipe is built; NULL = none, or no such recipe. */
const char *image_recipe_from(const char *recipe);

enum image_format {
	IMAGE_TAR,
	IMAGE_OCI,
	IMAGE_DOCKER_ARCHIVE,
	IMAGE_REGISTRY,
	IMAGE_BACKUP, /* the template in a full backup of a snapshot */
	IMAGE_FORMAT_COUNT
};
const char *image_format_name(enum image_format format);
MUST_CHECK int image_format_parse(const char *name, enum image_format *ret, struct error *err);

/* Unpacked size of a root filesystem. */
#define IMAGE_BYTES_MAX ((int64_t)32 << 30)

struct image_spec {
	const char *templates_dir;
	const char *name; /* folder to make: lower-case letters, digits, '-', '_', '.' */
	int progress_fd;  /* lines "percent text\n"; -1 = none */
	/* Limit of unpacked bytes. A limit below IMAGE_BYTES_MAX is the rest of the project's
	 * storage: then the error is ERROR_LIMIT instead of ERROR_TOO_LARGE. */
	int64_t size_max;
	/* A registry, and the addresses that it redirects to, may be in a private network. */
	bool allow_private;
	const char *known_digest; /* IMAGE_REGISTRY with this digest is not loaded; NULL: any */
};
#define IMAGE_NAME_MAX 63
/* 1..63 of [a-z0-9._-], starting with a letter or digit. */
MUST_CHECK int image_name_check(const char *name, struct error *err);
/* A registry reference such as "docker.io/library/debian:12" or "127.0.0.1:5000/x@sha256:…". */
MUST_CHECK int image_reference_check(const char *reference, struct error *err);
/* What a checked reference says, with what it implies: docker.io, library/, the tag latest. */
struct image_reference {
	const char *host, *path;
	const char *tag, *digest; /* digest "": none */
	bool is_loopback;         /* a registry of this machine, which may speak plain HTTP */
};
struct image_reference image_reference_read(struct arena *a, const char *reference);
/* The credentials for a registry: a JSON file for IMAGE_REGISTRY, valid for the reference's host.
 */
#define IMAGE_LOGIN_MAX ((size_t)64 * 1024)
struct image_login {
	const char *username, *password;
};
MUST_CHECK int image_login_check(const struct image_login *login, struct error *err);
void image_login_write(const struct image_login *login, const char *reference, struct buf *out);
/* Reads such a file, or docker's config.json. ERROR_NOT_FOUND: it has no login for the host. */
MUST_CHECK int image_login_read(struct arena *a, struct span text, const char *reference,
                                struct image_login *ret, struct error *err);
/* The value of Authorization, and that of X-Registry-Auth for a Docker daemon. */
void image_login_write_basic(const struct image_login *login, struct buf *out);
void image_login_write_docker(const struct image_login *login, const char *reference,
                              struct buf *out);
/* "debian" and "docker.io/library/debian:latest" are the same image. */
bool image_reference_is_same(const char *reference, const char *other);
/* Builds a default template: a Debian from the package sources of this machine's apt. The template
 * that the recipe starts from exists (image_recipe_from). */
MUST_CHECK int image_build(const struct image_spec *spec, const char *recipe, struct error *err);
/* `source_fd`: the file of IMAGE_TAR (plain, gzip, xz or zstd), IMAGE_OCI (a tar of the layout) or
 * IMAGE_DOCKER_ARCHIVE, or a full backup; `reference` for IMAGE_REGISTRY, whose file is the login,
 * or -1 for none. */
MUST_CHECK int image_import(const struct image_spec *spec, enum image_format format, int source_fd,
                            const char *reference, struct error *err);
MUST_CHECK int image_remove(const char *templates_dir, const char *name, struct error *err);
/* The configuration of an imported image (its OCI config), for the template record; "" where the
 * image sets nothing. The builder writes it, atolld reads it. */
struct image_config {
	const char *env_json, *entrypoint_json, *ports_json, *user, *workdir;
	int64_t size_bytes;
	const char *digest; /* of a registry's image: "sha256:…" as the registry has it */
};
/* For a provider that keeps images itself: `templates` is a folder of its own, with a folder NAME
 * for each. */
MUST_CHECK int image_config_save(int templates, const char *name, const struct image_config *config,
                                 struct error *err);
MUST_CHECK int image_config_load(struct arena *a, const char *templates_dir, const char *name,
                                 struct image_config *ret, struct error *err);
