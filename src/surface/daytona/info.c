/* SPDX-License-Identifier: Apache-2.0 */
/* Information about a sandbox, its metrics and limits, and calls that are not supported. */
#include <string.h>

#include "config/config.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/settings.h"
#include "fleet/usage/history.h"
#include "json/write.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "surface/daytona/toolbox.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define BASE DAYTONA_TOOLBOX "/:id"
#define VERSION "atoll"
#define PORT_MIN 3000
#define PORT_MAX 9999

static const char *first_line(struct arena *a, struct span text)
{
	struct span line;

	(void)span_split(&text, '\n', &line);
	return arena_copy(a, line);
}

/* The home of the user that commands run as. A process without a working folder starts there. */
static int get_home(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	const char *args[] = {"pwd", NULL};
	const struct toolbox_command run = {.args = args, .out_max = 4096};
	struct compute_result result;

	if (daytona_target_open(rq, &t, err) < 0 || toolbox_run(rq, &t, &run, &result, err) < 0)
		return -1;
	return daytona_reply_member(reply, "dir", first_line(rq->arena, result.out[0]));
}

static int get_workdir(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};

	if (daytona_target_open(rq, &t, err) < 0)
		return -1;
	if (!t.workdir || !t.workdir[0])
		return get_home(rq, body, reply, err);
	return daytona_reply_member(reply, "dir", t.workdir);
}

static int get_version(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                       UNUSED struct error *err)
{
	return daytona_reply_member(reply, "version", VERSION);
}

struct listening_ports {
	bool listens[PORT_MAX + 1 - PORT_MIN];
	bool wanted_listens;
	uint16_t wanted; /* 0 = none */
};

/* Takes the next word of a line, without the blanks before it. */
static struct span next_word(struct span *line)
{
	struct span word;

	while (line->size > 0 && line->data[0] == ' ')
		span_skip(line, 1);
	(void)span_split(line, ' ', &word);
	return word;
}

