/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for previews, by their Host. */
#include "surface/preview/hosts.h"

#include <string.h>

#include "base/id.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/hosts.h"
#include "http/server/host.h"
#include "sandbox/preview.h"
#include "surface/preview/routes.h"
#include "surface/preview/serve.h"

/* "api" and "sandbox" below the domain are the server itself; clients of E2B use them. */
static bool is_sandbox_label(struct span label)
{
	return label.size > 0 && !span_is_same_word(label, SPAN("api")) &&
	       !span_is_same_word(label, SPAN("sandbox"));
}

bool preview_host_is_sandbox(const struct config *config, struct span host)
{
	return is_sandbox_label(host_label(config, host));
}

struct http_host preview_find_host(void *context, struct span host)
{
	const struct config *config = ((const struct api *)context)->config;

	if (is_sandbox_label(host_label(config, host)))
		return (struct http_host){.route = &preview_host_route};
	/* The port counts, too: it may be another server on the same machine. */
	if (host_is_preview_origin(config, host))
		return (struct http_host){.below = PREVIEW_BASE};
	return (struct http_host){.is_refused = !host_is_ours(config, host)};
}

int preview_host_parse(const struct config *config, struct span host, char ret_id[],
                       uint16_t *ret_port, struct error *err)
{
	struct span label = host_label(config, host), port;
	char text[8];

	if (!span_split(&label, '-', &port) || port.size >= sizeof(text) || label.size != ID_SIZE)
		return FAIL(err, ERROR_NOT_FOUND, "the host is not PORT-ID.%s",
		            config->preview_domain);
	memcpy(text, port.data, port.size);
	text[port.size] = '\0';
	/* Hosts and ids are in lower case; other clients than browsers may send upper case. */
	for (size_t i = 0; i < label.size; i++)
		ret_id[i] = (char)(label.data[i] >= 'A' && label.data[i] <= 'Z' ? label.data[i] | 32
		                                                                : label.data[i]);
	ret_id[label.size] = '\0';
	if (preview_port_parse(text, ret_port, err) < 0 || !id_is_valid(ret_id))
		return FAIL(err, ERROR_NOT_FOUND, "the host is not PORT-ID.%s",
		            config->preview_domain);
	return 0;
}
