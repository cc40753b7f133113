-- The database of a server of commit c9b9a076 (tables 36), as sqlite3's .dump writes it.
BEGIN TRANSACTION;
CREATE TABLE approvals (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	tool TEXT NOT NULL,
	input TEXT NOT NULL,
	hash BLOB NOT NULL,
	state TEXT NOT NULL,
	note TEXT NOT NULL,
	decided_by TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	decided_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE artifacts (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	key_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	sandbox_name TEXT NOT NULL,
	run TEXT NOT NULL,
	node TEXT NOT NULL,
	path TEXT NOT NULL,
	media_type TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	secret TEXT NOT NULL,
	state TEXT NOT NULL,
	process INTEGER NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	metered_at INTEGER NOT NULL,
	unbilled_nano INTEGER NOT NULL
) STRICT;
CREATE TABLE backups (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	holder_id TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	snapshot_name TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	template_digest TEXT NOT NULL,
	node TEXT NOT NULL,
	state TEXT NOT NULL,
	state_text TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	files INTEGER NOT NULL,
	files_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL
, is_full INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE balances (
	project_id TEXT NOT NULL PRIMARY KEY,
	deposited_micro INTEGER NOT NULL,
	spent_micro INTEGER NOT NULL
) STRICT;
CREATE TABLE budgets (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	scope TEXT NOT NULL,
	subject TEXT NOT NULL,
	span TEXT NOT NULL,
	limit_micro INTEGER NOT NULL,
	warn_percent INTEGER NOT NULL,
	spent_micro INTEGER NOT NULL,
	window_at INTEGER NOT NULL,
	warned_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL
, exceeded_at INTEGER NOT NULL DEFAULT -1) STRICT;
CREATE TABLE build_cache (
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	node TEXT NOT NULL,
	key TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	used_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, node, key)
) STRICT;
CREATE TABLE build_logs (
	build_id TEXT NOT NULL REFERENCES builds (id) ON DELETE CASCADE,
	first_line INTEGER NOT NULL,
	line_count INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (build_id, first_line)
) STRICT;
CREATE TABLE builds (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	key_id TEXT NOT NULL,
	name TEXT NOT NULL,
	source TEXT NOT NULL,
	template_id TEXT NOT NULL,
	state TEXT NOT NULL,
	step INTEGER NOT NULL,
	step_count INTEGER NOT NULL,
	cached_count INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	message TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	node TEXT NOT NULL,
	log_lines INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
) STRICT;
CREATE TABLE channels (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	base_url TEXT NOT NULL,
	token TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE deliveries (
	id TEXT NOT NULL PRIMARY KEY,
	webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
	sequence INTEGER NOT NULL,
	kind TEXT NOT NULL,
	body TEXT NOT NULL,
	state TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	status INTEGER NOT NULL,
	error TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	next_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
, node TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE deposits (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	usd_micro INTEGER NOT NULL,
	note TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, id)
) STRICT;
CREATE TABLE "events" (
	sequence INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	project_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	reason TEXT NOT NULL,
	text TEXT NOT NULL
, detail TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "events" VALUES(1,1795496715713,'default','','key.created','','a7zr3dyjmrxbqbxltgcl','');
INSERT INTO "events" VALUES(2,1795496716774,'default','','volume.created','','store','');
INSERT INTO "events" VALUES(3,1795496716802,'default','swtjtme4lnohx4px2rbo','volume.attached','','store','');
INSERT INTO "events" VALUES(4,1795496716802,'default','swtjtme4lnohx4px2rbo','sandbox.created','','being made','');
INSERT INTO "events" VALUES(5,1795496716808,'default','swtjtme4lnohx4px2rbo','sandbox.started','','started in 5.4 ms','');
INSERT INTO "events" VALUES(6,1795496716976,'default','swtjtme4lnohx4px2rbo','snapshot.created','','first','');
INSERT INTO "events" VALUES(7,1795496717051,'default','','key.created','','iwcnhihwmooyhnjcc7ch','');
INSERT INTO "events" VALUES(8,1795496717076,'default','swtjtme4lnohx4px2rbo','sandbox.stopping','user','being stopped','');
INSERT INTO "events" VALUES(9,1795496717080,'default','swtjtme4lnohx4px2rbo','sandbox.stopped','user','stopped','');
CREATE TABLE jobs (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
	sandbox_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	conversation TEXT NOT NULL,
	channel TEXT NOT NULL,
	origin_json TEXT NOT NULL,
	command TEXT NOT NULL,
	process INTEGER NOT NULL,
	boot_id TEXT NOT NULL,
	state TEXT NOT NULL,
	is_stopping INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	reason TEXT NOT NULL,
	stdout_json TEXT NOT NULL,
	stderr_json TEXT NOT NULL,
	stdout_bytes INTEGER NOT NULL,
	stderr_bytes INTEGER NOT NULL,
	token_hash BLOB NOT NULL,
	token_expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL,
	delivery TEXT NOT NULL,
	delivery_tries INTEGER NOT NULL,
	delivery_status INTEGER NOT NULL,
	delivery_error TEXT NOT NULL,
	delivery_at INTEGER NOT NULL
) STRICT;
CREATE TABLE key_secrets (
	old_hash BLOB NOT NULL PRIMARY KEY CHECK (length(old_hash) = 32),
	key_id TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
	valid_until INTEGER NOT NULL
) STRICT;
CREATE TABLE keys (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	prefix TEXT NOT NULL,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	scopes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL,
	last_used_at INTEGER NOT NULL
, user_id TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "keys" VALUES('a7zr3dyjmrxbqbxltgcl','default','admin','atoll_ehrijf',X'92E7552271B1D8E1569F5EAB6F0FF4981150B033F3F49CDD292B77C5A7A515E5',63,1795496715713,0,0,1795496716774,'');
INSERT INTO "keys" VALUES('iwcnhihwmooyhnjcc7ch','default','other','atoll_v7af7k',X'0B5351D429036E002E533F2048D19318C6F5079DFA19A6AC37DDC7BDE77BF8CA',47,1795496717051,0,0,0,'');
CREATE TABLE lease_sandboxes (
	sandbox_id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	claimed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE leases (
	project_id TEXT NOT NULL REFERENCES projects (id),
	key TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	status TEXT NOT NULL,
	lock_version INTEGER NOT NULL,
	epoch INTEGER NOT NULL,
	creating_since INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	last_activity_at INTEGER NOT NULL,
	usage_ms INTEGER NOT NULL,
	active_since INTEGER NOT NULL,
	PRIMARY KEY (project_id, key)
) STRICT;
CREATE TABLE members (
	project_id TEXT NOT NULL REFERENCES projects (id),
	user_id TEXT NOT NULL,
	role TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, user_id)
) STRICT;
CREATE TABLE mounts (
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	volume_id TEXT NOT NULL REFERENCES volumes (id),
	path TEXT NOT NULL,
	is_read_only INTEGER NOT NULL,
	created_at INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'attached',
	PRIMARY KEY (sandbox_id, path)
) STRICT;
INSERT INTO "mounts" VALUES('swtjtme4lnohx4px2rbo','yhipbpf5m3sax3ejkjrz','/data',0,1795496716802,'attached');
CREATE TABLE once (
	project_id TEXT NOT NULL,
	operation TEXT NOT NULL,
	key TEXT NOT NULL,
	hash BLOB NOT NULL CHECK (length(hash) = 32),
	sandbox_id TEXT NOT NULL,
	done INTEGER NOT NULL,
	created INTEGER NOT NULL,
	begun_at INTEGER NOT NULL,
	PRIMARY KEY (project_id, operation, key)
) STRICT;
CREATE TABLE projects (
	id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	sandboxes_max INTEGER NOT NULL,
	created_at INTEGER NOT NULL
, sandboxes_living INTEGER NOT NULL DEFAULT 0, max_cpu REAL NOT NULL DEFAULT 0, max_memory_mb INTEGER NOT NULL DEFAULT 0, max_disk_mb INTEGER NOT NULL DEFAULT 0, max_pids INTEGER NOT NULL DEFAULT 0, idle_reap_ms INTEGER NOT NULL DEFAULT 0, lifetime_max_ms INTEGER NOT NULL DEFAULT 0, terminal_ttl_ms INTEGER NOT NULL DEFAULT 0, closing INTEGER NOT NULL DEFAULT 0, idle_pause_ms INTEGER NOT NULL DEFAULT 0, idle_stop_ms INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 1, artifacts_max_mb INTEGER NOT NULL DEFAULT 0, artifacts_keep_ms INTEGER NOT NULL DEFAULT 0, record_terminals INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "projects" VALUES('default','default',0.0,0,0,0,0,1795496715708,1,0.0,0,0,0,0,0,0,0,0,0,1,0,0,0);
CREATE TABLE sandbox_configs (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	config_json TEXT NOT NULL CHECK (json_valid(config_json)),
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE sandboxes (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	provider TEXT NOT NULL,
	region TEXT NOT NULL,
	labels_json TEXT NOT NULL CHECK (json_valid(labels_json)),
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	desired TEXT NOT NULL,
	actual TEXT NOT NULL,
	reason TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	disk_is_advisory INTEGER NOT NULL,
	persistent INTEGER NOT NULL,
	privileges INTEGER NOT NULL,
	network TEXT NOT NULL,
	idle_reap_ms INTEGER NOT NULL,
	lifetime_max_ms INTEGER NOT NULL,
	timeout_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	stopped_at INTEGER NOT NULL,
	last_activity_at INTEGER NOT NULL,
	last_event_at INTEGER NOT NULL,
	last_event TEXT NOT NULL,
	version INTEGER NOT NULL
, node TEXT NOT NULL DEFAULT '', idle_pause_ms INTEGER NOT NULL DEFAULT 0, idle_stop_ms INTEGER NOT NULL DEFAULT 0, delete_after_ms INTEGER NOT NULL DEFAULT 0, awake_until INTEGER NOT NULL DEFAULT 0, key_id TEXT NOT NULL DEFAULT '', active_changed_at INTEGER NOT NULL DEFAULT 0, active_ms INTEGER NOT NULL DEFAULT 0, metered_ms INTEGER NOT NULL DEFAULT 0, metered_cpu_us INTEGER NOT NULL DEFAULT 0, unbilled_nano INTEGER NOT NULL DEFAULT 0, stored_mib INTEGER NOT NULL DEFAULT 0, stored_at INTEGER NOT NULL DEFAULT 0, archive_after_ms INTEGER NOT NULL DEFAULT 0, preview_off INTEGER NOT NULL DEFAULT 0, preview_public INTEGER NOT NULL DEFAULT 0, preview_generation INTEGER NOT NULL DEFAULT 0, traits INTEGER NOT NULL DEFAULT 0, network_json TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "sandboxes" VALUES('swtjtme4lnohx4px2rbo','default','lab','bdzyt726wdduhvvdbxjv','host','native','local','{}','"sealed.7t7odo5t.vKPwQILknLP5F2kNOKWUEp0YIgeBsYjt2yYIbynSKnxRHtx-jLrbm0MHTYUYc5JhVl5cgtkb5JR1vQ"','stopped','stopped','user',0.5,1024,1024,512,1,1,0,'blocked',1800000,0,0,1795496716802,1795496716808,1795496717080,1795496716917,1795496717080,'stopped',4,'thmenwfdznh5fqs2v3kh',300000,86400000,0,0,'a7zr3dyjmrxbqbxltgcl',1795496717076,268,268,0,0,0,0,0,0,0,0,0,'');
CREATE TABLE server_keys (
	id TEXT NOT NULL PRIMARY KEY,
	secret TEXT NOT NULL
) STRICT;
INSERT INTO "server_keys" VALUES('sandbox-access','"sealed.7t7odo5t.fxSdSN7StTE-zyZwF8XpjUwZoX7nXmjIJXkqNHmF-QcCQK-RGkt2Zc2xmETb7zMU9eYpLRfA-iPqn4bSXA-EUDI_9cFPi7prwbv83YJqz74actY8LxJg8o4pZzzFHb-CEwPwjfZpOOk"');
CREATE TABLE services (
	id TEXT NOT NULL PRIMARY KEY,
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	command TEXT NOT NULL,
	args_json TEXT NOT NULL,
	cwd TEXT NOT NULL,
	run_as TEXT NOT NULL,
	env_json TEXT NOT NULL,
	restart TEXT NOT NULL,
	failures_max INTEGER NOT NULL,
	delay_ms INTEGER NOT NULL,
	stop_ms INTEGER NOT NULL,
	keeps_awake INTEGER NOT NULL,
	wish TEXT NOT NULL,
	generation INTEGER NOT NULL,
	is_told INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	UNIQUE (sandbox_id, name)
) STRICT;
CREATE TABLE skills (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	files_json TEXT NOT NULL,
	file_count INTEGER NOT NULL,
	size_bytes INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE snapshot_bases (
	sandbox_id TEXT NOT NULL PRIMARY KEY REFERENCES sandboxes (id) ON DELETE CASCADE,
	snapshot_id TEXT NOT NULL
, origin_id TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "snapshot_bases" VALUES('swtjtme4lnohx4px2rbo','q2tnemvvioun5afpzxqj','');
CREATE TABLE snapshots (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	sandbox_name TEXT NOT NULL,
	parent_id TEXT NOT NULL,
	template_id TEXT NOT NULL,
	template_name TEXT NOT NULL,
	provider TEXT NOT NULL,
	node TEXT NOT NULL,
	state TEXT NOT NULL,
	method TEXT NOT NULL,
	because TEXT NOT NULL,
	depth INTEGER NOT NULL,
	frozen_us INTEGER NOT NULL,
	created_at INTEGER NOT NULL
, kind TEXT NOT NULL DEFAULT 'taken') STRICT;
INSERT INTO "snapshots" VALUES('q2tnemvvioun5afpzxqj','default','first','swtjtme4lnohx4px2rbo','lab','','bdzyt726wdduhvvdbxjv','host','native','thmenwfdznh5fqs2v3kh','ready','switch','',1,1047,1795496716967,'taken');
CREATE TABLE templates (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	name TEXT NOT NULL,
	folder TEXT NOT NULL,
	base_image TEXT NOT NULL,
	runtime TEXT NOT NULL,
	isolation TEXT NOT NULL,
	description TEXT NOT NULL,
	cpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	disk_mb INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	env_json TEXT NOT NULL CHECK (json_valid(env_json)),
	entrypoint_json TEXT NOT NULL CHECK (json_valid(entrypoint_json)),
	ports_json TEXT NOT NULL CHECK (json_valid(ports_json)),
	"user" TEXT NOT NULL,
	workdir TEXT NOT NULL,
	state TEXT NOT NULL,
	state_text TEXT NOT NULL,
	size_bytes INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
, node TEXT NOT NULL DEFAULT '', pool_min INTEGER NOT NULL DEFAULT 0, pool_target INTEGER NOT NULL DEFAULT 0, pool_max INTEGER NOT NULL DEFAULT 0, warm_json TEXT NOT NULL DEFAULT '[]', snapshot_id TEXT NOT NULL DEFAULT '', ready TEXT NOT NULL DEFAULT '', idle_pause_ms INTEGER NOT NULL DEFAULT 0, idle_stop_ms INTEGER NOT NULL DEFAULT 0, idle_reap_ms INTEGER NOT NULL DEFAULT 0, lifetime_max_ms INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "templates" VALUES('cbj7ve6tduzei4lkrk4f','','base','base','base','debian','namespaces','Debian with Python, Node.js, git, a C compiler and shell tools; built on first use',0.0,0,0,0,'{}','[]','[3000,5173,8000,8080]','user','/home/user/project','pending','',0,1795496715723,1795496715723,'',0,0,0,'[]','','',0,0,0,0);
INSERT INTO "templates" VALUES('bdzyt726wdduhvvdbxjv','','host','host','','host','namespaces','This machine''s own programs, read-only, with an empty home; ready at once',0.0,0,0,0,'{}','[]','[]','user','/home/user/project','ready','',0,1795496715725,1795496715725,'',0,0,0,'[]','','',0,0,0,0);
CREATE TABLE usage_log (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	sandbox_id TEXT NOT NULL,
	run TEXT NOT NULL,
	reason TEXT NOT NULL,
	hour INTEGER NOT NULL,
	active_ms INTEGER NOT NULL,
	cpu_us INTEGER NOT NULL,
	storage_mib_s INTEGER NOT NULL,
	usd_micro INTEGER NOT NULL,
	vcpu REAL NOT NULL,
	memory_mb INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL
) STRICT;
INSERT INTO "usage_log" VALUES('oyq23ufb2ywigfskitcu','default','a7zr3dyjmrxbqbxltgcl','swtjtme4lnohx4px2rbo','','exec',1795496400000,268,0,0,0,0.5,1024,1795496716808,1795496717076);
CREATE TABLE vault (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	metadata_json TEXT NOT NULL,
	version INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE volumes (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	name TEXT NOT NULL,
	provider TEXT NOT NULL,
	node TEXT NOT NULL,
	size_mb INTEGER NOT NULL,
	size_is_advisory INTEGER NOT NULL,
	state TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	version INTEGER NOT NULL
) STRICT;
INSERT INTO "volumes" VALUES('yhipbpf5m3sax3ejkjrz','default','store','native','thmenwfdznh5fqs2v3kh',10240,1,'ready',1795496716774,1795496716802,3);
CREATE TABLE webhook_cursor (
	id INTEGER NOT NULL PRIMARY KEY,
	sequence INTEGER NOT NULL,
	generation INTEGER NOT NULL
) STRICT;
INSERT INTO "webhook_cursor" VALUES(1,0,0);
CREATE TABLE webhooks (
	id TEXT NOT NULL PRIMARY KEY,
	project_id TEXT NOT NULL REFERENCES projects (id),
	url TEXT NOT NULL,
	secret TEXT NOT NULL,
	patterns TEXT NOT NULL,
	state_text TEXT NOT NULL,
	enabled INTEGER NOT NULL,
	after INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (name);
CREATE UNIQUE INDEX keys_by_hash ON keys (hash);
CREATE INDEX keys_by_project ON keys (project_id, created_at);
CREATE UNIQUE INDEX templates_by_name ON templates (project_id, name);
CREATE INDEX sandboxes_by_age ON sandboxes (created_at, id);
CREATE INDEX sandboxes_by_project ON sandboxes (project_id, created_at, id);
CREATE INDEX sandboxes_by_name ON sandboxes (project_id, name);
CREATE UNIQUE INDEX sandboxes_living ON sandboxes (project_id, name)
	WHERE actual NOT IN ('deleting', 'deleted', 'failed');
CREATE INDEX events_by_sandbox ON events (sandbox_id, sequence);
CREATE INDEX webhooks_by_project ON webhooks (project_id, created_at);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, state, sequence);
CREATE INDEX deliveries_by_end ON deliveries (ended_at) WHERE state <> 'waiting';
CREATE INDEX key_secrets_by_key ON key_secrets (key_id);
CREATE UNIQUE INDEX sandbox_configs_by_name ON sandbox_configs (project_id, name);
CREATE INDEX leases_by_sandbox ON leases (sandbox_id);
CREATE INDEX sandboxes_metered ON sandboxes (id)
	WHERE actual = 'started' OR active_ms > metered_ms;
CREATE UNIQUE INDEX usage_log_by_place ON usage_log (sandbox_id, hour, reason, key_id, run);
CREATE INDEX usage_log_by_project ON usage_log (project_id, hour);
CREATE INDEX usage_log_by_hour ON usage_log (hour);
CREATE INDEX budgets_by_subject ON budgets (subject);
CREATE UNIQUE INDEX snapshots_by_name ON snapshots (project_id, name);
CREATE INDEX snapshots_by_age ON snapshots (project_id, created_at, id);
CREATE INDEX snapshots_by_sandbox ON snapshots (sandbox_id);
CREATE INDEX snapshots_by_template ON snapshots (template_id);
CREATE INDEX once_by_age ON once (begun_at);
CREATE UNIQUE INDEX volumes_by_name ON volumes (project_id, name);
CREATE INDEX mounts_by_volume ON mounts (volume_id);
CREATE UNIQUE INDEX backups_by_name ON backups (project_id, name);
CREATE INDEX backups_by_age ON backups (project_id, created_at, id);
CREATE INDEX backups_by_holder ON backups (holder_id);
CREATE INDEX builds_by_age ON builds (project_id, created_at, id);
CREATE INDEX builds_by_state ON builds (state);
CREATE INDEX build_cache_by_snapshot ON build_cache (snapshot_id);
CREATE INDEX build_cache_by_use ON build_cache (node, used_at);
CREATE INDEX templates_by_snapshot ON templates (snapshot_id);
CREATE INDEX jobs_by_conversation ON jobs (project_id, conversation, created_at);
CREATE INDEX jobs_by_sandbox ON jobs (sandbox_id, state);
CREATE INDEX jobs_that_run ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_to_deliver ON jobs (delivery_at) WHERE delivery IN ('waiting', 'sending');
CREATE INDEX jobs_by_end ON jobs (ended_at) WHERE state <> 'running';
CREATE INDEX artifacts_by_age ON artifacts (project_id, created_at, id);
CREATE INDEX artifacts_by_sandbox ON artifacts (sandbox_id);
CREATE INDEX artifacts_by_meter ON artifacts (node, metered_at);
CREATE UNIQUE INDEX channels_by_name ON channels (project_id, name);
CREATE INDEX jobs_by_delivery ON jobs (project_id, created_at) WHERE delivery <> 'none';
CREATE INDEX approvals_by_age ON approvals (project_id, created_at, id);
CREATE INDEX approvals_by_hash ON approvals (project_id, key_id, hash);
CREATE UNIQUE INDEX skills_by_name ON skills (project_id, name);
CREATE INDEX services_to_tell ON services (sandbox_id) WHERE is_told = 0;
CREATE UNIQUE INDEX vault_by_name ON vault (project_id, name);
COMMIT;
PRAGMA user_version = 36;
