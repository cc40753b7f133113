/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kind_options.h — options of single kinds of providers. Part of provider/provider.h.
 * Borrowed; they live as long as the provider. */
#pragma once

#include <stdbool.h>

struct docker_options {
	const char *host, *image; /* "unix:///path"; of the template "host", "" = none */
	const char *program;      /* the agent's, an absolute path on this host */
	const char *images;  /* of the daemon, for every project; separated by commas, or NULL */
	const char *runtime; /* "runc", "runsc" …; NULL or "" = the daemon's default */
	bool allows_private; /* a registry may have an address of this server's own network */
	unsigned providers;  /* of this kind in the configuration */
};

struct microvm_options {
	const char *kernel;      /* folder that holds boot/ and lib/modules/ */
	const char *accelerator; /* "auto", "kvm" or "tcg"; NULL = "tcg" */
	const char *vmm;         /* "qemu"; NULL = that */
	const char *program;     /* the agent's, an absolute path on this host */
};
