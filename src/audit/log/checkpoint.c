/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: in the store, as a line of a file beside the spool, and in the log. The other
 * two reveal a change of the store alone. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log/parts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/access.h"

#define KEY_NAME "audit"
#define FILE_NAME "checkpoints.jsonl"
#define OLDER_NAME "checkpoints.older.jsonl"
#define FILE_MAX ((off_t)8 << 20)

_Static_assert(STORE_SERVER_KEY_SIZE == AUDIT_KEY_SIZE, "the seed of a key");

int log_find_key(struct audit_log *log, struct error *err)
{
	if (store_server_key(log->store, KEY_NAME, log->seed, err) == 0) {
		audit_public_key(log->seed, log->key);
		log->has_key = true;
		return 0;
	}
	if (err->code != ERROR_UNAVAILABLE)
		return FAIL_CONTEXT(err, "the audit's signing key");
	log_warning("this server signs no checkpoints of the audit", FAILURE(err));
	error_clear(err);
	return 0;
}

int audit_log_key(const struct audit_log *log, unsigned char ret[AUDIT_KEY_SIZE], struct error *err)
{
	if (!log->has_key)
		return FAIL(
		        err, ERROR_UNAVAILABLE,
		        "this server has another secret key than the servers that sign the audit");
	memcpy(ret, log->key, AUDIT_KEY_SIZE);
	return 0;
}

static int append_to_file(struct audit_log *log, const struct buf *line, struct error *err)
{
	int folder = log->spool.folder;
	struct stat status;
	AUTO_CLOSE int fd =
	        openat(folder, FILE_NAME, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", FILE_NAME);
	if (fstat(fd, &status) == 0 && status.st_size > FILE_MAX &&
	    renameat(folder, FILE_NAME, folder, OLDER_NAME) < 0)
		return FAIL_ERRNO(err, "rename '%s'", FILE_NAME);
	return fd_write_all(fd, line->data, line->size, err);
}

static void tell_checkpoint(struct audit_log *log, const struct audit_checkpoint *c,
                            const unsigned char signature[AUDIT_SIGNATURE_SIZE])
{
	AUTO(buf_done) struct buf line = BUF(AUDIT_LINE_MAX);
	char hash[AUDIT_HEX_SIZE], signed_hex[AUDIT_SIGNATURE_HEX_SIZE];
	struct error err = {0};

	audit_export_checkpoint_write(&line, c, log->key, signature);
	if (append_to_file(log, &line, &err) < 0)
		log_warning("a checkpoint of the audit is in the store only", FAILURE(&err));
	hex_encode(c->hash, AUDIT_HASH_SIZE, hash);
	hex_encode(signature, AUDIT_SIGNATURE_SIZE, signed_hex);
	log_info("audit checkpoint", TEXT("chain", c->chain), NUMBER("sequence", c->sequence),
	         NUMBER("at_ms", c->at), TEXT("hash", hash), TEXT("signature", signed_hex));
}

static int find_checkpoint(struct audit_log *log, struct arena *a, int64_t sequence,
                           struct audit_checkpoint_record *ret, bool *ret_found, struct error *err)
{
	if (store_audit_checkpoint_before(log->store, a, sequence + 1, ret, ret_found, err) < 0)
		return -1;
	*ret_found = *ret_found && ret->sequence == sequence;
	return 0;
}

static int make_checkpoint(struct audit_log *log, struct arena *a, const struct audit_head *head,
                           struct audit_checkpoint_record *ret, struct error *err)
{
	unsigned char signature[AUDIT_SIGNATURE_SIZE];
	struct audit_checkpoint c = {
	        .chain = head->chain, .sequence = head->sequence, .at = clock_unix_ms()};
	char *hex = arena_alloc(a, AUDIT_SIGNATURE_HEX_SIZE);

	*ret = (struct audit_checkpoint_record){
	        .sequence = c.sequence, .at = c.at, .signature = hex};
	if (audit_log_key(log, ret->public_key, err) < 0)
		return -1;
	memcpy(c.hash, head->hash, AUDIT_HASH_SIZE);
	audit_sign(&c, log->seed, signature);
	hex_encode(signature, AUDIT_SIGNATURE_SIZE, hex);
	memcpy(ret->hash, c.hash, AUDIT_HASH_SIZE);
	fault_point("audit", "sign");
	if (store_audit_checkpoint_add(log->store, ret, err) < 0)
		return -1;
	fault_point("audit", "signed");
	tell_checkpoint(log, &c, signature);
	return 0;
}

int audit_log_checkpoint(struct audit_log *log, struct arena *a,
                         struct audit_checkpoint_record *ret, struct error *err)
{
	struct audit_head head;
	bool found;

	if (store_audit_head(log->store, a, &head, err) < 0)
		return -1;
	*ret = (struct audit_checkpoint_record){0};
	if (head.sequence == 0)
		return 0;
	if (find_checkpoint(log, a, head.sequence, ret, &found, err) < 0 ||
	    (!found && make_checkpoint(log, a, &head, ret, err) < 0))
		return -1;
	if (found)
		return 0;
	pthread_mutex_lock(&log->mutex);
	log->counts.checkpoints++;
	log->counts.checkpoint_at = ret->at;
	pthread_mutex_unlock(&log->mutex);
	/* Another server may have signed this row in between: the store has the first one. */
	return find_checkpoint(log, a, head.sequence, ret, &found, err);
}

void log_sign(struct audit_log *log, int64_t sequence, bool now)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_checkpoint_record ignored;
	struct error err = {0};
	int64_t tick = clock_monotonic_ms();

	if (!log->has_key || sequence <= log->signed_sequence)
		return;
	if (!now && sequence - log->signed_sequence < log->checkpoint_rows &&
	    tick - log->signed_tick < log->checkpoint_ms)
		return;
	if (audit_log_checkpoint(log, &a, &ignored, &err) < 0) {
		log_warning("the audit has no new checkpoint", FAILURE(&err));
		return;
	}
	log->signed_sequence = sequence;
	log->signed_tick = tick;
}
