/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>
#include <string.h>

#include "fleet/build/build_parts.h"

/* Part of every key; changes when the meaning of steps changes. */
#define RULES "atoll build 2"
#define TEXT_SHOWN_MAX 200

_Static_assert(2 * crypto_hash_sha256_BYTES == BUILD_KEY_SIZE, "a SHA-256");

/* With its length, so that different lists of texts never produce the same bytes. */
static void add_text(crypto_hash_sha256_state *hash, const char *text)
{
	uint64_t size = text ? strlen(text) : 0;
	unsigned char head[8];

	for (unsigned i = 0; i < sizeof(head); i++)
		head[i] = (unsigned char)(size >> 8 * i);
	crypto_hash_sha256_update(hash, head, sizeof(head));
	crypto_hash_sha256_update(hash, (const unsigned char *)(text ? text : ""), size);
}

static void add_texts(crypto_hash_sha256_state *hash, const char *const *texts)
{
	for (size_t i = 0; texts && texts[i]; i++) {
		add_text(hash, "+");
		add_text(hash, texts[i]);
	}
	add_text(hash, ".");
}

static void add_map(crypto_hash_sha256_state *hash, const struct json_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		add_text(hash, "+");
		add_text(hash, map->pairs[i].key);
		add_text(hash, map->pairs[i].value);
	}
	add_text(hash, ".");
}

/* Secrets are not part of a key, nor is what a cache has. */
static void add_mounts(crypto_hash_sha256_state *hash, const struct build_step *step)
{
	const struct build_mount *mounts = step->mounts.items;

	for (size_t i = 0; i < step->mounts.count; i++) {
		const struct build_mount *m = &mounts[i];
		const char *texts[] = {m->id,  m->path, m->source, m->files,
		                       m->env, m->user, m->mode,   m->is_file ? "file" : ""};
		const unsigned char type = (unsigned char)m->type;

		crypto_hash_sha256_update(hash, &type, 1);
		for (size_t k = 0; k < COUNT_OF(texts); k++)
			add_text(hash, texts[k]);
	}
	add_text(hash, ".");
}

static void finish_key(crypto_hash_sha256_state *hash, char ret[BUILD_KEY_SIZE + 1])
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(hash, digest);
	sodium_bin2hex(ret, BUILD_KEY_SIZE + 1, digest, sizeof(digest));
}

void build_key_first(const struct template_record *source, bool internet,
                     char ret[BUILD_KEY_SIZE + 1])
{
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	add_text(&hash, RULES);
	/* The recipe counts, too: commands use its environment and folder. */
	add_text(&hash, source->id);
	add_text(&hash, source->folder);
	add_text(&hash, source->snapshot_id);
	add_text(&hash, source->env_json);
	add_text(&hash, source->workdir);
	add_text(&hash, internet ? "internet" : "blocked");
	finish_key(&hash, ret);
}

void build_key_next(char key[BUILD_KEY_SIZE + 1], const struct build_step *step)
{
	static const char *const types[] = {
	        [BUILD_RUN] = "run",         [BUILD_COPY] = "copy",       [BUILD_ENV] = "env",
	        [BUILD_WORKDIR] = "workdir", [BUILD_USER] = "user",       [BUILD_WRITE] = "write",
	        [BUILD_FOLDER] = "folder",   [BUILD_STEP_COUNT] = "made",
	};
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	add_text(&hash, key);
	add_text(&hash, types[step->type]);
	add_text(&hash, step->command);
	add_texts(&hash, step->args);
	add_map(&hash, &step->env);
	add_text(&hash, step->files);
	add_text(&hash, step->path);
	add_text(&hash, step->user);
	add_text(&hash, step->mode);
	add_texts(&hash, step->paths);
	add_text(&hash, step->text);
	add_mounts(&hash, step);
	finish_key(&hash, key);
}

/* Its layer, because a step that is executed again may have another result. */
void build_key_add_stage(char key[BUILD_KEY_SIZE + 1], const struct build_path *stage)
{
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	add_text(&hash, key);
	add_text(&hash, stage->key);
	add_text(&hash, stage->layer);
	finish_key(&hash, key);
}

static const char *shorten_text(struct arena *a, struct span text)
{
	struct span line, rest = text;
	bool more = span_split(&rest, '\n', &line);

	if (line.size > TEXT_SHOWN_MAX) {
		line.size = TEXT_SHOWN_MAX;
		more = true;
	}
	return arena_format(a, "%.*s%s", (int)line.size, line.data ? line.data : "",
	                    more ? " …" : "");
}

const char *build_step_text(struct arena *a, const struct build_step *step)
{
	AUTO(buf_done) struct buf text = BUF(128 * 1024);

	switch ((enum build_step_type)step->type) {
	case BUILD_RUN:
		buf_add_text(&text, step->command ? step->command : "");
		for (size_t i = 0; step->args && step->args[i]; i++)
			buf_addf(&text, "%s%s", i > 0 ? " " : "", step->args[i]);
		return arena_format(a, "RUN %s", shorten_text(a, buf_span(&text)));
	case BUILD_COPY:
		if (step->files && *step->files)
			return arena_format(a, "COPY %.12s… %s", step->files, step->path);
		for (size_t i = 0; step->paths && step->paths[i]; i++)
			buf_addf(&text, "%s ", step->paths[i]);
		return arena_format(a, "COPY --from=%s %s%s", step->from,
		                    shorten_text(a, buf_span(&text)), step->path);
	case BUILD_WRITE:
		return arena_format(a, "WRITE %s", step->path);
	case BUILD_FOLDER:
		return arena_format(a, "FOLDER %s", step->path);
	case BUILD_ENV:
		/* Values may be secrets. */
		for (size_t i = 0; i < step->env.count; i++)
			buf_addf(&text, " %s", step->env.pairs[i].key);
		return arena_format(a, "ENV%s", shorten_text(a, buf_span(&text)));
	case BUILD_WORKDIR:
		return arena_format(a, "WORKDIR %s", step->path);
	case BUILD_USER:
		return arena_format(a, "USER %s", step->user);
	case BUILD_STEP_COUNT:
		break;
	}
	return "the folders";
}
