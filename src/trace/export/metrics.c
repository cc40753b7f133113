/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of /metrics, so that both have the same metrics under the same names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "json/write.h"
#include "trace/export/export.h"
#include "trace/export/parts.h"

#define CUMULATIVE 2
#define NUMBER_SIZE 64

struct otlp_text {
	struct buf *out;
	struct span rest;
	uint64_t started_ns, now_ns;
};

/* "name{labels} value" */
struct otlp_sample {
	struct span name, labels, value;
};

static bool take_line(struct span *rest, struct span *ret)
{
	if (rest->size == 0)
		return false;
	(void)span_split(rest, '\n', ret);
	return true;
}

static bool parse_sample(struct span line, struct otlp_sample *ret)
{
	struct span rest = line;
	ptrdiff_t open = span_find(line, '{'), blank = span_find(line, ' ');

	if (line.size == 0 || line.data[0] == '#' || blank <= 0)
		return false;
	*ret = (struct otlp_sample){.labels = {NULL, 0}};
	if (open < 0 || open > blank) {
		(void)span_split(&rest, ' ', &ret->name);
		ret->value = rest;
		return true;
	}
	ret->name = (struct span){line.data, (size_t)open};
	/* No label of ours holds a brace after its value; the last one ends the labels, because a
	 * route may have braces. */
	for (size_t end = line.size; end > (size_t)open; end--)
		if (line.data[end - 1] == '}') {
			ret->labels =
			        (struct span){line.data + open + 1, end - 1 - (size_t)open - 1};
			ret->value = span_trim((struct span){line.data + end, line.size - end});
			return ret->value.size > 0;
		}
	return false;
}

/* Moves name="value" out of the labels; a value without quotes inside, as all of ours are. */
static bool take_label(struct span *labels, struct span *ret_name, struct span *ret_value)
{
	if (!span_split(labels, '=', ret_name) || labels->size == 0 || labels->data[0] != '"')
		return false;
	span_skip(labels, 1);
	if (!span_split(labels, '"', ret_value))
		return false;
	if (labels->size > 0 && labels->data[0] == ',')
		span_skip(labels, 1);
	return true;
}

static void write_labels(struct buf *out, struct span labels)
{
	struct span name, value;

	json_begin_list(out, "attributes");
	while (take_label(&labels, &name, &value)) {
		if (span_equals_text(name, "le"))
			continue;
		json_begin_object(out, NULL);
		json_add_span(out, "key", name);
		json_begin_object(out, "value");
		json_add_span(out, "stringValue", value);
		json_end_object(out);
		json_end_object(out);
	}
	json_end_list(out);
}

static double number_of(struct span text)
{
	char copy[NUMBER_SIZE];

	(void)snprintf(copy, sizeof(copy), "%.*s", (int)text.size, text.data);
	return strtod(copy, NULL);
}

static void write_times(const struct otlp_text *t)
{
	otlp_add_whole(t->out, "startTimeUnixNano", t->started_ns);
	otlp_add_whole(t->out, "timeUnixNano", t->now_ns);
}

/* Moves the next sample out when its name is `name`, perhaps with something after it. */
static bool take_sample(struct otlp_text *t, struct span name, struct otlp_sample *ret)
{
	struct span rest = t->rest, line;

	if (!take_line(&rest, &line) || !parse_sample(line, ret) || ret->name.size < name.size ||
	    memcmp(ret->name.data, name.data, name.size) != 0)
		return false;
	t->rest = rest;
	return true;
}

static void write_points(struct otlp_text *t, struct span name)
{
	struct otlp_sample sample;

	json_begin_list(t->out, "dataPoints");
	while (take_sample(t, name, &sample)) {
		json_begin_object(t->out, NULL);
		write_labels(t->out, sample.labels);
		write_times(t);
		json_add_number(t->out, "asDouble", number_of(sample.value));
		json_end_object(t->out);
	}
	json_end_list(t->out);
}

static struct span label_of(struct span labels, const char *wanted)
{
	struct span name, value;

	while (take_label(&labels, &name, &value))
		if (span_equals_text(name, wanted))
			return value;
	return (struct span){NULL, 0};
}

