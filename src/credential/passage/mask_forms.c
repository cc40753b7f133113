/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/passage/mask_forms.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "credential/rule.h"
#include "json/base64.h"

#define GROWTH 6 /* "\u0022" */
#define FORM_SIZE_MAX ((size_t)CREDENTIAL_VALUE_MAX * GROWTH)
/* A longer one is a key or a signed token, of letters that few forms change. */
#define ALL_FORMS_MAX ((size_t)1024)

/* What a writer puts in the place of some bytes. */
struct escape {
	char byte;
	const char *text;
};

struct forms {
	void (*on_form)(void *context, struct span form);
	void *context;
	struct span value;
	char *text; /* room for the longest form */
};

static void give_form(const struct forms *f, const char *end)
{
	f->on_form(f->context, (struct span){f->text, (size_t)(end - f->text)});
}

/* Gives a form only if it is another text. */
static void add_escaped(const struct forms *f, struct span value, const struct escape *escapes)
{
	const char *texts[256] = {NULL};
	char *at = f->text;
	bool is_other = false;

	for (; escapes->text; escapes++)
		texts[(unsigned char)escapes->byte] = escapes->text;
	for (size_t i = 0; i < value.size; i++) {
		const char *text = texts[(unsigned char)value.data[i]];

		if (!text)
			*at++ = value.data[i];
		else
			at = stpcpy(at, text);
		is_other = is_other || text;
	}
	if (is_other)
		give_form(f, at);
}

/* Strings of JSON: as most write them, with '/' as PHP does, with letters for what HTML reads as Go
 * and .NET do. Texts of HTML and XML, which differ in their quotes. */
static void add_all_escaped(const struct forms *f)
{
	static const struct escape tables[][9] = {
	        {{'"', "\\\""}, {'\\', "\\\\"}},
	        {{'"', "\\\""}, {'\\', "\\\\"}, {'/', "\\/"}},
	        {{'/', "\\/"}},
	        {{'"', "\\\""},
	         {'\\', "\\\\"},
	         {'<', "\\u003c"},
	         {'>', "\\u003e"},
	         {'&', "\\u0026"}},
	        {{'"', "\\\""},
	         {'\\', "\\\\"},
	         {'<', "\\u003c"},
	         {'>', "\\u003e"},
	         {'&', "\\u0026"},
	         {'\'', "\\u0027"}},
	        {{'"', "\\u0022"},
	         {'\\', "\\\\"},
	         {'<', "\\u003C"},
	         {'>', "\\u003E"},
	         {'&', "\\u0026"},
	         {'\'', "\\u0027"},
	         {'+', "\\u002B"},
	         {'`', "\\u0060"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#039;"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#x27;"}},
	        {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&#34;"}, {'\'', "&#39;"}},
	        {{'&', "&amp;"},
	         {'<', "&lt;"},
	         {'>', "&gt;"},
	         {'"', "&#34;"},
	         {'\'', "&#39;"},
	         {'+', "&#43;"}},
	        {{'&', "&amp;"},
	         {'<', "&lt;"},
	         {'>', "&gt;"},
	         {'"', "&quot;"},
	         {'\'', "&#x27;"},
	         {'/', "&#x2F;"}},
	};

	for (size_t i = 0; i < (f->value.size > ALL_FORMS_MAX ? 3 : COUNT_OF(tables)); i++)
		add_escaped(f, f->value, tables[i]);
}

static char *write_hex(char *at, char byte, const char *digits)
{
	*at++ = digits[(unsigned char)byte >> 4];
	*at++ = digits[(unsigned char)byte & 15];
	return at;
}

static void add_percent(const struct forms *f, const char *kept, const char *digits)
{
	bool is_kept[256] = {false};
	char *at = f->text;

	for (int c = 1; c < 0x80; c++)
		is_kept[c] = isalnum(c) || strchr(kept, c);
	for (size_t i = 0; i < f->value.size; i++) {
		if (is_kept[(unsigned char)f->value.data[i]]) {
			*at++ = f->value.data[i];
			continue;
		}
		*at++ = '%';
		at = write_hex(at, f->value.data[i], digits);
	}
	if ((size_t)(at - f->text) > f->value.size)
		give_form(f, at);
}

/* Parts of a URL. Writers differ in what they leave as it is: most the unreserved characters
 * alone, Python's quote also '/', JavaScript's two functions more. */
static void add_all_percent(const struct forms *f, const char *digits)
{
	static const char *const kept[] = {"-_.~", "-_.~/", "-_.!~*'()", "-_.!~*'();,/?:@&=+$#",
	                                   "-_.*"};

	for (size_t i = 0; i < (f->value.size > ALL_FORMS_MAX ? 1 : COUNT_OF(kept)); i++)
		add_percent(f, kept[i], digits);
}

static void add_hex(const struct forms *f, const char *digits)
{
	char *at = f->text;

	for (size_t i = 0; i < f->value.size; i++)
		at = write_hex(at, f->value.data[i], digits);
	give_form(f, at);
}

/* What does not depend on the bytes around the value: whole groups of six bits. */
static void add_base64(const struct forms *f, size_t offset)
{
	static const struct escape tables[][3] = {{{'+', "-"}, {'/', "_"}},
	                                          {{'/', "\\/"}},
	                                          {{'+', "%2B"}, {'/', "%2F"}},
	                                          {{'+', "%2b"}, {'/', "%2f"}}};
	struct buf padded = BUF(FORM_SIZE_MAX), encoded = BUF(FORM_SIZE_MAX);
	size_t first = (offset * 8 + 5) / 6, last = (offset + f->value.size) * 8 / 6;

	/* They must not grow: what a buffer leaves behind is not wiped. */
	(void)buf_reserve(&padded, offset + f->value.size);
	(void)buf_reserve(&encoded, (offset + f->value.size) * 2);
	buf_add(&padded, "\0\0", offset);
	buf_add_span(&padded, f->value);
	base64_encode(&encoded, buf_span(&padded));
	encoded.size = last;
	f->on_form(f->context, span_after(buf_span(&encoded), first));
	for (size_t i = 0; i < (f->value.size > ALL_FORMS_MAX ? 1 : COUNT_OF(tables)); i++)
		add_escaped(f, span_after(buf_span(&encoded), first), tables[i]);
	buf_wipe(&padded);
	buf_wipe(&encoded);
}

void mask_forms_list(struct span value, void (*on_form)(void *context, struct span form),
                     void *context)
{
	size_t room = (value.size + 4) * GROWTH + 1;
	const struct forms f = {on_form, context, value, memory_new(room)};

	on_form(context, value);
	add_all_escaped(&f);
	add_all_percent(&f, "0123456789ABCDEF");
	add_all_percent(&f, "0123456789abcdef");
	add_hex(&f, "0123456789abcdef");
	add_hex(&f, "0123456789ABCDEF");
	for (size_t offset = 0; offset < 3; offset++)
		add_base64(&f, offset);
	explicit_bzero(f.text, room);
	free(f.text);
}
