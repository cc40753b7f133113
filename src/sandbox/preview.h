/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/preview.h — which ports of a sandbox previews may show. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PREVIEW_RANGES_MAX 64

struct preview_ports {
	bool any;
	unsigned count;
	struct {
		uint16_t first, last;
	} ranges[PREVIEW_RANGES_MAX];
};
/* E2B's clients reach files, processes and code at these ports of a sandbox. The server answers
 * there itself, so a preview never shows what listens on them inside. */
bool preview_port_is_reserved(uint16_t port);
/* "3000, 8000-8010", "any", or "" for no ports. */
MUST_CHECK int preview_ports_parse(const char *text, struct preview_ports *ret, struct error *err);
/* False for a reserved port. */
bool preview_ports_has(const struct preview_ports *ports, uint16_t port);
/* "5173", 1 to 65535. */
MUST_CHECK int preview_port_parse(const char *text, uint16_t *ret, struct error *err);