/* The buckets of one series end with "+Inf"; its sum and count follow. */
static bool write_series(struct otlp_text *t, struct span name)
{
	AUTO(buf_done) struct buf counts = BUF(4096), bounds = BUF(4096);
	struct otlp_sample sample, first = {.value = {NULL, 0}};
	uint64_t below = 0;
	double sum = 0;

	json_begin_list(&counts, NULL);
	json_begin_list(&bounds, NULL);
	while (take_sample(t, name, &sample)) {
		struct span bound = label_of(sample.labels, "le");
		double value = number_of(sample.value);

		if (!first.value.data)
			first = sample;
		if (bound.data) {
			otlp_add_whole(&counts, NULL, (uint64_t)value - below);
			below = (uint64_t)value;
			if (!span_equals_text(bound, "+Inf"))
				json_add_number(&bounds, NULL, number_of(bound));
			continue;
		}
		if (sample.name.data[sample.name.size - 1] == 'm') { /* _sum */
			sum = value;
			continue;
		}
		break; /* _count */
	}
	if (!first.value.data)
		return false;
	json_end_list(&counts);
	json_end_list(&bounds);
	json_begin_object(t->out, NULL);
	write_labels(t->out, first.labels);
	write_times(t);
	otlp_add_whole(t->out, "count", below);
	json_add_number(t->out, "sum", sum);
	json_add_raw(t->out, "bucketCounts", buf_span(&counts));
	json_add_raw(t->out, "explicitBounds", buf_span(&bounds));
	json_end_object(t->out);
	return true;
}

static void write_histogram(struct otlp_text *t, struct span name)
{
	json_begin_object(t->out, "histogram");
	json_add_whole(t->out, "aggregationTemporality", CUMULATIVE);
	json_begin_list(t->out, "dataPoints");
	while (write_series(t, name))
		;
	json_end_list(t->out);
	json_end_object(t->out);
}

static const char *unit_of(struct span name)
{
	if (span_ends_with_word(name, SPAN("_seconds")) ||
	    span_ends_with_word(name, SPAN("_seconds_total")))
		return "s";
	if (span_ends_with_word(name, SPAN("_bytes")) ||
	    span_ends_with_word(name, SPAN("_bytes_total")))
		return "By";
	return "1";
}

/* The samples that follow the lines HELP and TYPE. */
static void write_metric(struct otlp_text *t, struct span name, struct span help, struct span type)
{
	struct buf *out = t->out;

	json_begin_object(out, NULL);
	json_add_span(out, "name", name);
	json_add_span(out, "description", help);
	json_add_text(out, "unit", unit_of(name));
	if (span_equals_text(type, "histogram")) {
		write_histogram(t, name);
	} else if (span_equals_text(type, "counter")) {
		json_begin_object(out, "sum");
		json_add_whole(out, "aggregationTemporality", CUMULATIVE);
		json_add_bool(out, "isMonotonic", true);
		write_points(t, name);
		json_end_object(out);
	} else {
		json_begin_object(out, "gauge");
		write_points(t, name);
		json_end_object(out);
	}
	json_end_object(out);
}

static void write_text(struct otlp_text *t)
{
	static const char help_mark[] = "# HELP ", type_mark[] = "# TYPE ";
	struct span line, name, help = {NULL, 0};

	while (take_line(&t->rest, &line)) {
		if (span_starts_with(line, help_mark)) {
			help = span_after(line, sizeof(help_mark) - 1);
			(void)span_split(&help, ' ', &name);
		} else if (span_starts_with(line, type_mark)) {
			struct span type = span_after(line, sizeof(type_mark) - 1);

			(void)span_split(&type, ' ', &name);
			write_metric(t, name, help, type);
			help = (struct span){NULL, 0};
		}
	}
}

void otlp_write_metrics(struct buf *out, const struct otlp_resource *resource, struct span text,
                        int64_t started_unix_ms, int64_t now_unix_ms)
{
	struct otlp_text t = {.out = out,
	                      .rest = text,
	                      .started_ns = (uint64_t)started_unix_ms * 1000000,
	                      .now_ns = (uint64_t)now_unix_ms * 1000000};

	json_begin_object(out, NULL);
	json_begin_list(out, "resourceMetrics");
	json_begin_object(out, NULL);
	otlp_begin_scope(out, resource, "scopeMetrics");
	json_begin_list(out, "metrics");
	write_text(&t);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
	json_end_object(out);
}
