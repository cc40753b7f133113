/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "json/json.h"
#include "json/write.h"
#include "provider/kubernetes/access.h"

#define DEPTH_MAX 16
#define TEXT_MAX ((size_t)1 << 20)

struct yaml_reader {
	yaml_parser_t yaml;
	yaml_event_t event;
	const char *path;
	struct buf out;
};

static void reader_done(struct yaml_reader *r)
{
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->yaml);
	buf_done(&r->out);
}

static int next_event(struct yaml_reader *r, struct error *err)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->yaml, &r->event))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s:%zu: %s", r->path, r->yaml.problem_mark.line + 1,
	            r->yaml.problem ? r->yaml.problem : "not valid YAML");
}

static struct span scalar_of(const struct yaml_reader *r)
{
	return (struct span){(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
}

static int read_value(struct yaml_reader *r, const char *name, unsigned depth, struct error *err);

static int read_mapping(struct yaml_reader *r, const char *name, unsigned depth, struct error *err)
{
	json_begin_object(&r->out, name);
	for (;;) {
		AUTO(arena_done) struct arena arena = {0};

		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (r->event.type != YAML_SCALAR_EVENT)
			return FAIL(err, ERROR_INVALID, "%s:%zu: a name is no text", r->path,
			            r->event.start_mark.line + 1);
		const char *member = arena_copy(&arena, scalar_of(r));
		if (next_event(r, err) < 0 || read_value(r, member, depth + 1, err) < 0)
			return -1;
	}
	json_end_object(&r->out);
	return 0;
}

static int read_sequence(struct yaml_reader *r, const char *name, unsigned depth, struct error *err)
{
	json_begin_list(&r->out, name);
	for (;;) {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (read_value(r, NULL, depth + 1, err) < 0)
			return -1;
	}
	json_end_list(&r->out);
	return 0;
}

static int read_value(struct yaml_reader *r, const char *name, unsigned depth, struct error *err)
{
	if (depth > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "%s is nested too deep", r->path);
	if (r->event.type == YAML_MAPPING_START_EVENT)
		return read_mapping(r, name, depth, err);
	if (r->event.type == YAML_SEQUENCE_START_EVENT)
		return read_sequence(r, name, depth, err);
	if (r->event.type != YAML_SCALAR_EVENT)
		return FAIL(err, ERROR_INVALID, "%s:%zu: an alias is not known here", r->path,
		            r->event.start_mark.line + 1);
	json_add_span(&r->out, name, scalar_of(r));
	return 0;
}

static int read_document(struct yaml_reader *r, struct error *err)
{
	do {
		if (next_event(r, err) < 0)
			return -1;
		if (r->event.type == YAML_STREAM_END_EVENT)
			return FAIL(err, ERROR_INVALID, "%s is empty", r->path);
	} while (r->event.type == YAML_STREAM_START_EVENT ||
	         r->event.type == YAML_DOCUMENT_START_EVENT);
	return read_value(r, NULL, 0, err);
}

int yaml_load(struct arena *a, const char *path, struct span text, const struct json_value **ret,
              struct error *err)
{
	struct yaml_reader reader = {.path = path, .out = BUF(TEXT_MAX)};
	int status;

	memset(&reader.event, 0, sizeof(reader.event));
	if (!yaml_parser_initialize(&reader.yaml))
		abort();
	yaml_parser_set_input_string(&reader.yaml, (const unsigned char *)text.data, text.size);
	status = read_document(&reader, err);
	if (status == 0)
		status = json_load(a, buf_span(&reader.out), ret, err);
	reader_done(&reader);
	return status;
}
