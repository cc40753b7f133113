/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/template_progress.h"

static void take_failure(struct template_progress *p, struct span rest)
{
	struct span code, text;
	char name[32];

	(void)span_split(&rest, ' ', &code);
	(void)span_split(&rest, '\t', &text);
	if (code.size >= sizeof(name))
		return;
	memcpy(name, code.data, code.size);
	name[code.size] = '\0';
	error_set(&p->failure, error_code_parse(name), 0, HERE, "%.*s", (int)text.size, text.data);
	if (rest.size > 0)
		error_hint(&p->failure, "%.*s", (int)rest.size, rest.data);
}

static void take_line(struct template_progress *p)
{
	struct span text = buf_span(&p->line), word;
	struct error err = {0};
	int64_t percent, bytes;

	(void)span_split(&text, ' ', &word);
	if (span_equals_text(word, "error"))
		take_failure(p, text);
	else if (span_equals_text(word, "size") && p->on_size &&
	         span_parse_whole(text, 0, INT64_MAX, &bytes, &err) == 0)
		p->on_size(p->context, bytes);
	else if (span_parse_whole(word, 0, 100, &percent, &err) == 0 && p->on_progress)
		p->on_progress(p->context, (int)percent, text.size ? text.data : "");
}

void template_progress_take(struct template_progress *p, struct span bytes)
{
	for (size_t i = 0; i < bytes.size; i++) {
		if (bytes.data[i] != '\n') {
			buf_add_byte(&p->line, bytes.data[i]);
			continue;
		}
		take_line(p);
		buf_reset(&p->line);
	}
}

void template_progress_done(struct template_progress *p)
{
	buf_done(&p->line);
}