/* Returns -1 if the text is not a hexadecimal number of at most four digits. */
static int parse_hex(struct span text)
{
	int value = 0;

	if (text.size == 0 || text.size > 4)
		return -1;
	for (size_t i = 0; i < text.size; i++) {
		int digit = hex_digit_value(text.data[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

#define STATE_LISTEN 0x0a

/* Reads a line of /proc/net/tcp: "0: 0100007F:1F90 00000000:0000 0A …". */
static void take_line(struct listening_ports *p, struct span line)
{
	struct span number = next_word(&line), local = next_word(&line), remote = next_word(&line),
	            address;
	int state = parse_hex(next_word(&line)), port;

	(void)number;
	(void)remote;
	(void)span_split(&local, ':', &address);
	port = parse_hex(local);
	if (state != STATE_LISTEN || port <= 0)
		return;
	if (port == p->wanted)
		p->wanted_listens = true;
	if (port >= PORT_MIN && port <= PORT_MAX)
		p->listens[port - PORT_MIN] = true;
}

static int find_ports(struct request *rq, struct listening_ports *p, struct error *err)
{
	static const char *const files[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	AUTO(api_target_done) struct api_target t = {.hold = NULL};

	if (daytona_target_open(rq, &t, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		AUTO(buf_done) struct buf text = BUF(4 * 1024 * 1024);
		struct span rest, line;

		if (toolbox_read_file(rq, &t, files[i], &text, err) < 0)
			return -1;
		rest = buf_span(&text);
		while (span_split(&rest, '\n', &line))
			take_line(p, line);
	}
	return 0;
}

static int list_ports(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct listening_ports *p = ARENA_NEW(rq->arena, struct listening_ports);

	if (find_ports(rq, p, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_begin_list(out, "ports");
	for (unsigned i = 0; i < COUNT_OF(p->listens); i++)
		if (p->listens[i])
			json_add_whole(out, NULL, PORT_MIN + i);
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static int get_port_in_use(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	struct listening_ports *p = ARENA_NEW(rq->arena, struct listening_ports);
	struct buf *out = reply_buf(reply, "application/json");
	int64_t port;

	if (span_parse_whole(span_of(request_param(rq, "port")), 1, 65535, &port, err) < 0)
		return FAIL_CONTEXT(err, "port");
	p->wanted = (uint16_t)port;
	if (find_ports(rq, p, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_add_bool(out, "isInUse", p->wanted_listens);
	json_end_object(out);
	return 0;
}

struct daytona_sample {
	struct sandbox_record record;
	struct provider_stats stats;
	double cpu_percent; /* of the sandbox's CPU limit, on average since its start */
	uint64_t disk_used;
};

static int take_sample(struct request *rq, struct daytona_sample *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	const struct provider_stats *s = &ret->stats;
	struct fleet *fleet = api_of(rq)->fleet;

	if (fleet_find(fleet, rq->arena, &ref, &ret->record, err) < 0 ||
	    fleet_stats(fleet, &ret->record, &ret->stats, err) < 0)
		return -1;
	ret->cpu_percent = 0;
	if (s->uptime_ms > 0 && ret->record.resources.cpu > 0)
		ret->cpu_percent = (double)s->cpu_usage_us / 10.0 / (double)s->uptime_ms /
		                   ret->record.resources.cpu;
	ret->disk_used = s->disk_bytes > INT64_MAX ? 0 : s->disk_bytes;
	return 0;
}

/* Two decimals are enough for a share or an amount that is shown. */
static void add_rounded(struct buf *out, const char *name, double value)
{
	json_add_name(out, name);
	buf_addf(out, "%.2f", value);
}

static int get_system_metrics(struct request *rq, UNUSED const void *body, struct reply *reply,
                              struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct daytona_sample s;
	int64_t disk, used;

	if (take_sample(rq, &s, err) < 0)
		return -1;
	disk = (int64_t)s.stats.disk_limit_bytes;
	used = (int64_t)s.disk_used;
	json_begin_object(out, NULL);
	json_add_whole(out, "cpuCount",
	               s.record.resources.cpu < 1 ? 1 : (int)s.record.resources.cpu);
	add_rounded(out, "cpuUsedPct", s.cpu_percent);
	json_add_whole(out, "memTotal", (int64_t)s.stats.memory_limit_bytes);
	json_add_whole(out, "memUsed", (int64_t)s.stats.memory_bytes);
	json_add_whole(out, "memCache", 0);
	json_add_whole(out, "diskTotal", disk);
	json_add_whole(out, "diskUsed", used);
	json_add_whole(out, "diskFree", disk > used ? disk - used : 0);
	json_add_whole(out, "timestampUnix", s.stats.sampled_unix_ms / 1000);
	json_add_time(out, "timestamp", s.stats.sampled_unix_ms);
	json_end_object(out);
	return 0;
}

struct telemetry_query {
	const char *from, *to;
};
static const struct json_member telemetry_query_members[] = {
        JSON_TEXT_MEMBER(telemetry_query, from, .max = 40),
        JSON_TEXT_MEMBER(telemetry_query, to, .max = 40),
};
static JSON_OPEN_SHAPE(telemetry_query, "DaytonaTelemetryQuery", telemetry_query, "The period");

static int read_time(const char *name, const char *text, int64_t *ret, struct error *err)
{
	if (!text || json_time_parse(span_of(text), ret))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: '%s' is not a time, such as 2026-01-31T12:00:00Z",
	            name, text);
}

struct telemetry_source {
	const struct sandbox_record *record;
	const struct fleet_history *history;
};

static double cpu_used(const struct telemetry_source *m, const struct fleet_sample *s)
{
	double cpu = m->record->resources.cpu;

	return cpu > 0 ? (double)s->cpu_percent / cpu : 0;
}

static double cpu_limit(const struct telemetry_source *m, UNUSED const struct fleet_sample *s)
{
	return m->record->resources.cpu;
}

static double memory_used(UNUSED const struct telemetry_source *m, const struct fleet_sample *s)
{
	return (double)s->memory_bytes;
}

static double memory_limit(const struct telemetry_source *m, UNUSED const struct fleet_sample *s)
{
	return (double)m->history->memory_limit_bytes;
}

static double disk_used(UNUSED const struct telemetry_source *m, const struct fleet_sample *s)
{
	return s->disk_bytes > INT64_MAX ? 0 : (double)s->disk_bytes;
}

static double disk_limit(const struct telemetry_source *m, UNUSED const struct fleet_sample *s)
{
	return (double)m->history->disk_limit_bytes;
}

static const struct {
	const char *name;
	double (*value)(const struct telemetry_source *m, const struct fleet_sample *s);
} series[] = {
        {"daytona.sandbox.cpu.utilization", cpu_used},
        {"daytona.sandbox.cpu.limit", cpu_limit},
        {"daytona.sandbox.memory.usage", memory_used},
        {"daytona.sandbox.memory.limit", memory_limit},
        {"daytona.sandbox.filesystem.usage", disk_used},
        {"daytona.sandbox.filesystem.total", disk_limit},
};

static void write_points(struct buf *out, size_t which, const struct telemetry_source *m)
{
	json_begin_object(out, NULL);
	json_add_text(out, "metricName", series[which].name);
	json_begin_list(out, "dataPoints");
	for (size_t i = 0; i < m->history->count; i++) {
		const struct fleet_sample *s = &m->history->items[i];

		json_begin_object(out, NULL);
		json_add_time(out, "timestamp", s->at);
		add_rounded(out, "value", series[which].value(m, s));
		json_end_object(out);
	}
	json_end_list(out);
	json_end_object(out);
}

static int get_telemetry(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct telemetry_query *q = rq->query;
	const struct fleet_ref ref = api_path_ref(rq);
	struct buf *out = reply_buf(reply, "application/json");
	struct fleet_period period = {0, 0};
	struct fleet_history found;
	struct sandbox_record record;
	const struct telemetry_source measured = {&record, &found};

	if (read_time("from", q->from, &period.from, err) < 0 ||
	    read_time("to", q->to, &period.until, err) < 0 ||
	    fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0 ||
	    fleet_history(api_of(rq)->fleet, rq->arena, &record, &period, &found, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_begin_list(out, "series");
	for (size_t i = 0; i < COUNT_OF(series); i++)
		write_points(out, i, &measured);
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static int get_toolbox_url(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record r;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return daytona_reply_member(
	        reply, "url", arena_format(rq->arena, "%s" DAYTONA_TOOLBOX, daytona_origin(rq)));
}

static int get_config(struct request *rq, UNUSED const void *body, struct reply *reply,
                      UNUSED struct error *err)
{
	const struct json_map none = {.count = 0};
	const char *origin = daytona_origin(rq);
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_object(out, NULL);
	json_add_text(out, "version", VERSION);
	json_begin_object(out, "oidc");
	json_add_text(out, "issuer", "");
	json_add_text(out, "clientId", "");
	json_add_text(out, "audience", "");
	json_end_object(out);
	json_add_bool(out, "linkedAccountsEnabled", false);
	json_add_map(out, "announcements", &none);
	json_add_text(out, "proxyTemplateUrl",
	              arena_format(rq->arena, "%s/daytona/preview/{{sandboxId}}/{{PORT}}", origin));
	json_add_text(out, "proxyToolboxUrl",
	              arena_format(rq->arena, "%s" DAYTONA_TOOLBOX, origin));
	json_add_text(out, "dashboardUrl", origin);
	json_add_whole(out, "maxAutoArchiveInterval", 43200);
	json_add_bool(out, "maintananceMode", false);
	json_add_text(out, "environment", "self-hosted");
	json_add_text(out, "defaultSnapshot", api_of(rq)->config->default_template);
	json_end_object(out);
	return 0;
}

#define MB_PER_GB 1024

struct daytona_resize_body {
	double cpu, memory, disk;
};
static const struct json_member resize_request_members[] = {
        JSON_NUMBER_MEMBER(daytona_resize_body, cpu, .flags = JSON_NULLABLE, .max = 1024),
        JSON_NUMBER_MEMBER(daytona_resize_body, memory, .flags = JSON_NULLABLE, .max = 1 << 14),
        JSON_NUMBER_MEMBER(daytona_resize_body, disk, .flags = JSON_NULLABLE, .max = 1 << 18),
};
static JSON_OPEN_SHAPE(resize_request, "DaytonaResize", daytona_resize_body, "The new limits");

static int resize_sandbox(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct daytona_resize_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct sandbox_resources change = {.cpu = b->cpu,
	                                         .memory_mb = (int64_t)(b->memory * MB_PER_GB),
	                                         .disk_mb = (int64_t)(b->disk * MB_PER_GB)};
	struct sandbox_record r;

	if (fleet_resize(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &r, err);
}

struct daytona_env_body {
	struct json_map set;
	const char **unset;
	const char *unset_prefix;
};
static const struct json_member env_request_members[] = {
        JSON_TEXT_MAP_MEMBER(daytona_env_body, set, .flags = JSON_NULLABLE | JSON_SECRET,
                             .max = 256),
        JSON_TEXT_LIST_MEMBER(daytona_env_body, unset, .flags = JSON_NULLABLE, .max = 256),
        JSON_TEXT_MEMBER(daytona_env_body, unset_prefix, .name = "unsetValuePrefix",
                         .flags = JSON_NULLABLE),
};
static JSON_OPEN_SHAPE(env_request, "DaytonaEnv", daytona_env_body,
                       "The variables to set and unset");

/* Answers with the sandbox's own variables. Those of its template are not included. */
static int change_environment(struct request *rq, const void *body, struct reply *reply,
                              struct error *err)
{
	const struct daytona_env_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_environment change = {.set = &b->set,
	                                         .unset = (const char *const *)b->unset};
	struct sandbox_record r;

	if (b->unset_prefix && b->unset_prefix[0])
		return daytona_fail_unsupported("unsetValuePrefix", err);
	if (fleet_set_environment(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	reply_text(reply, "application/json", span_of(r.env_json[0] ? r.env_json : "{}"));
	return 0;
}

static int refuse_ssh(UNUSED struct request *rq, UNUSED const void *body,
                      UNUSED struct reply *reply, struct error *err)
{
	(void)daytona_fail_unsupported("ssh access to sandboxes", err);
	error_hint(err, "'atoll shell' and PTY sessions open a terminal");
	return -1;
}

static int refuse_computer_use(UNUSED struct request *rq, UNUSED const void *body,
                               UNUSED struct reply *reply, struct error *err)
{
	return daytona_fail_unsupported("computer use: a sandbox has no desktop", err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_info_routes[] = {
        {HTTP_GET, DAYTONA_API "/config", READ, .handle = get_config, TAG,
         .summary = "Get the server's configuration"},
        {HTTP_GET, SANDBOX "/toolbox-proxy-url", READ, .handle = get_toolbox_url, TAG,
         .summary = "Get the URL of the toolbox"},
        {HTTP_GET, SANDBOX "/telemetry/metrics", READ, .query = &telemetry_query,
         .handle = get_telemetry, TAG, .summary = "Get the resource usage of a sandbox over time"},
        {HTTP_POST, SANDBOX "/resize", WRITE, .body = &resize_request, .handle = resize_sandbox,
         TAG, .summary = "Change the limits of a sandbox"},
        {HTTP_POST, SANDBOX "/ssh-access", WRITE, .handle = refuse_ssh, TAG,
         .summary = "Not supported"},
        {HTTP_DELETE, SANDBOX "/ssh-access", WRITE, .handle = refuse_ssh, TAG,
         .summary = "Not supported"},
        {HTTP_GET, DAYTONA_API "/sandbox/ssh-access/validate", READ, .handle = refuse_ssh, TAG,
         .summary = "Not supported"},
        {HTTP_GET, BASE "/user-home-dir", READ, .handle = get_home, TAG,
         .summary = "Get the home folder of the sandbox's user"},
        {HTTP_GET, BASE "/work-dir", READ, .handle = get_workdir, TAG,
         .summary = "Get the folder in which commands start"},
        {HTTP_GET, BASE "/version", READ, .handle = get_version, TAG,
         .summary = "Get the server's configuration"},
        {HTTP_GET, BASE "/system/metrics", READ, .handle = get_system_metrics, TAG,
         .summary = "Get the current resource usage of a sandbox"},
        {HTTP_GET, BASE "/port", READ, .handle = list_ports, TAG,
         .summary = "List the ports from 3000 to 9999 on which a process listens"},
        {HTTP_GET, BASE "/port/:port/in-use", READ, .handle = get_port_in_use, TAG,
         .summary = "Get whether a process listens on a port"},
        {HTTP_POST, BASE "/env", WRITE, .body = &env_request, .handle = change_environment, TAG,
         .summary = "Change the environment of processes that start from now on"},
        {HTTP_ANY, BASE "/computeruse/*rest", WRITE, .handle = refuse_computer_use, TAG,
         .summary = "Not supported: a sandbox has no desktop"},
        {.path = NULL},
};
