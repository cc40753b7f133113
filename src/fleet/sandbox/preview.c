/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/preview.h"

#include <string.h>

#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/operation.h"
#include "fleet/core/template_cache.h"
#include "json/json.h"
#include "sandbox/preview.h"
#include "store/sandboxes.h"

static int template_ports(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                          const struct json_value **ret, struct error *err)
{
	const struct fleet_ref ref = {.project_id = r->project_id, .id_or_name = r->template_id};
	struct template_record t;

	*ret = NULL;
	if (template_find(f, a, &ref, &t, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	return t.ports_json && t.ports_json[0] ? json_load(a, span_of(t.ports_json), ret, err) : 0;
}

static bool has_port(const struct json_value *list, uint16_t port)
{
	for (size_t i = 0; i < json_count(list); i++)
		if (json_whole(json_item_at(list, i), -1) == port)
			return true;
	return false;
}

static int check_switches(const struct sandbox_record *r, struct error *err)
{
	if (r->preview_off) {
		(void)FAIL(err, ERROR_FORBIDDEN, "previews of sandbox '%s' are switched off",
		           r->id);
		return FAIL_HINT(err, "PATCH .../preview with {\"enabled\":true}");
	}
	if (r->network == SANDBOX_NETWORK_BLOCKED) {
		(void)FAIL(err, ERROR_FORBIDDEN, "sandbox '%s' has no network, and so no previews",
		           r->id);
		return FAIL_HINT(err, "make it with internet or network other than blocked");
	}
	return 0;
}

bool fleet_preview_is_listed(const struct fleet *fleet, uint16_t port)
{
	struct preview_ports ports;
	struct error ignored;

	return preview_ports_parse(fleet->config->preview_ports, &ports, &ignored) == 0 &&
	       preview_ports_has(&ports, port);
}

int fleet_preview_check(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                        uint16_t port, struct error *err)
{
	const struct json_value *own;
	struct preview_ports ports;

	if (check_switches(r, err) < 0 ||
	    preview_ports_parse(fleet->config->preview_ports, &ports, err) < 0)
		return -1;
	if (preview_ports_has(&ports, port))
		return 0;
	if (preview_port_is_reserved(port))
		return FAIL(err, ERROR_FORBIDDEN,
		            "port %u has no previews: the server itself answers E2B's clients "
		            "there",
		            port);
	if (template_ports(fleet, a, r, &own, err) < 0)
		return -1;
	if (has_port(own, port))
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "previews do not show port %u", port);
	return FAIL_HINT(err,
	                 "they show %s and the template's; let the program listen there, or see "
	                 "--preview-ports",
	                 fleet->config->preview_ports[0] ? fleet->config->preview_ports : "none");
}

int fleet_preview_ports(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                        const char **ret, struct error *err)
{
	const char *text = fleet->config->preview_ports;
	const struct json_value *own;
	struct preview_ports ports;

	if (preview_ports_parse(text, &ports, err) < 0 ||
	    template_ports(fleet, a, r, &own, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(own); i++) {
		int64_t port = json_whole(json_item_at(own, i), -1);

		if (!preview_ports_has(&ports, (uint16_t)port))
			text = arena_format(a, "%s%s%lld", text, text[0] ? "," : "",
			                    (long long)port);
	}
	*ret = text;
	return 0;
}

int fleet_preview_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      const struct fleet_preview *change, struct sandbox_record *ret,
                      struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	struct sandbox_preview preview;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	preview = (struct sandbox_preview){
	        .id = op.record.id,
	        .off = change->enabled < 0 ? op.record.preview_off : change->enabled == 0,
	        .is_public =
	                change->is_public < 0 ? op.record.preview_public : change->is_public > 0,
	        .generation = op.record.preview_generation,
	};
	/* A link that was taken back stays void when sharing begins again. */
	if (change->rotate || (preview.off && !op.record.preview_off) ||
	    (!preview.is_public && op.record.preview_public))
		preview.generation++;
	if (store_sandbox_set_preview(fleet->store, a, &preview, &op.record, err) < 0)
		return -1;
	cache_update(fleet->cache, op.entry, &op.record);
	*ret = op.record;
	return 0;
}
