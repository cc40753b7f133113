/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_template.h — builds, imports and removes templates: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

enum broker_template_verb { BROKER_TEMPLATE_BUILD, BROKER_TEMPLATE_IMPORT, BROKER_TEMPLATE_REMOVE };
struct broker_template {
	uint64_t request;
	uint32_t verb;
	const char *name; /* of the template's folder; must not exist, except for REMOVE */
	const char
	        *recipe; /* BUILD: "base", … IMPORT: "tar", "oci", "docker-archive", "registry" */
	/* IMPORT registry: "docker.io/library/alpine:3", and a second descriptor if the registry
	 * needs a login. IMPORT of a file: "", and a second descriptor. */
	const char *source;
	/* IMPORT registry: an image with this digest is not loaded, and no folder made; "" = any */
	const char *known_digest;
	uint64_t size_max; /* IMPORT: bytes of the template; 0 = the largest size of an image */
};

extern const struct wire_member broker_template_shape[];
