// SPDX-License-Identifier: Apache-2.0
// What the API takes and answers. Written by tools/sdk_types.py --write from docs/api/openapi.json.

/** Error */
export interface Error {
  error: Record<string, unknown>;
}

/** One page of sandboxes */
export interface SandboxList {
  items: Sandbox[];
  next_page: string | null;
  /** number of sandboxes on all pages together */
  total: number;
}

/** An isolated computer */
export interface Sandbox {
  id: string;
  name: string;
  /** current state */
  state: "pending" | "creating" | "started" | "paused" | "stopping" | "stopped" | "archived" | "deleting" | "deleted" | "failed";
  /** last requested state */
  desired_state: "pending" | "creating" | "started" | "paused" | "stopping" | "stopped" | "archived" | "deleting" | "deleted" | "failed";
  /** why the sandbox ended or was paused */
  reason: "none" | "user" | "idle" | "lifetime" | "oom" | "exit" | "host_lost" | "error" | "budget" | "disk";
  /** ok, or unresponsive: the agent does not answer, and calls that need it are refused until it does; null: the sandbox does not run */
  agent: string | null;
  template: string;
  /** name of the provider that has it */
  provider: string;
  /** isolation in effect */
  isolation: string;
  /** why it is at this provider: what named it, or the routing rule, and why providers before it were not taken or failed; null: there was no choice */
  placed: string | null;
  /** where the provider runs it; null: on this machine */
  place: SandboxPlace | null;
  /** what its provider cannot do; such calls answer 501 */
  unsupported: string[];
  region: string;
  project: string;
  /** blocked or internet */
  network: string;
  /** object of strings */
  labels: unknown;
  /** names of the environment variables; values are never returned */
  env_names: string[];
  resources: Resources;
  persistent: boolean;
  created_at: string | null;
  started_at: string | null;
  last_activity_at: string | null;
  timeout_at: string | null;
  /** time since the start; 0 while stopped */
  uptime_ms: number;
  /** idle time after which an ephemeral sandbox is deleted; 0: never */
  idle_reap_ms: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: never */
  lifetime_max_ms: number;
  /** idle time after which a sandbox is paused; 0: never */
  autoPauseMs: number;
  /** idle time after which a sandbox is stopped; 0: never */
  autoStopMs: number;
  /** time after a stop until the files move to the blob store; 0: never */
  autoArchiveMs: number;
  /** time after a stop until the sandbox is deleted, persistent or not; 0: never */
  autoDeleteMs: number;
  /** the idle timeout is suspended until this time */
  awake_until: string | null;
  preview: SandboxPreview;
  egress: SandboxEgress;
  /** why it reaches no address, whatever its rules say: a quota of sent bytes is used up; null: its rules decide */
  egress_cut: string | null;
  last_event: LastEvent;
  /** only GET of one sandbox and GET of the list return it; other replies have null */
  made_from: SandboxOrigin | null;
  /** snapshots below the sandbox's files, uppermost first, at most 64, then the template; only GET of one sandbox returns it, other replies have null */
  lineage: LineageStep[] | null;
  /** attached volumes; only GET of one sandbox and GET of the list return them, other replies have null */
  volumes: AttachedVolume[] | null;
  created_by: SandboxCreator;
  /** grows with every change, but not with last_activity_at; of two replies about a sandbox, that with the higher version is the newer one */
  version: number;
}

/** Where the provider runs a sandbox */
export interface SandboxPlace {
  /** of the cluster; null: no node has taken it yet, or there is no cluster */
  node: string | null;
  /** name of the pod, or id of the sandbox in the account */
  object: string | null;
  /** of the account */
  region: string | null;
}

/** Limits in effect */
export interface Resources {
  /** vCPUs */
  cpu: number;
  /** MiB */
  memory_mb: number;
  /** MiB */
  disk_mb: number;
  /** processes and threads */
  pids: number;
  /** the host cannot enforce disk_mb */
  disk_advisory: boolean;
}

/** Preview settings; details at /preview */
export interface SandboxPreview {
  enabled: boolean;
  public: boolean;
  /** ports that the server and the template allow, or any; only GET of one sandbox returns it, other replies have null */
  ports: string | null;
  /** whether the server allows links for people without a key */
  sharingEnabled: boolean;
}

/** Network destinations that a sandbox may reach */
export interface SandboxEgress {
  /** addresses, ranges and host names that the sandbox may reach even if they are denied; a host name works for TLS on port 443 and HTTP on port 80, and requires that everything else is denied */
  allow?: string[];
  /** addresses and ranges that the sandbox may not reach; "0.0.0.0/0" denies all */
  deny?: string[];
  /** only in requests: allow the hosts of these presets and deny all else; see /api/sandbox/egress/presets */
  presets?: string[];
  /** only in requests: credentials that have a preset; their hosts are allowed, all else is denied, and the rules of their presets follow those of rules */
  credentials?: string[];
  /** which requests get credentials outside of the sandbox; their hosts have to be allowed by name */
  rules?: CredentialRule[];
  /** what happens to refused connections: enforce (default), ask (refused, and a person is asked by an access request), or watch (let through and recorded) */
  mode?: "enforce" | "ask" | "watch";
}

/** What happens to requests of a sandbox */
export interface CredentialRule {
  /** In logs and errors; unique */
  id?: string;
  /** A name, or *. and a name */
  host: string;
  /** http: requests without TLS; the credential can be read on the network */
  scheme?: "https" | "http";
  /** 443, or 80 with the scheme http */
  port?: number;
  /** Which requests; none: all */
  match?: CredentialMatch;
  /** What happens to the request */
  action: "inject" | "allow" | "deny";
  /** What is put into the request */
  inject?: CredentialInject[];
  /** Headers that are taken out of the request */
  remove?: string[];
  /** Limits for the sandbox */
  limits?: CredentialLimits;
  /** Whether a WebSocket may be opened */
  websocket?: boolean;
  /** Where an answer may not repeat the credential */
  mask?: "headers+body" | "headers" | "off";
  /** How the host is reached */
  upstream?: CredentialUpstream;
  /** The rule refuses requests from then on */
  expires_at?: string | null;
  /** For people */
  note?: string;
  /** Where the rule comes from */
  source?: string;
}

/** Which requests a rule is about */
export interface CredentialMatch {
  /** Any of these methods; none: all */
  methods?: string[];
  /** The path; none: all */
  path?: CredentialPathMatch;
  /** Query parts, all must hold */
  query?: CredentialFieldMatch[];
  /** Headers, all must hold */
  headers?: CredentialFieldMatch[];
  /** Whether %2F may be in the path */
  encoded_slash?: boolean;
}

/** The path of a request, one of the three */
export interface CredentialPathMatch {
  /** The whole path */
  exact?: string;
  /** Whole segments at the begin */
  prefix?: string;
  /** '*' is any text within a segment, '**' across segments */
  glob?: string;
}

/** A query part or a header of a request */
export interface CredentialFieldMatch {
  /** The name */
  name: string;
  /** The whole value */
  exact?: string;
  /** How the value begins */
  prefix?: string;
  /** Whether it is there at all */
  present?: boolean;
}

/** How a credential is put into a request */
export interface CredentialInject {
  /** Where the credential goes */
  kind: "header" | "basic" | "query" | "cookie" | "placeholder" | "sigv4";
  /** Whether it replaces what the client sent */
  when?: "always" | "absent" | "placeholder";
  /** Of the header, part or cookie */
  name?: string;
  /** A template */
  value?: string;
  /** A template, for basic */
  username?: string;
  /** A template, for basic */
  password?: string;
  /** What a program inside has instead of the value */
  marker?: string;
  /** Where the marker is replaced: header:NAME, query:NAME, path; '*' is any name */
  in?: string[];
  /** A template, for sigv4 */
  access_key_id?: string;
  /** A template, for sigv4 */
  secret_access_key?: string;
  /** A template, for sigv4 */
  session_token?: string;
  /** That may be signed for */
  regions?: string[];
  /** That may be signed for */
  services?: string[];
}

/** Limits of a rule for a sandbox; 0: none */
export interface CredentialLimits {
  /** Requests each second */
  requests_per_second?: number;
  /** Requests at once; as many as for a second if 0 */
  burst?: number;
  /** Requests in all */
  requests?: number;
  /** Bytes of the body of a request */
  bytes_out_request?: number;
  /** Bytes of all bodies of requests */
  bytes_out?: number;
  /** Bytes of all bodies of answers */
  bytes_in?: number;
  /** Connections at once */
  connections?: number;
}

/** How the host is reached */
export interface CredentialUpstream {
  /** Certificates to trust, as PEM, in place of the system's */
  ca?: string;
  /** Whether the host is offered HTTP/2 */
  http2?: "as-client" | "always" | "never";
}

/** The last event of a sandbox */
export interface LastEvent {
  at: string | null;
  text: string;
}

/** What a sandbox was made from */
export interface SandboxOrigin {
  /** template or snapshot; a fork is made from a snapshot */
  kind: string | null;
  /** id of the snapshot */
  snapshot: string | null;
  /** null: the snapshot or template is deleted */
  snapshot_name: string | null;
  /** id of the sandbox that the snapshot was taken of; for a fork, the sandbox that was forked */
  sandbox: string | null;
  sandbox_name: string | null;
}

/** A snapshot or template below a sandbox's files */
export interface LineageStep {
  /** snapshot or template */
  kind: string;
  id: string;
  /** null: the snapshot or template is deleted */
  name: string | null;
  /** id of the sandbox that the snapshot was taken of */
  sandbox: string | null;
  sandbox_name: string | null;
}

/** A volume of a sandbox */
export interface AttachedVolume {
  /** name */
  volume: string;
  volume_id: string;
  /** mount point in the sandbox */
  path: string;
  read_only: boolean;
}

/** The key and the user that made a sandbox */
export interface SandboxCreator {
  /** id of the key, or of the user of a session */
  key: string | null;
  /** user of the session, or member that the key belongs to */
  user: string | null;
}

/** Settings of a new sandbox */
export interface SandboxCreate {
  /** false: no network */
  internet?: boolean;
  /** blocked or internet; same as the member internet */
  network?: "blocked" | "internet";
  /** false: no previews of the sandbox (default true) */
  previewEnabled?: boolean;
  /** the idle timeout does not delete the sandbox */
  persistent?: boolean;
  /** name or id (default: the server's default template) */
  template?: string;
  /** image of a registry, instead of a template; pulled if the project does not have it yet */
  image?: string;
  /** of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing) */
  pull?: "missing" | "always" | "never";
  /** name or id of a snapshot; the sandbox starts with its files and on its template */
  snapshot?: string;
  /** id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here */
  config?: string;
  /** name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request) */
  provider?: string;
  /** the least isolation that is accepted (default: that of the first provider) */
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  /** free-form label of the location; the server only stores it */
  region?: string;
  /** labels to filter lists by */
  labels?: Record<string, string>;
  /** environment of every command; overrides the template's environment; never returned */
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  /** GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number */
  gpus?: number;
  /** allow shared links to previews (default false) */
  previewPublic?: boolean;
  /** destinations that the sandbox may reach (default: all that the server permits) */
  egress?: SandboxEgress;
  /** name or id of a volume to mount writable at /workspace */
  volume?: string;
  /** volumes to mount at chosen paths */
  volumes?: SandboxVolume[];
  /** KEY: the volume home-KEY is mounted at /home/user and created if missing */
  persistentHome?: string;
  /** size limit of that volume in GiB when it is created (default: no limit) */
  persistentDiskGb?: number;
  /** NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them */
  workspace?: string;
  /** parent folder of the workspace (default /mnt/workspaces) */
  workspaceRoot?: string;
  /** time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never */
  timeout_ms?: number;
  /** idle time after which an ephemeral sandbox is deleted; 0: the server's setting */
  idle_reap_ms?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting */
  lifetime_max_ms?: number;
  /** idle time after which a sandbox is paused; 0: the server's setting; -1: never */
  autoPauseMs?: number;
  /** idle time after which a sandbox is stopped; 0: the server's setting; -1: never */
  autoStopMs?: number;
  /** time after a stop until the files move to the blob store; 0: never */
  autoArchiveMs?: number;
  /** time after a stop until the sandbox is deleted, persistent or not; 0: never */
  autoDeleteMs?: number;
  /** unique in the project (default: generated) */
  name?: string;
}

/** Limits; omitted members and 0 are inherited from the project and the platform */
export interface ResourcesRequest {
  /** vCPUs */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** A volume and its mount point */
export interface SandboxVolume {
  /** name or id */
  volume: string;
  /** absolute mount point (default /workspace) */
  path?: string;
  /** mount read-only; any number of sandboxes may read a volume */
  read_only?: boolean;
  /** folder of the volume to mount, created if missing (default: the whole volume) */
  subpath?: string;
}

/** The sandbox that the request would make, with dry_run=true; nothing was made */
export interface SandboxPlan {
  values: SandboxPlanValue[];
  choices: SandboxPlanText[];
  /** false: the create waits for the template's first build */
  template_ready: boolean;
  /** of the active sandbox */
  price_per_hour_usd: number;
}

/** A planned value and its source */
export interface SandboxPlanValue {
  /** cpu, memory_mb, disk_mb, pids or a timeout such as idle_pause_ms */
  name: string;
  /** effective value; 0 of a timeout: never */
  value: number;
  /** value before the caps */
  wanted: number;
  /** request, template, project or platform */
  source: string;
  /** project or platform, whose cap lowered the value */
  lowered_by: string | null;
}

/** A planned choice and its source */
export interface SandboxPlanText {
  /** template, network, provider, isolation or region */
  name: string;
  value: string;
  /** request or platform */
  source: string;
}

/** Options of a pause */
export interface Pause {
  /** move the memory to the disk, where it outlives a restart of the host (default false); only virtual machines can */
  disk?: boolean;
}

/** How long to suspend the idle timeout */
export interface SandboxKeepalive {
  /** from now; never shortens an earlier keepalive */
  timeoutMs: number;
}

/** How long to suspend the idle timeout */
export interface SandboxPersist {
  /** from now; 0 ends it together with any keepalive */
  hours: number;
}

/** Current resource usage of a sandbox */
export interface Stats {
  sampled_at: string | null;
  uptime_ms: number;
  /** since the start of the sandbox */
  cpu_usage_us: number;
  /** average percent of one vCPU since the start; for a shorter period compare two samples of cpu_usage_us */
  cpu_percent: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  /** size of the files on top of the template; -1: unknown */
  disk_bytes: number;
  disk_limit_bytes: number;
  pids: number;
  pids_limit: number;
  network_in_bytes: number;
  network_out_bytes: number;
  oom_kills: number;
}

/** Settings to change; omitted members stay as they are */
export interface SandboxUpdate {
  /** idle time after which an ephemeral sandbox is deleted; 0: never */
  idle_reap_ms?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: never */
  lifetime_max_ms?: number;
  /** idle time after which a sandbox is paused; 0: never */
  autoPauseMs?: number;
  /** idle time after which a sandbox is stopped; 0: never */
  autoStopMs?: number;
  /** time after a stop until the files move to the blob store; 0: never */
  autoArchiveMs?: number;
  /** time after a stop until the sandbox is deleted, persistent or not; 0: never */
  autoDeleteMs?: number;
  /** unique in the project */
  name?: string;
  /** replace all labels; those that the server sets, atoll.*, stay */
  labels?: Record<string, string>;
  /** the idle timeout does not delete the sandbox */
  persistent?: boolean;
  /** time from now at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never */
  timeout_ms?: number;
  /** change it only if it has this version, else 409; the header If-Match does the same */
  version?: number;
}

/** The newest samples of a sandbox; a running sandbox adds a current sample */
export interface StatsHistory {
  /** oldest first */
  items: StatsSample[];
  memory_limit_bytes: number;
  disk_limit_bytes: number;
}

/** Resource usage of a sandbox at one time */
export interface StatsSample {
  at: string | null;
  /** percent of one vCPU since the previous sample; the first sample counts from the start of the sandbox */
  cpu_percent: number;
  /** since the start of the sandbox */
  cpu_usage_us: number;
  memory_bytes: number;
  /** size of the files on top of the template; -1: unknown */
  disk_bytes: number;
  pids: number;
  network_in_bytes: number;
  network_out_bytes: number;
}

/** Current resource usage of many sandboxes */
export interface Figures {
  at: string | null;
  /** started and paused sandboxes of this server */
  items: SandboxFigures[];
  /** null in the events of a stream, which have all sandboxes */
  next_page: string | null;
}

/** Current resource usage of one of several sandboxes */
export interface SandboxFigures {
  /** its id */
  sandbox: string;
  /** started or paused */
  state: string;
  sampled_at: string | null;
  uptime_ms: number;
  /** since the start of the sandbox */
  cpu_usage_us: number;
  /** percent of one vCPU since the sample before, which may be of another client; the first sample counts from the start */
  cpu_percent: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  /** size of the files on top of the template; -1: unknown */
  disk_bytes: number;
  disk_limit_bytes: number;
  pids: number;
  pids_limit: number;
  network_in_bytes: number;
  network_out_bytes: number;
  oom_kills: number;
}

/** The resource usage at one time; with SSE its event name is stats */
export interface FiguresMessage {
  at: string | null;
  items: SandboxFigures[];
}

/** How much of everything a project has */
export interface Summary {
  project: string;
  sandboxes: SummarySandboxes;
  /** also those of the server */
  templates: number;
  /** also those that wait */
  builds_running: number;
  volumes: number;
  snapshots: number;
  jobs_running: number;
  approvals_pending: number;
  /** cost since midnight UTC, as it is metered by now */
  cost_today: number;
  /** exact, in millionths */
  cost_today_micro: number;
  /** USD */
  currency: string;
}

/** Sandboxes by state, without deleted ones and those of builds */
export interface SummarySandboxes {
  pending: number;
  creating: number;
  started: number;
  paused: number;
  stopping: number;
  stopped: number;
  archived: number;
  deleting: number;
  failed: number;
  total: number;
}

/** Options of a snapshot */
export interface SnapshotCreate {
  /** unique in the project (default: its id) */
  name?: string;
  /** answer when the snapshot is on disk (default true); the sandbox is not frozen for that time */
  sync?: boolean;
  /** include the processes (default false); only virtual machines can, the error of other sandboxes says why */
  memory?: boolean;
  /** also start a backup in the blob store; it outlives the snapshot and the server */
  backup?: boolean;
}

/** The files of a sandbox at one moment */
export interface Snapshot {
  id: string;
  name: string;
  project: string;
  /** id of the sandbox that the snapshot was taken of */
  sandbox: string;
  sandbox_name: string;
  /** id of the snapshot below the sandbox's files; null: only the template is below them */
  parent: string | null;
  template: string;
  provider: string;
  /** making, ready, removing or lost */
  state: string;
  /** rename: the sandbox was stopped; switch: its processes moved to another root; copy: its files were copied while the processes were frozen; memory: a copy with the memory of the processes */
  method: string;
  /** why the files were copied instead of switched */
  because: string | null;
  /** number of layers on top of the template */
  depth: number;
  /** how long the processes were frozen */
  frozen_ms: number;
  created_at: string | null;
  /** bytes of its own layer, as last measured; -1: not measured yet */
  size_bytes: number;
  /** number of sandboxes that were made of it and exist */
  sandboxes: number;
  /** whether a backup of the snapshot is ready */
  backup: boolean;
  /** backups of the snapshot, ready or in progress; see /api/sandbox/backups */
  backups: SnapshotBackup[];
  /** snapshots below it, uppermost first, at most 64, then the template; only GET of one snapshot returns it, other replies have null */
  lineage: LineageStep[] | null;
}

/** A backup of a snapshot */
export interface SnapshotBackup {
  id: string;
  name: string;
  /** making or ready */
  state: string;
  /** name in the blob store */
  blob: string;
}

/** Options of a fork */
export interface Fork {
  /** number of forks (default 1) */
  count?: number;
  /** name of the fork; several forks get NAME-1, NAME-2 … (default: generated) */
  name?: string;
  /** the forks continue with the processes of the sandbox and share its memory until they write it (default false); only virtual machines can */
  memory?: boolean;
}

/** The forks and the snapshot below their files */
export interface Forked {
  items: Sandbox[];
  snapshot: Snapshot;
  /** volumes that the forks share with the original sandbox, all read-only */
  volumes: AttachedVolume[];
  /** volumes that the original sandbox writes to; the forks do not have them */
  volumes_left_out: AttachedVolume[];
}

/** One page of snapshots */
export interface SnapshotList {
  items: Snapshot[];
  next_page: string | null;
}

/** Target of a restore */
export interface SnapshotRestore {
  /** restore into a new sandbox with the snapshot's template; default false: restore into the snapshot's sandbox, or into a new one if that is deleted */
  new?: boolean;
  /** name of the new sandbox; implies new */
  name?: string;
}

/** Options of a backup */
export interface SnapshotExport {
  /** name of the backup, unique in the project (default: its id) */
  name?: string;
  /** back up the whole filesystem, not only the changes since the template; such a backup can be imported on a server that lacks the template */
  full?: boolean;
}

/** A snapshot packed into one file of the blob store */
export interface Backup {
  id: string;
  name: string;
  project: string;
  /** id of the snapshot it was made from; that snapshot may be deleted or on another server */
  snapshot: string;
  snapshot_name: string;
  template: string;
  /** making, ready, failed or removing */
  state: string;
  /** progress, or why the backup failed */
  state_text: string | null;
  /** SHA-256 of the whole file */
  sha256: string | null;
  /** name in the blob store */
  blob: string;
  /** size of the file in bytes */
  size: number;
  /** number of files in the backup */
  files: number;
  /** unpacked size of the files in bytes */
  files_bytes: number;
  /** whether the backup contains the template's files, too */
  full: boolean;
  created_at: string | null;
}

/** Backup to make a snapshot from */
export interface SnapshotImport {
  /** name or id */
  backup: string;
  /** name of the snapshot, unique in the project (default: its id) */
  name?: string;
  /** template with the same files as the template of the backup, if it has another name here; a full backup creates a template of this name if none exists */
  template?: string;
}

/** One page of backups */
export interface BackupList {
  items: Backup[];
  next_page: string | null;
}

/** File to keep as an artifact */
export interface ArtifactKeep {
  /** path of a file: absolute, or relative to the default folder */
  path: string;
  /** user that reads the file (default: the template's user) */
  user?: string;
  /** lifetime of the artifact; 0: the project's setting */
  keep_seconds?: number;
}

/** A stored file of a sandbox */
export interface StoredArtifact {
  id: string;
  project: string;
  /** id of the one it is of, which may be gone */
  sandbox: string;
  sandbox_name: string;
  /** of Atoll-Run */
  run: string | null;
  /** number of the command that made it; 0 = not known */
  process: number;
  /** of the background job that made it */
  resultId: string | null;
  /** inside the sandbox */
  path: string;
  name: string;
  /** by name and content */
  media_type: string;
  size: number;
  sha256: string;
  created_at: string | null;
  /** time of its removal; null = it is not removed */
  expires_at: string | null;
  /** path on this server that gives its bytes without a key; null for a key without sandbox:write */
  url: string | null;
  url_expires_at: string | null;
}

/** One page of artifacts */
export interface StoredArtifactList {
  items: StoredArtifact[];
  next_page: string | null;
}

/** Lifetime of a signed address */
export interface ArtifactUrl {
  /** lifetime of the address, at most seven days */
  expires_in_seconds: number;
}

/** A command: either command, or cmd and args */
export interface Exec {
  /** a shell line (bash, else sh) */
  command?: string;
  /** a program, run without a shell */
  cmd?: string;
  /** arguments of cmd */
  args?: string[];
  /** working directory; a relative path is below the default folder */
  cwd?: string;
  /** environment variables; they override the sandbox's variables */
  env?: Record<string, string>;
  /** name or number of the user (default: the template's user) */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** time limit; the command and all its processes are killed afterwards; 0: the server's default */
  timeout_ms?: number;
  /** bytes that a collected result keeps of each stream */
  outputLimitBytes?: number;
  /** run as a background job; the reply comes at once and has a resultId to query the job by */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
  /** kill the command when this connection breaks; by default the command continues */
  end_on_disconnect?: boolean;
  /** run on a terminal; all output is stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings */
  record?: boolean;
  /** label shown in lists */
  label?: string;
}

/** Where the turn came from, and so where the end of the job is told */
export interface JobOrigin {
  /** stream: /v1/events, which tells of every job; webhook: agent.finished to the project's webhooks as well; else a message there */
  type?: "none" | "stream" | "webhook" | "slack" | "discord" | "telegram" | "github" | "zalo" | "pancake";
  /** of /v1/channels; else the one named as the type */
  credential?: string;
  /** slack, discord: its id */
  channel?: string;
  /** slack: ts of its first message; telegram: number of the topic */
  thread?: string;
  /** discord, telegram: id of the one to reply to */
  message?: string;
  /** telegram: its id or @name; pancake: id of the conversation */
  chat?: string;
  /** zalo: id of the user */
  user?: string;
  /** pancake: id of the page */
  page?: string;
  /** github: OWNER/NAME */
  repository?: string;
  /** github: number of the issue or pull request */
  issue?: string;
}

/** The result of a command */
export interface Result {
  /** exit code 0 and in time */
  ok: boolean;
  /** bash, sh, program, python … */
  runtime: string;
  /** 0 when no program was started */
  process: number;
  /** 128 + the signal that ended it; 127: no such program */
  exit_code: number;
  /** such as SIGKILL */
  signal: string | null;
  timed_out: boolean;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause: string;
  duration_ms: number;
  /** true when a waiting interpreter ran the code; else absent */
  warm?: boolean;
  /** at most outputLimitBytes: the first and the last half; a line between them has the number of cut bytes */
  stdout: string;
  /** base64 when stdout is not UTF-8 */
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  /** what network rules refused in the sandbox while it ran */
  network?: NetworkRefusal[];
  /** id of the recording, when the call asked for one; it is listed a moment after the answer */
  recording?: string;
  /** this and all further members: only of code in a context */
  contextId?: string;
  /** number of the block in its interpreter */
  execution_count?: number;
  /** the interpreter has ended, and its state is lost */
  context_ended?: boolean;
  /** the block's value, figures and displayed objects */
  results?: CodeResult[];
  /** null when the block did not fail */
  error?: CodeError;
  /** files that were stored, when the call asked for it */
  artifacts?: StoredArtifact[];
}

/** A connection that the sandbox's network rules refused */
export interface NetworkRefusal {
  /** null: only the address is known */
  host: string | null;
  address: string | null;
  /** 0: none */
  port: number;
  /** tls, http, dns, tcp, udp or other */
  protocol: string;
  /** host-not-allowed, address-denied, range-refused, bad-request, limit, upstream-unreachable, upstream-proxy-unreachable, upstream-proxy-login, upstream-proxy-refused, source-address-missing, direct-refused or quota */
  code: string;
  /** the entry of the rules that decided */
  rule: string | null;
  count: number;
  /** for people and models */
  message: string;
}

/** What a block of code shows, in every form that it has */
export interface CodeResult {
  /** the value of the last expression */
  is_main: boolean;
  text?: string;
  html?: string;
  markdown?: string;
  svg?: string;
  /** base64 */
  png?: string;
  /** base64 */
  jpeg?: string;
  /** base64 */
  pdf?: string;
  latex?: string;
  json?: unknown;
  javascript?: string;
  /** a table: lists by column */
  data?: unknown;
  /** what a figure shows: type, title, axes, elements */
  chart?: unknown;
  /** of other media types, by their names */
  extra?: unknown;
}

/** How a block of code failed */
export interface CodeError {
  name: string;
  value: string;
  traceback: string;
}

/** A message of a command's stream */
export interface CommandMessage {
  /** kind of the message; with SSE also its event name */
  event: "started" | "stdout" | "stderr" | "exit" | "error" | "artifact";
  /** offsets after this message, STDOUT.STDERR: continue with since= */
  since: string;
  /** with started and exit */
  process: number;
  /** with started */
  pid: number;
  /** with stdout and stderr: of the first byte of data */
  offset: number;
  /** with stdout and stderr: output */
  data: string;
  /** base64 when data is no UTF-8; else absent */
  encoding: string;
  /** with exit */
  ok: boolean;
  /** with exit */
  exit_code: number;
  /** with exit */
  signal: string | null;
  /** with exit */
  timed_out: boolean;
  /** with exit */
  cause: string;
  /** with exit */
  duration_ms: number;
  /** with exit: a waiting interpreter ran the command */
  warm: boolean;
  /** with exit: id of the recording, when the call asked for one */
  recording: string;
  /** with artifact: a stored file */
  artifact: unknown;
  /** with error: the member error of Error */
  error: unknown;
}

/** A block of code */
export interface Code {
  language: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  /** at most 128 KiB */
  code: string;
  /** context that runs the code and keeps its state; 'default': the default context of the language, created if missing */
  contextId?: string;
  /** working directory; a relative path is below the default folder */
  cwd?: string;
  /** environment variables; they override the sandbox's variables */
  env?: Record<string, string>;
  /** name or number of the user (default: the template's user) */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** time limit; the command and all its processes are killed afterwards; 0: the server's default */
  timeout_ms?: number;
  /** bytes that a collected result keeps of each stream */
  outputLimitBytes?: number;
  /** run as a background job; the reply comes at once and has a resultId to query the job by */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
  /** kill the command when this connection breaks; by default the command continues */
  end_on_disconnect?: boolean;
  /** run on a terminal; all output is stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings */
  record?: boolean;
  /** label shown in lists */
  label?: string;
}

/** A message of the stream of a block of code */
export interface CodeMessage {
  /** kind of the message; with SSE also its event name */
  event: "started" | "stdout" | "stderr" | "result" | "error" | "exit" | "artifact";
  /** with started and exit */
  contextId: string;
  /** with started and exit */
  process: number;
  /** with started and exit */
  execution_count: number;
  /** with stdout and stderr: output */
  data: string;
  /** with result: a CodeResult */
  result: unknown;
  /** with error of the code: its class */
  name: string;
  /** with error of the code: its message */
  value: string;
  /** with error of the code */
  traceback: string;
  /** with error of the call: the member error of Error */
  error: unknown;
  /** with exit */
  ok: boolean;
  /** with exit */
  exit_code: number;
  /** with exit */
  signal: string | null;
  /** with exit */
  timed_out: boolean;
  /** with exit */
  cause: string;
  /** with exit */
  duration_ms: number;
  /** with exit: the interpreter ended; restart the context */
  context_ended: boolean;
  /** with exit: id of the recording, when the call asked for one */
  recording: string;
  /** with artifact: a stored file */
  artifact: unknown;
}

/** Processes, oldest first */
export interface ProcessList {
  items: Process[];
}

/** A command that was started in a sandbox */
export interface Process {
  /** its number in this sandbox */
  process: number;
  /** inside the sandbox */
  pid: number;
  /** running or ended */
  state: string;
  /** -1 while it runs */
  exit_code: number;
  /** that ended it, such as SIGKILL */
  signal: string | null;
  timed_out: boolean;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); null while it runs */
  cause: string | null;
  started_at: string | null;
  duration_ms: number;
  /** written so far */
  stdout_bytes: number;
  stderr_bytes: number;
  tty: boolean;
  /** code in an interpreter that waited for it */
  warm: boolean;
  label: string;
  user: string;
  cwd: string;
  args: string[];
}

/** Number of entries or bytes */
export interface Count {
  count: number;
}

/** A signal for a process */
export interface Signal {
  /** SIGTERM, TERM or 15 */
  signal: string;
  /** signal all processes that it started, not only its process group */
  tree?: boolean;
}

/** Files and folders */
export interface FileList {
  items: FileEntry[];
  truncated: boolean;
  /** of GET: value of after for the next page; null: there is no next page */
  next_after: string | null;
  /** of GET: time of the request, unix ms by the sandbox's clock */
  listed_at_ms: number;
}

/** A file or folder */
export interface FileEntry {
  /** as in the request, or relative to the listed folder */
  path: string;
  name: string;
  /** file, directory, symlink or other */
  type: string;
  size: number;
  /** octal */
  mode: string;
  uid: number;
  gid: number;
  modified_at: string | null;
  /** target of a symlink */
  link: string | null;
}

/** A message of a watched folder */
export interface WatchMessage {
  /** kind of the change, or error; with SSE also its event name */
  event: string;
  /** with a change */
  path: string;
  /** with a change */
  is_directory: boolean;
  /** with error: the member error of Error */
  error: unknown;
}

/** A folder to create */
export interface FileMkdir {
  /** absolute path, or path below the default folder */
  path: string;
  user?: string;
  /** octal (default 0755) */
  mode?: string;
  /** create missing parents; an existing folder is not an error */
  parents?: boolean;
}

/** A path and its new path */
export interface FileMove {
  /** absolute path, or path below the default folder */
  path: string;
  /** the new path */
  target: string;
  user?: string;
  /** create missing parents of the target */
  parents?: boolean;
  /** fail when the target exists */
  no_replace?: boolean;
  /** copy folders recursively */
  recursive?: boolean;
}

/** A path to delete */
export interface FileRemove {
  /** absolute path, or path below the default folder */
  path: string;
  user?: string;
  recursive?: boolean;
}

/** A file to read as text */
export interface FileRead {
  /** absolute path, or path below the default folder */
  path: string;
  user?: string;
  /** offset of the first byte */
  offset?: number;
  /** bytes at most (default 1 MiB) */
  length?: number;
}

/** Bytes of a file inside JSON */
export interface FileContent {
  path: string;
  content: string;
  /** base64 when the content is not UTF-8 */
  encoding: string;
  /** size of the whole file */
  size: number;
  /** first byte, or first line, of this page */
  offset: number;
  /** bytes of this page, in a read by bytes */
  length: number;
  /** lines of this page, in a read by lines */
  lines: number;
  total_lines: number;
  /** start of the next page; null at the end */
  next_offset: number | null;
  /** the file has more */
  truncated: boolean;
}

/** A folder and the paths to pack */
export interface FilePack {
  /** absolute path, or path below the default folder */
  path: string;
  /** paths relative to the folder; a folder is packed without its content; missing and unreadable paths are left out */
  names: string[];
  user?: string;
}

/** A file to write */
export interface FileWrite {
  /** absolute path, or path below the default folder */
  path: string;
  user?: string;
  /** text */
  content?: string;
  /** bytes, instead of content */
  content_base64?: string;
  /** octal mode of a new file */
  mode?: string;
  append?: boolean;
  /** fail when the file exists */
  no_replace?: boolean;
}

/** A terminal to open */
export interface Terminal {
  /** name of the window; an open window with this name is reused (default: a new window with a generated name) */
  name?: string;
  /** default 24 */
  rows?: number;
  /** default 80 */
  cols?: number;
  /** idle time after which the terminal closes, unless a process runs in it (default: the project's setting) */
  ttl_s?: number;
  /** record the window from its earliest stored output on; the setting record_terminals does this for all new windows; /api/sandbox/recordings lists the recording when the window has closed */
  record?: boolean;
  /** shell command line (default: a login shell) */
  command?: string;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  /** sessionId of an open terminal; the reply only has a new path to it */
  session?: string;
}

/** An open terminal */
export interface TerminalSession {
  sessionId: string;
  /** path of the WebSocket with a ticket instead of a key; the ticket works once within a minute */
  path: string;
  process: number;
  /** name of the window; null if the request named a session */
  name: string | null;
  /** false: the terminal was already open */
  created: boolean;
}

/** A text message of the server; output comes as binary messages */
export interface TerminalMessage {
  type: "started" | "typing" | "taken_over" | "dropped" | "stderr" | "exit";
  /** with started */
  process: number;
  /** with started */
  pid: number;
  /** with started */
  tty: boolean;
  /** with started: the client's own number; with typing and taken_over: the viewer's, null for a call */
  viewer: number | null;
  /** with started: input is accepted */
  writes: boolean;
  /** with typing and taken_over: name of the viewer's key or user */
  who: string | null;
  /** with dropped: bytes of output that this viewer missed */
  bytes: number;
  /** with stderr */
  offset: number;
  /** with stderr */
  data: string;
  /** with stderr: base64 or absent */
  encoding: string;
  /** with exit */
  exit_code: number;
  /** with exit */
  signal: string | null;
  /** with exit */
  timed_out: boolean;
  /** with exit */
  cause: string;
}

/** A text message of the client; input is sent as binary messages */
export interface TerminalControl {
  type: "resize" | "signal" | "eof" | "takeover";
  /** with resize */
  rows: number;
  /** with resize: another name of cols */
  columns: number;
  /** with resize */
  cols: number;
  /** with signal, such as INT */
  signal: string;
}

/** Templates, sorted by name; one page of them with limit */
export interface TemplateList {
  items: Template[];
  next_page: string | null;
}

/** The root filesystem and settings of new sandboxes */
export interface Template {
  id: string;
  name: string;
  /** null: shared by all projects */
  project: string | null;
  description: string;
  /** pending, building, ready or failed */
  state: string;
  /** progress, or why the build failed */
  state_text: string;
  base_image: string;
  runtime: string;
  /** the least isolation of its sandboxes; null: the server's default */
  isolation: string | null;
  /** provider of its sandboxes; null: the server chooses */
  provider: string | null;
  /** default user for commands */
  user: string;
  workdir: string;
  /** object of strings */
  env: unknown;
  /** list of strings */
  entrypoint: unknown;
  /** list of numbers */
  ports: unknown;
  /** command that checks during the build whether the entrypoint is ready */
  ready_command: string | null;
  /** built from steps on top of base_image */
  built: boolean;
  /** 0: inherited */
  resources: unknown;
  /** min, target and max; 0: no pool */
  pool: unknown;
  /** interpreters that the template's sandboxes keep ready */
  warm: unknown;
  /** pause_ms, stop_ms, reap_ms and lifetime_max_ms; 0: inherited, -1: never */
  idle: unknown;
  /** other projects can use the template by its id */
  public: boolean;
  /** an image that was pulled by its name; removed when it has not been used for long */
  pulled: boolean;
  /** last use of a pulled image */
  used_at: string | null;
  size_bytes: number;
  created_at: string | null;
  updated_at: string | null;
  /** number of the project's sandboxes of it; only lists and GET count them */
  sandboxes: number;
}

/** A template from a registry's image or another template */
export interface TemplateCreate {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  /** other projects can use the template by its id */
  public?: boolean;
  description?: string;
  /** free-form label of the purpose */
  runtime?: string;
  /** the least isolation that its sandboxes accept, unless their request names another; "": the server's default */
  isolation?: string;
  /** provider of its sandboxes, unless their request names another; "": the server chooses */
  provider?: string;
  /** default user for commands */
  user?: string;
  /** an absolute path */
  workdir?: string;
  /** environment; replaces the whole stored one */
  env?: Record<string, string>;
  /** interpreters that the template's sandboxes keep ready for code */
  warm?: TemplateWarm[];
  /** program and arguments that a sandbox starts */
  entrypoint?: string[];
  /** list of up to 64 numbers from 1 to 65535 */
  ports?: unknown;
  name: string;
  /** image reference in a registry; give either image or from */
  image?: string;
  /** login for the registry of image */
  login?: RegistryLogin;
  /** template whose root filesystem the new template shares */
  from?: string;
}

/** Limits of sandboxes that request none */
export interface TemplateResources {
  /** vCPUs; 0: inherited */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** Size of a pool of prepared sandboxes */
export interface PoolSize {
  /** number of sandboxes kept while the pool is unused (default: target) */
  min?: number;
  /** number of sandboxes kept while the pool is used; 0: no pool */
  target?: number;
  /** upper limit when misses let the pool grow (default: twice the target) */
  max?: number;
  /** only the server's default is supported */
  internet?: boolean;
}

/** Idle times of sandboxes; omitted members keep their values */
export interface IdleTimes {
  /** idle time after which an ephemeral sandbox is deleted; 0: the setting of the project or server */
  reap_ms?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the setting of the project or server */
  lifetime_max_ms?: number;
  /** idle time after which a sandbox is paused; 0: the setting of the project or server; -1: never */
  pause_ms?: number;
  /** idle time after which a sandbox is stopped; 0: the setting of the project or server; -1: never */
  stop_ms?: number;
}

/** An interpreter that each sandbox keeps ready for code */
export interface TemplateWarm {
  /** python or javascript */
  language: string;
  /** modules that the interpreter imports in advance */
  imports?: string[];
}

/** Name and password for a registry */
export interface RegistryLogin {
  username: string;
  /** or a token; the server keeps neither */
  password: string;
}

/** Number of added templates */
export interface TemplatesSeeded {
  added: number;
}

/** Given members replace the stored ones */
export interface TemplateChange {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  /** other projects can use the template by its id */
  public?: boolean;
  description?: string;
  /** free-form label of the purpose */
  runtime?: string;
  /** the least isolation that its sandboxes accept, unless their request names another; "": the server's default */
  isolation?: string;
  /** provider of its sandboxes, unless their request names another; "": the server chooses */
  provider?: string;
  /** default user for commands */
  user?: string;
  /** an absolute path */
  workdir?: string;
  /** environment; replaces the whole stored one */
  env?: Record<string, string>;
  /** interpreters that the template's sandboxes keep ready for code */
  warm?: TemplateWarm[];
  /** program and arguments that a sandbox starts */
  entrypoint?: string[];
  /** list of up to 64 numbers from 1 to 65535 */
  ports?: unknown;
}

/** Keys */
export interface KeyList {
  items: Key[];
}

/** A key, without its text */
export interface Key {
  id: string;
  name: string;
  /** first characters of the key's text */
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  /** role of the member; it limits the scopes */
  role: string | null;
  /** user or key that made it; null: not known */
  made_by: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

/** A key to create */
export interface KeyCreate {
  name: string;
  /** scopes such as sandbox:read; default: all scopes of the caller that the member's role allows, except admin */
  scopes?: string[];
  /** user that owns the key; the key is limited to the user's role and is revoked when the membership ends. Default: the caller, if it is a member, unless the key has the scope admin. Empty: the key belongs to the project */
  member?: string;
  /** default: never */
  expires_at?: string | null;
  /** lifetime in ms, instead of expires_at; 0: never */
  expires_in_ms?: number;
}

/** A new key, with its text */
export interface KeyMade {
  id: string;
  name: string;
  /** first characters of the key's text */
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  /** role of the member; it limits the scopes */
  role: string | null;
  /** user or key that made it; null: not known */
  made_by: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  /** text of the key; returned only once */
  key: string;
  /** the same key in the format of E2B's API */
  e2b_key: string;
}

/** Validity of the old text */
export interface KeyRotate {
  /** how long the old text remains valid, at most 7 days; 0: not at all */
  grace_ms?: number;
}

/** Projects, sorted by name */
export interface ProjectList {
  items: Project[];
  next_page: string | null;
}

/** Owns keys, templates and sandboxes; a platform admin selects a project with the header X-Atoll-Project */
export interface Project {
  id: string;
  name: string;
  /** id of its organisation */
  organization: string;
  sandboxes_max: number;
  /** 0: the platform's setting */
  storage_max_mb: number;
  defaults: Limits;
  maximums: Limits;
  /** the project is being deleted */
  closing: boolean;
  /** provider of its sandboxes; null: the server chooses */
  provider: string | null;
  /** the least isolation of its sandboxes; null: the server's default */
  isolation: string | null;
  /** by which connections of its sandboxes leave; null: any */
  source_address: string | null;
  created_at: string | null;
}

/** Limits of a sandbox */
export interface Limits {
  /** vCPUs; 0 = not set */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  pids?: number;
}

/** A project to create */
export interface ProjectCreate {
  name: string;
  /** 0: the platform's setting; only a platform admin can set it */
  sandboxes_max?: number;
  /** MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it */
  storage_max_mb?: number;
  /** limits of sandboxes that request none */
  defaults?: Limits;
  /** limits that no sandbox exceeds; only a platform admin can set them */
  maximums?: Limits;
  /** id of the organisation that it belongs to (default: the first); only a platform admin can set it */
  organization?: string;
  /** provider of its sandboxes, unless their request or template names another; "": the server chooses */
  provider?: string;
  /** the least isolation that its sandboxes accept, unless their request or template names another; "": the server's default */
  isolation?: string;
  /** IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; "": any; only a platform admin can set it */
  source_address?: string;
  /** default: generated */
  id?: string;
  /** user that becomes the first member, with the role admin */
  owner?: string;
}

/** Given members replace the stored ones */
export interface ProjectChange {
  name?: string;
  /** 0: the platform's setting; only a platform admin can set it */
  sandboxes_max?: number;
  /** MiB for templates, snapshots, backups and volumes together; 0: the platform's setting; only a platform admin can set it */
  storage_max_mb?: number;
  /** limits of sandboxes that request none */
  defaults?: Limits;
  /** limits that no sandbox exceeds; only a platform admin can set them */
  maximums?: Limits;
  /** id of the organisation that it belongs to (default: the first); only a platform admin can set it */
  organization?: string;
  /** provider of its sandboxes, unless their request or template names another; "": the server chooses */
  provider?: string;
  /** the least isolation that its sandboxes accept, unless their request or template names another; "": the server's default */
  isolation?: string;
  /** IPv4 address of the host by which all connections of its sandboxes leave, and those of no other project; "": any; only a platform admin can set it */
  source_address?: string;
}

/** Storage that a project uses, as last measured, and its limit */
export interface ProjectStorage {
  /** 0 = no limit */
  limit_mb: number;
  /** sum of the members below */
  bytes: number;
  templates_bytes: number;
  snapshots_bytes: number;
  /** includes archived sandboxes */
  backups_bytes: number;
  volumes_bytes: number;
}

/** Result of a rotation */
export interface SecretRotation {
  /** number of values that were encrypted again */
  resealed: number;
}

/** A block of code */
export interface GatewayExecute {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  code: string;
  /** default python */
  language?: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  stdin?: string;
  env?: Record<string, string>;
  /** 0: the server's default */
  timeout_ms?: number;
  /** bytes that are kept of each stream */
  outputLimitBytes?: number;
  /** folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** run as a background job; the reply comes at once and has a resultId */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
}

/** The result of a command, and the files it left */
export interface GatewayResult {
  /** exit code 0 and in time */
  ok: boolean;
  /** bash, sh, program, python … */
  runtime: string;
  /** 0 when no program was started */
  process: number;
  /** 128 + the signal that ended it; 127: no such program */
  exit_code: number;
  /** such as SIGKILL */
  signal: string | null;
  timed_out: boolean;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause: string;
  duration_ms: number;
  /** true when a waiting interpreter ran the code; else absent */
  warm?: boolean;
  /** at most outputLimitBytes: the first and the last half; a line between them has the number of cut bytes */
  stdout: string;
  /** base64 when stdout is not UTF-8 */
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  /** what network rules refused in the sandbox while it ran */
  network?: NetworkRefusal[];
  /** id of the recording, when the call asked for one; it is listed a moment after the answer */
  recording?: string;
  /** files of the workspace that were made or changed during the call: path (in the workspace), size and media_type; when the call asked to store them, the stored artifacts */
  artifacts: StoredArtifact[];
}

/** A shell command */
export interface GatewayBash {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** a shell line */
  command: string;
  stdin?: string;
  env?: Record<string, string>;
  /** 0: the server's default */
  timeout_ms?: number;
  /** bytes that are kept of each stream */
  outputLimitBytes?: number;
  /** folder below the workspace; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** run as a background job; the reply comes at once and has a resultId */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
}

/** Lines of a text file */
export interface GatewayRead {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** path relative to the workspace */
  path: string;
  /** first line to read (default 1) */
  offset?: number;
  /** maximum number of lines (default 2000) */
  limit?: number;
}

/** Bytes of a file */
export interface GatewayReadBinary {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** path relative to the workspace */
  path: string;
  /** offset of the first byte */
  offset?: number;
  /** maximum number of bytes (default 8 MiB) */
  limit?: number;
}

/** A file to write */
export interface GatewayWrite {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** path relative to the workspace */
  path: string;
  content?: string;
  /** bytes, instead of content */
  content_base64?: string;
  append?: boolean;
}

/** Search request */
export interface GatewayGrep {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** a regular expression */
  pattern: string;
  /** file or folder to search (default: the workspace) */
  path?: string;
  /** only files whose names match this pattern */
  glob?: string;
  ignore_case?: boolean;
  /** default 200 */
  max_results?: number;
}

/** Matching lines */
export interface GatewayMatches {
  matches: GatewayMatch[];
  truncated: boolean;
}

/** A matching line */
export interface GatewayMatch {
  /** path relative to the workspace */
  path: string;
  /** line number, from 1 */
  line: number;
  /** the line, cut to 1000 bytes */
  text: string;
  /** base64 if the text is not UTF-8 */
  encoding: string;
}

/** A pattern of paths */
export interface GatewayGlob {
  /** default: "default" */
  tenant_id?: string;
  /** the first call of a session creates its sandbox */
  session_id: string;
  /** pattern with ? * [a-z], and ** for any depth of folders */
  pattern: string;
  /** folder to search (default: the workspace) */
  path?: string;
  /** maximum number of paths (default 1000) */
  limit?: number;
}

/** Paths that match */
export interface GatewayPaths {
  /** paths relative to the searched folder */
  paths: string[];
  truncated: boolean;
}

/** Files to write into a session's workspace */
export interface GatewayCopy {
  files: GatewayFile[];
}

/** A file and its content */
export interface GatewayFile {
  path: string;
  content?: string;
  content_base64?: string;
}

/** Sessions */
export interface SessionList {
  items: Session[];
}

/** A tenant's session and its sandbox */
export interface Session {
  tenant_id: string;
  session_id: string;
  sandbox_id: string;
  created_at: string | null;
  last_used_at: string | null;
}

/** The agent tools */
export interface ToolList {
  /** name, title, description, inputSchema, outputSchema and annotations of each */
  tools: unknown;
}

/** A call of a tool, in one sandbox */
export interface ToolCall {
  /** how long to wait for the approval of a call that needs one (default 20 s) */
  approvalWaitMs?: number;
  /** settings of the sandbox that an ephemeral call makes */
  sandbox?: SandboxSpecification;
  /** true, or a config, a workspace or settings without a sandbox, lease or session: a sandbox is made for the call and ends with it; without a workspace only bash is offered */
  ephemeral?: boolean;
  /** workspace whose files an ephemeral call, or the lease's sandbox, has at /mnt/workspaces/NAME */
  workspace?: string;
  /** id or name of a sandbox; or */
  sandboxId?: string;
  /** key of a lease, whose sandbox is made on first use; or */
  lease?: string;
  /** a session, as of /v1/sandbox */
  sessionId?: string;
  /** of the session; default: "default" */
  tenantId?: string;
  /** a config of /accounts/me/sandboxes for the lease's sandbox and for the limits of tools; default: the sandbox's own config */
  config?: string;
  /** the conversation that owns the call's background jobs */
  conversationId?: string;
  /** source of the conversation's message: the ends of background jobs are reported there, and approvals show it */
  origin?: JobOrigin;
  /** an object of the tool's inputSchema */
  input?: unknown;
}

/** Settings of the sandbox that a call makes */
export interface SandboxSpecification {
  /** false: no network */
  internet?: boolean;
  /** blocked or internet; same as the member internet */
  network?: "blocked" | "internet";
  /** false: no previews of the sandbox (default true) */
  previewEnabled?: boolean;
  /** the idle timeout does not delete the sandbox */
  persistent?: boolean;
  /** name or id (default: the server's default template) */
  template?: string;
  /** image of a registry, instead of a template; pulled if the project does not have it yet */
  image?: string;
  /** of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing) */
  pull?: "missing" | "always" | "never";
  /** name or id of a snapshot; the sandbox starts with its files and on its template */
  snapshot?: string;
  /** id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here */
  config?: string;
  /** name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request) */
  provider?: string;
  /** the least isolation that is accepted (default: that of the first provider) */
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  /** free-form label of the location; the server only stores it */
  region?: string;
  /** labels to filter lists by */
  labels?: Record<string, string>;
  /** environment of every command; overrides the template's environment; never returned */
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  /** GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number */
  gpus?: number;
  /** allow shared links to previews (default false) */
  previewPublic?: boolean;
  /** destinations that the sandbox may reach (default: all that the server permits) */
  egress?: SandboxEgress;
  /** name or id of a volume to mount writable at /workspace */
  volume?: string;
  /** volumes to mount at chosen paths */
  volumes?: SandboxVolume[];
  /** KEY: the volume home-KEY is mounted at /home/user and created if missing */
  persistentHome?: string;
  /** size limit of that volume in GiB when it is created (default: no limit) */
  persistentDiskGb?: number;
  /** NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them */
  workspace?: string;
  /** parent folder of the workspace (default /mnt/workspaces) */
  workspaceRoot?: string;
  /** time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never */
  timeout_ms?: number;
  /** idle time after which an ephemeral sandbox is deleted; 0: the server's setting */
  idle_reap_ms?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting */
  lifetime_max_ms?: number;
  /** idle time after which a sandbox is paused; 0: the server's setting; -1: never */
  autoPauseMs?: number;
  /** idle time after which a sandbox is stopped; 0: the server's setting; -1: never */
  autoStopMs?: number;
  /** time after a stop until the files move to the blob store; 0: never */
  autoArchiveMs?: number;
  /** time after a stop until the sandbox is deleted, persistent or not; 0: never */
  autoDeleteMs?: number;
}

/** The result of a tool */
export interface ToolResult {
  /** a list of texts, images and resources, as in MCP */
  content: unknown;
  /** an object of the tool's outputSchema */
  structuredContent: unknown;
  /** with status 202: the call did nothing, see /v1/approvals. Repeat the same call after the approval */
  approvalId: string;
}

/** Calls, newest first */
export interface ApprovalList {
  items: Approval[];
  next_page: string | null;
}

/** A call that needs approval */
export interface Approval {
  id: string;
  tool: string;
  /** input of the call as JSON text; a long one is cut */
  input: string;
  /** input of the call as an object; null: it is cut */
  inputObject: unknown;
  /** pending, approved, refused, used or expired */
  state: string;
  sandboxId: string | null;
  conversationId: string | null;
  /** source of the conversation's message, as the caller names it */
  origin: JobOrigin | null;
  /** key that made the call */
  keyId: string;
  keyName: string | null;
  note: string | null;
  /** id of the key that decided */
  decidedBy: string | null;
  /** name of that key */
  decidedByName: string | null;
  createdAt: string | null;
  decidedAt: string | null;
  /** a pending call must be decided, and an approved call be made, by then */
  expiresAt: string | null;
}

/** A note on the decision */
export interface ApprovalDecision {
  /** shown to the caller */
  note?: string;
}

/** A host to allow */
export interface EgressAllow {
  /** a host name, *.name, an address or a range */
  host: string;
}

/** What the network rules of a sandbox would decide */
export interface EgressCheck {
  host: string;
  port: number;
  /** allowed, denied or watched */
  decision: string;
  /** as in the log of decisions */
  code: string;
  rule: string | null;
  /** for people */
  reason: string;
}

/** Presets of network rules */
export interface EgressPresetList {
  items: EgressPreset[];
}

/** A named list of hosts to allow */
export interface EgressPreset {
  name: string;
  about: string;
  hosts: string[];
}

/** Consents, newest first */
export interface ConsentList {
  items: Consent[];
}

/** A person's consent to the use of a credential in a sandbox */
export interface Consent {
  id: string;
  sandboxId: string;
  conversationId: string | null;
  credential: string;
  /** of the credential */
  version: number;
  /** separated by blanks */
  hosts: string;
  state: "active" | "expired" | "revoked";
  approvalId: string | null;
  decidedBy: string;
  expiresAt: string | null;
  revokedAt: string | null;
  createdAt: string | null;
}

/** What was revoked */
export interface ConsentsRevoked {
  /** number of consents that ended */
  revoked: number;
}

/** Skills by name */
export interface SkillList {
  items: Skill[];
}

/** A stored skill of the project */
export interface Skill {
  name: string;
  description: string;
  /** number of files */
  files: number;
  /** bytes */
  size: number;
  updatedAt: string | null;
}

/** A skill */
export interface SkillPut {
  /** when to use it */
  description?: string;
  /** must have a SKILL.md; at most 2 MiB in all */
  files: SkillFile[];
}

/** A file of a skill */
export interface SkillFile {
  /** relative to the skill's folder */
  path: string;
  /** base64 */
  content?: string;
}

/** A message of JSON-RPC */
export interface McpAnswer {
  /** 2.0 */
  jsonrpc: string;
  id: unknown;
  result: unknown;
  error: unknown;
}

/** State of the process */
export interface Health {
  status: string;
  version: string;
}

/** Whether the server can create a sandbox now; status 503 with reason and cure if not */
export interface Readiness {
  /** ready, not_ready or draining */
  status: string;
  version: string;
  provider: string;
  checked_at?: string | null;
  checks: ReadinessCheck[];
  /** problems that do not prevent sandboxes, such as a missing default route on the host */
  warnings?: ReadinessFailure[];
  /** all providers, when the server has several */
  providers?: ReadinessProvider[];
  error?: ReadinessFailure;
}

/** One readiness check */
export interface ReadinessCheck {
  /** what the check tried */
  name: string;
  ok: boolean;
  /** milliseconds */
  took_ms: number;
  /** stable code for programs */
  code?: string;
  reason?: string;
  cure?: string;
}

/** A failed check, in the form of an API error */
export interface ReadinessFailure {
  /** code of the first failed check */
  code: string;
  /** reason of the failure */
  message: string;
  /** how to fix it */
  hint: string;
}

/** The state of a provider; only the first decides about the status */
export interface ReadinessProvider {
  name: string;
  isolation: string;
  connected: boolean;
  healthy: boolean;
}

/** The server that answers, its peers, configuration and metrics */
export interface Server {
  version: string;
  /** compiler, machine and kind of build */
  build: string;
  provider: string;
  /** name of the server that answers */
  node: string;
  started_at: string | null;
  uptime_ms: number;
  /** ready, not_ready, draining, or unknown before the first check; /readyz makes a check */
  readiness: string;
  /** time of the last readiness check */
  checked_at: string | null;
  /** why it is not ready */
  reason: string | null;
  cure: string | null;
  nodes: ServerNode[];
  /** all options with their effective values */
  configuration: ServerOption[];
  metrics: ServerMetrics;
}

/** A server of this store */
export interface ServerNode {
  /** name of the server */
  node: string;
  /** address for its peers (--peer-url) */
  url: string | null;
  /** up, silent or stopped */
  state: string;
  /** its last heartbeat */
  seen_at: string | null;
  /** -1: it has stopped */
  heartbeat_age_ms: number;
  /** the server that answers */
  self: boolean;
}

/** An option of the server */
export interface ServerOption {
  name: string;
  /** **** stands for a secret */
  value: string;
  default: string;
  /** default, file, env or flag */
  source: string;
  description: string;
  /** a change applies when the server has restarted */
  needs_restart: boolean;
}

/** A summary of /metrics, of the server that answers */
export interface ServerMetrics {
  /** open now */
  connections: number;
  /** open now */
  streams: number;
  /** behind other requests of their key */
  requests_waiting: number;
  /** since the start, as all counts below */
  bytes_in: number;
  bytes_out: number;
  responses_2xx: number;
  responses_3xx: number;
  responses_4xx: number;
  responses_5xx: number;
  /** creates that got a prepared sandbox */
  pool_hits: number;
  pool_misses: number;
  /** prepared sandboxes now */
  pool_ready: number;
  pool_target: number;
  /** calls that wait for the broker's answer now */
  broker_calls_waiting: number;
  requests: ServerTiming;
  /** calls that measure the store */
  store: ServerTiming;
  lanes: ServerLane[];
}

/** Durations since the start */
export interface ServerTiming {
  /** since the start */
  count: number;
  failures: number;
  mean_ms: number;
  /** upper bound of the median's bucket */
  p50_ms: number;
  p99_ms: number;
}

/** The queue of one kind of work */
export interface ServerLane {
  lane: string;
  running: number;
  waiting: number;
  longest_wait_ms: number;
  /** since the start */
  refused: number;
}

/** The providers of this server in the order in which they are tried */
export interface Providers {
  items: Provider[];
}

/** A provider of sandboxes and its health */
export interface Provider {
  name: string;
  /** native, host, null … */
  kind: string;
  /** keeps templates, snapshots, volumes and pools */
  primary: boolean;
  isolation: string;
  abilities: string[];
  /** abilities that the provider lacks */
  unsupported: string[];
  /** false: its program has not answered since the server started */
  connected: boolean;
  /** false: its last creates or checks failed */
  healthy: boolean;
  /** its sandboxes that are neither deleted nor failed */
  sandboxes: number;
  /** 0: no limit */
  max_sandboxes: number;
  /** it was added at run time and can be removed */
  stored: boolean;
  /** it makes no more sandboxes, and is removed after its last one */
  draining: boolean;
  /** a create may name it, though it isolates less than the first */
  allow_weaker: boolean;
  /** US dollars of a sandbox's active hour; 0: not set */
  price_hour: number;
  /** US dollars that its sandboxes have cost today (UTC) */
  cost_day: number;
  /** the same of this month */
  cost_month: number;
  /** 0: no limit */
  max_cost_day: number;
  /** 0: no limit */
  max_cost_month: number;
  /** after this time a create goes on with the next provider; 0: the default, 20 seconds */
  create_timeout_ms: number;
  /** 0: no limit */
  max_p99_ms: number;
  /** its recent creates are above max_p99_ms: it is tried last */
  slow: boolean;
  /** of virtual machines: kvm, or tcg, which emulates processors */
  accelerator: string | null;
  /** why it is that accelerator */
  accelerator_because: string | null;
  /** null: it runs none before they are asked for */
  warm: ProviderWarm | null;
  /** since the server started */
  creates: number;
  /** creates that the provider failed */
  failures: number;
  /** median of the last creates in milliseconds; 0: none yet */
  p50_ms: number;
  /** 99th percentile of the last creates in milliseconds */
  p99_ms: number;
  last_error: string | null;
  /** time of the last error */
  failed_at: string | null;
}

/** Sandboxes that the provider runs before they are asked for */
export interface ProviderWarm {
  /** run, and wait for a create */
  ready: number;
  starting: number;
  /** kubernetes_warm_pods of each shape that was asked for lately */
  wanted: number;
  /** creates that got one since the server started */
  hits: number;
  /** creates for which none was ready */
  misses: number;
}

/** A provider that every server on this store opens */
export interface ProviderAdd {
  name: string;
  /** as GET /v1/providers/kinds lists them (default: the name) */
  kind?: string;
  /** max_sandboxes, price_hour and the other settings of a provider in the configuration file, and the options of its kind; secrets are stored encrypted and never returned */
  settings?: Record<string, string>;
}

/** The provider is stored; servers open it within seconds */
export interface ProviderAdded {
  name: string;
  kind: string;
}

/** The kinds of providers of this program */
export interface ProviderKinds {
  items: ProviderKind[];
}

/** A kind of provider and its options */
export interface ProviderKind {
  kind: string;
  isolation: string;
  options: ProviderOption[];
}

/** An option of one kind of provider */
export interface ProviderOption {
  name: string;
  secret: boolean;
  required: boolean;
  about: string;
}

/** Settings and secrets of a provider that was added at run time */
export interface ProviderSet {
  /** settings to change, as in POST /v1/providers; "" returns to the default; others stay */
  settings: Record<string, string>;
}

/** The result of a removal */
export interface ProviderRemoved {
  name: string;
  /** false: it drains, and is removed after its last sandbox */
  removed: boolean;
  /** that it still has, on all servers */
  sandboxes: number;
}

/** The rules that choose providers; the first match decides */
export interface Routing {
  /** configuration, or stored: they were set by this API */
  source: string;
  rules: RoutingRule[];
}

/** Which providers make the sandboxes that meet every condition; bounds are inclusive */
export interface RoutingRule {
  name: string;
  /** id of the project */
  project?: string;
  /** KEY or KEY=VALUE */
  label?: string;
  /** its name or its id */
  template?: string;
  /** that is asked for, exactly */
  isolation?: string;
  memory_mb_min?: number;
  memory_mb_max?: number;
  cpu_min?: number;
  cpu_max?: number;
  /** US dollars of an active hour by the server's prices */
  price_min?: number;
  price_max?: number;
  /** in the order in which they are tried */
  providers: string[];
}

/** Rules for every server on this store; the first match decides */
export interface RoutingPut {
  rules: RoutingRule[];
}

/** The provider made a sandbox and ended it */
export interface ProviderCheck {
  name: string;
  /** milliseconds */
  took_ms: number;
  /** as of the provider */
  accelerator: string | null;
  accelerator_because: string | null;
}

/** Key of a lease, and the specification of its sandbox if one is created */
export interface LeaseAcquire {
  /** false: no network */
  internet?: boolean;
  /** blocked or internet; same as the member internet */
  network?: "blocked" | "internet";
  /** false: no previews of the sandbox (default true) */
  previewEnabled?: boolean;
  /** the idle timeout does not delete the sandbox */
  persistent?: boolean;
  /** name or id (default: the server's default template) */
  template?: string;
  /** image of a registry, instead of a template; pulled if the project does not have it yet */
  image?: string;
  /** of image: missing pulls an image that the project does not have; always asks the registry, and pulls when the tag has another image by now; never refuses an image that the project does not have (default missing) */
  pull?: "missing" | "always" | "never";
  /** name or id of a snapshot; the sandbox starts with its files and on its template */
  snapshot?: string;
  /** id or name of a config of /accounts/me/sandboxes; it supplies members that are omitted here */
  config?: string;
  /** name of the provider that makes it, as GET /v1/providers lists them (default: the first that satisfies the request) */
  provider?: string;
  /** the least isolation that is accepted (default: that of the first provider) */
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  /** free-form label of the location; the server only stores it */
  region?: string;
  /** labels to filter lists by */
  labels?: Record<string, string>;
  /** environment of every command; overrides the template's environment; never returned */
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  /** GPUs of the server's machine; needs a provider that gives them; the label atoll.gpus shows their number */
  gpus?: number;
  /** allow shared links to previews (default false) */
  previewPublic?: boolean;
  /** destinations that the sandbox may reach (default: all that the server permits) */
  egress?: SandboxEgress;
  /** name or id of a volume to mount writable at /workspace */
  volume?: string;
  /** volumes to mount at chosen paths */
  volumes?: SandboxVolume[];
  /** KEY: the volume home-KEY is mounted at /home/user and created if missing */
  persistentHome?: string;
  /** size limit of that volume in GiB when it is created (default: no limit) */
  persistentDiskGb?: number;
  /** NAME: the files of this workspace are mounted at workspaceRoot/NAME, where commands begin; they outlive the sandbox, and any number of sandboxes share them */
  workspace?: string;
  /** parent folder of the workspace (default /mnt/workspaces) */
  workspaceRoot?: string;
  /** time after the creation at which an ephemeral sandbox is deleted and a persistent one stopped, with its files kept; 0: never */
  timeout_ms?: number;
  /** idle time after which an ephemeral sandbox is deleted; 0: the server's setting */
  idle_reap_ms?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the server's setting */
  lifetime_max_ms?: number;
  /** idle time after which a sandbox is paused; 0: the server's setting; -1: never */
  autoPauseMs?: number;
  /** idle time after which a sandbox is stopped; 0: the server's setting; -1: never */
  autoStopMs?: number;
  /** time after a stop until the files move to the blob store; 0: never */
  autoArchiveMs?: number;
  /** time after a stop until the sandbox is deleted, persistent or not; 0: never */
  autoDeleteMs?: number;
  /** key of a user, a workspace, a chat or a session */
  key: string;
  /** false: return a fresh filesystem; running processes are ended and the sandbox is reset, or replaced where a reset is impossible. Default: true; for a run (header Atoll-Run) false, unless the files already belong to that run */
  continue?: boolean;
  /** how long to wait while another call creates the sandbox; 0: 30 s */
  wait_ms?: number;
  /** the same as the header Idempotency-Key */
  idempotency_key?: string;
  /** given members replace those of the lease's specification, and a sandbox with another specification is replaced together with its files; without this, status 409 names the differences */
  update?: boolean;
}

/** A lease and its running sandbox */
export interface LeaseAcquired {
  key: string;
  /** the same as key */
  username: string;
  /** null if the lease has no sandbox */
  sandbox_id: string | null;
  /** ready, creating, or empty: the sandbox is gone, and the next acquire creates one */
  status: string;
  /** the sandbox is paused or stopped; acquire starts it */
  paused: boolean;
  /** provider */
  type: string | null;
  /** server that hosts the sandbox */
  node: string | null;
  /** run that owns the sandbox's files */
  run: string | null;
  /** increases with every change */
  lock_version: number;
  /** active time of the lease's sandboxes; paused and stopped time is not counted */
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  /** the idle timeout is suspended until this time */
  keep_until: string | null;
  /** whether this call created the sandbox */
  created: boolean;
  /** whether this call reset the sandbox's files */
  reset: boolean;
}

/** One page of leases */
export interface LeaseList {
  items: Lease[];
  next_page: string | null;
}

/** A lease and its sandbox */
export interface Lease {
  key: string;
  /** the same as key */
  username: string;
  /** null if the lease has no sandbox */
  sandbox_id: string | null;
  /** ready, creating, or empty: the sandbox is gone, and the next acquire creates one */
  status: string;
  /** the sandbox is paused or stopped; acquire starts it */
  paused: boolean;
  /** provider */
  type: string | null;
  /** server that hosts the sandbox */
  node: string | null;
  /** run that owns the sandbox's files */
  run: string | null;
  /** increases with every change */
  lock_version: number;
  /** active time of the lease's sandboxes; paused and stopped time is not counted */
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  /** the idle timeout is suspended until this time */
  keep_until: string | null;
  /** specification of the lease's sandboxes, without the environment; null: the lease is older than specifications */
  specification: unknown;
}

/** Number of deleted leases */
export interface LeasesDeleted {
  deleted: number;
}

/** Duration of a keepalive */
export interface LeaseKeepAlive {
  /** how long to suspend the idle timeout; 0: count as normal activity only */
  timeoutMs?: number;
}

/** Members */
export interface MemberList {
  items: Member[];
}

/** A user with a role in the project */
export interface Member {
  user: string;
  role: string;
  created_at: string | null;
  updated_at: string | null;
}

/** A member to add */
export interface MemberAdd {
  /** id, compared exactly, or e-mail address, kept in lower case */
  user: string;
  /** viewer, member or admin */
  role: string;
}

/** A member's new role */
export interface MemberChange {
  /** viewer, member or admin */
  role: string;
}

/** Settings in effect for the project */
export interface Settings {
  /** idle time after which an ephemeral sandbox is deleted; 0: the platform's setting */
  idle_reap_seconds: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the platform's setting */
  lifetime_max_seconds: number;
  /** idle time after which a sandbox is paused; 0: the platform's setting; -1: never */
  idle_pause_seconds: number;
  /** idle time after which a sandbox is stopped; 0: the platform's setting; -1: never */
  idle_stop_seconds: number;
  /** time without input and output after which a terminal closes; 0: the platform's setting */
  terminal_ttl_seconds: number;
  /** MiB of stored artifacts; 0: the platform's setting */
  artifacts_max_mb: number;
  /** lifetime of an artifact; 0: the platform's setting */
  artifacts_keep_seconds: number;
  /** record the output of every new terminal window */
  record_terminals: boolean;
  /** the least isolation of new sandboxes, unless their request or template names another; the project's member isolation */
  default_isolation: string;
  /** where volumes and backups are stored: local */
  default_storage_provider: string;
  /** values that default_isolation may have */
  isolation_choices: string[];
  /** values that default_storage_provider may have */
  storage_choices: string[];
}

/** Given members replace the stored ones */
export interface SettingsPut {
  /** idle time after which an ephemeral sandbox is deleted; 0: the platform's setting */
  idle_reap_seconds?: number;
  /** an ephemeral sandbox is deleted at this age; a persistent one is stopped this long after its last start; 0: the platform's setting */
  lifetime_max_seconds?: number;
  /** idle time after which a sandbox is paused; 0: the platform's setting; -1: never */
  idle_pause_seconds?: number;
  /** idle time after which a sandbox is stopped; 0: the platform's setting; -1: never */
  idle_stop_seconds?: number;
  /** time without input and output after which a terminal closes; 0: the platform's setting */
  terminal_ttl_seconds?: number;
  /** MiB of stored artifacts; 0: the platform's setting */
  artifacts_max_mb?: number;
  /** lifetime of an artifact; 0: the platform's setting */
  artifacts_keep_seconds?: number;
  /** record the output of every new terminal window */
  record_terminals?: boolean;
  /** the least isolation of new sandboxes, unless their request or template names another; the project's member isolation */
  default_isolation?: string;
  /** where volumes and backups are stored: local */
  default_storage_provider?: string;
}

/** Default and maximum limits of the project's sandboxes */
export interface ResourceConfig {
  /** limits that the project sets */
  defaults: Limits;
  /** limits that no sandbox of the project exceeds; 0: only the caps apply */
  maximums: Limits;
  /** limits that apply where the project sets none */
  platform: Limits;
  /** upper bounds of the platform */
  caps: Limits;
  /** limits of a sandbox that requests none */
  effective: Limits;
}

/** The project's default limits; omitted members are unset */
export interface ResourceConfigPut {
  /** only a platform admin can set them; unchanged if omitted */
  maximums?: Limits;
  /** vCPUs; 0 = not set */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  pids?: number;
}

/** Reusable configs */
export interface SandboxConfigList {
  items: SandboxConfigRecord[];
}

/** A reusable config */
export interface SandboxConfigRecord {
  id: string;
  name: string;
  config: SandboxConfig;
  created_at: string | null;
  updated_at: string | null;
}

/** Settings for sandboxes */
export interface SandboxConfig {
  /** false: no network */
  internet?: boolean;
  /** environment of every command; replies show ******** instead of each value; sending that back keeps the stored value */
  envVars?: Record<string, string>;
  /** a provider of the server, see GET /v1/providers, or a kind that it lacks yet, such as lambda (default: the first that can) */
  provider?: string;
  /** the least isolation that is accepted */
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  /** name or id (default: the server's default template) */
  template?: string;
  /** edit, ask or bypass; applies to tools that use this config */
  permissionMode?: string;
  /** bash, python, node, r or java: runtimes for tools and commands; advisory */
  runtimes?: string[];
  /** time limit in seconds for a command, a block of code, a job or a tool; at most 300 on lambda and 600 elsewhere */
  timeout?: number;
  /** MB, at most 1024 on lambda; also the upper limit for requests */
  memoryLimit?: number;
  /** size limit of a tool's output and of each stream of a command */
  outputLimitBytes?: number;
  /** keep the sandbox between calls; not on lambda */
  persistent?: boolean;
  resources?: SandboxConfigResources;
  lifecycle?: SandboxConfigLifecycle;
  options?: SandboxConfigOptions;
}

/** Limits besides memoryLimit; 0: inherited */
export interface SandboxConfigResources {
  /** vCPUs */
  cpu?: number;
  /** MiB */
  diskMb?: number;
  pids?: number;
}

/** When the sandbox ends by itself */
export interface SandboxConfigLifecycle {
  /** idle time after which a persistent sandbox is stopped and any other sandbox is deleted */
  idleTimeoutSeconds?: number;
  /** age at which the sandbox ends */
  maxLifetimeSeconds?: number;
}

/** Options of persistent sandboxes; not every provider supports them */
export interface SandboxConfigOptions {
  mountAwsS3Buckets?: boolean;
  /** parent folder of workspaces (default /mnt/workspaces) */
  workspaceRoot?: string;
  /** size limit of the home volume in GiB when it is created (default: no limit) */
  persistentDiskGb?: number;
  /** mount point of a volume that outlives the sandbox, for packages and caches; /home/user if only persistentDiskGb is given */
  persistentHome?: string;
}

/** A config to store */
export interface SandboxConfigCreate {
  name: string;
  config?: SandboxConfig;
}

/** Given members replace the stored ones; config is replaced as a whole */
export interface SandboxConfigChange {
  name?: string;
  config?: SandboxConfig;
}

/** The caller */
export interface Me {
  /** project that the key acts in */
  project: string;
  project_name: string;
  /** id of the key; null: a session of a user */
  key: string | null;
  key_name: string | null;
  /** current scopes of the key or session */
  scopes: string[];
  /** the session's user, or the member that owns the key */
  user: string | null;
  /** current role of the member; null: none, or an admin of the server */
  role: string | null;
  expires_at: string | null;
}

/** How to sign in */
export interface SignInWays {
  /** a user may sign in by password */
  password: boolean;
  oidc: SignInProvider | null;
  /** no user exists; a one-time link makes the first */
  setup: boolean;
  /** of the server */
  version: string;
  /** address of the console */
  console: string;
}

/** A provider of OpenID Connect */
export interface SignInProvider {
  /** what to call the provider */
  name: string;
  /** page to open */
  path: string;
}

/** The link that makes the first user */
export interface SetupLink {
  /** works once; returned only here */
  link: string;
  expires_at: string | null;
}

/** Something to sign in with */
export interface SignInOffer {
  email?: string;
  /** of the user */
  password?: string;
  /** an API key, instead of a user: the session may do what the key may */
  key?: string;
  /** of the one-time link, with email, name and password */
  setup_token?: string;
  /** of an invitation's link, with name and password */
  invitation?: string;
  /** of a new user, for people */
  name?: string;
}

/** A session of a browser */
export interface LoginSession {
  id: string;
  /** user or key */
  kind: string;
  /** null: the session is a key's */
  user: LoginUser | null;
  /** for the header X-Atoll-CSRF, which every write needs */
  csrf_token: string;
  created_at: string | null;
  /** earlier without use */
  expires_at: string | null;
  /** project of requests that name none; null: a member of none */
  project: string | null;
  projects: LoginProject[];
  /** in that project */
  scopes: string[];
}

/** The user of a session */
export interface LoginUser {
  id: string;
  email: string;
  name: string;
  /** an admin of the whole server */
  is_admin: boolean;
}

/** A project that a session may choose */
export interface LoginProject {
  id: string;
  name: string;
  /** null: the scopes are those of an admin of the server or of a key */
  role: string | null;
  scopes: string[];
}

/** Sessions */
export interface LoginSessionList {
  items: LoginSessionSummary[];
}

/** One of the caller's sessions */
export interface LoginSessionSummary {
  id: string;
  created_at: string | null;
  last_used_at: string | null;
  /** from which it was begun */
  address: string;
  /** what the browser says of itself */
  user_agent: string;
  /** it is the session of this request */
  is_current: boolean;
  expires_at: string | null;
}

/** Organisations */
export interface OrganizationList {
  items: Organization[];
}

/** Owns projects */
export interface Organization {
  id: string;
  name: string;
  /** null: it came with the server */
  created_at: string | null;
}

/** An organisation to make */
export interface OrganizationCreate {
  name: string;
  /** address of the user that becomes the first owner */
  owner: string;
}

/** A new name */
export interface OrganizationChange {
  name: string;
}

/** Members */
export interface OrganizationMemberList {
  items: OrganizationMember[];
}

/** A user with a role in the organisation */
export interface OrganizationMember {
  user: string;
  /** owner and admin administer every project of the organisation; an owner manages owners and admins */
  role: "member" | "admin" | "owner";
  created_at: string | null;
}

/** A member to add, or whose role to change */
export interface OrganizationMemberPut {
  user: string;
  /** owner and admin administer every project of the organisation; an owner manages owners and admins */
  role: "member" | "admin" | "owner";
}

/** Users */
export interface UserList {
  items: User[];
  next_page: string | null;
}

/** A user */
export interface User {
  id: string;
  email: string;
  name: string;
  /** an admin of the whole server */
  is_admin: boolean;
  is_disabled: boolean;
  has_password: boolean;
  /** the provider of OpenID Connect by which the user signed in last */
  issuer: string | null;
  created_at: string | null;
  /** when the user signed in last */
  last_used_at: string | null;
}

/** A user to make */
export interface UserCreate {
  /** kept in lower case; never changes */
  email: string;
  /** for people */
  name?: string;
  /** default: the answer has a link with which the user sets it */
  password?: string;
  /** an admin of the whole server */
  is_admin?: boolean;
}

/** A user, with a link */
export interface UserMade {
  id: string;
  email: string;
  name: string;
  /** an admin of the whole server */
  is_admin: boolean;
  is_disabled: boolean;
  has_password: boolean;
  /** the provider of OpenID Connect by which the user signed in last */
  issuer: string | null;
  created_at: string | null;
  /** when the user signed in last */
  last_used_at: string | null;
  /** with which the user sets a password, once; returned only here; null: the request had a password */
  link: string | null;
  link_expires_at: string | null;
}

/** What to change of a user */
export interface UserChange {
  name?: string;
  is_admin?: boolean;
  /** may not sign in; its sessions end, and its keys may do nothing */
  is_disabled?: boolean;
}

/** A new password */
export interface PasswordChange {
  /** required, but for an admin who sets another user's */
  old?: string;
  /** at least 4 different characters, not the e-mail address */
  new: string;
}

/** Invitations */
export interface InvitationList {
  items: Invitation[];
}

/** An invitation */
export interface Invitation {
  id: string;
  email: string;
  role: string;
  /** a user or a key */
  invited_by: string;
  created_at: string | null;
  expires_at: string | null;
}

/** Whom to invite */
export interface InvitationCreate {
  email: string;
  /** viewer, member or admin */
  role: string;
}

/** An invitation, with its link */
export interface InvitationMade {
  id: string;
  email: string;
  role: string;
  /** a user or a key */
  invited_by: string;
  created_at: string | null;
  expires_at: string | null;
  /** works once; returned only here */
  link: string;
}

/** A command, and the sandbox that is made for it */
export interface EphemeralExec {
  /** a shell line (bash, else sh) */
  command?: string;
  /** a program, run without a shell */
  cmd?: string;
  /** arguments of cmd */
  args?: string[];
  /** working directory; a relative path is below the default folder */
  cwd?: string;
  /** environment variables; they override the sandbox's variables */
  env?: Record<string, string>;
  /** name or number of the user (default: the template's user) */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** time limit; the command and all its processes are killed afterwards; 0: the server's default */
  timeout_ms?: number;
  /** bytes that a collected result keeps of each stream */
  outputLimitBytes?: number;
  /** run as a background job; the reply comes at once and has a resultId to query the job by */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
  /** kill the command when this connection breaks; by default the command continues */
  end_on_disconnect?: boolean;
  /** run on a terminal; all output is stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings */
  record?: boolean;
  /** label shown in lists */
  label?: string;
  /** a config of /accounts/me/sandboxes */
  config?: string;
  /** name of the workspace whose files the call has, at /mnt/workspaces/NAME */
  workspace?: string;
  /** settings of the sandbox that is made */
  sandbox?: SandboxSpecification;
}

/** A block of code, and the sandbox that is made for it */
export interface EphemeralCode {
  language: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  /** at most 128 KiB */
  code: string;
  /** context that runs the code and keeps its state; 'default': the default context of the language, created if missing */
  contextId?: string;
  /** working directory; a relative path is below the default folder */
  cwd?: string;
  /** environment variables; they override the sandbox's variables */
  env?: Record<string, string>;
  /** name or number of the user (default: the template's user) */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** time limit; the command and all its processes are killed afterwards; 0: the server's default */
  timeout_ms?: number;
  /** bytes that a collected result keeps of each stream */
  outputLimitBytes?: number;
  /** run as a background job; the reply comes at once and has a resultId to query the job by */
  background?: boolean;
  /** conversation that the job belongs to; only that conversation can query it; default: the header Atoll-Conversation */
  conversation?: string;
  /** where the end of the job is reported */
  origin?: JobOrigin;
  /** kill the command when this connection breaks; by default the command continues */
  end_on_disconnect?: boolean;
  /** run on a terminal; all output is stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder; its files that the command creates or changes are kept as artifacts and reported before the exit event */
  artifacts?: string;
  /** record its output as asciicast, at most 1 MiB, with background 16 MiB; see /api/sandbox/recordings */
  record?: boolean;
  /** label shown in lists */
  label?: string;
  /** a config of /accounts/me/sandboxes */
  config?: string;
  /** name of the workspace whose files the call has, at /mnt/workspaces/NAME */
  workspace?: string;
  /** settings of the sandbox that is made */
  sandbox?: SandboxSpecification;
}

/** Events, oldest first */
export interface EventList {
  items: Event[];
  /** value of after for the next page or for a stream */
  after: number;
  /** sequence of the oldest stored event; 0: there are no events */
  oldest: number;
}

/** Something that happened */
export interface Event {
  /** grows over all of the server's events; for after= */
  sequence: number;
  at: string | null;
  kind: string;
  project: string | null;
  /** its id */
  sandbox: string | null;
  /** why it ends: user, idle, lifetime, oom, exit, host_lost, error, budget, disk; of command.limited the cause: timeout, oom, file_size, disk, process_limit */
  reason: string | null;
  /** for people: started in 4 ms */
  text: string;
  /** of a job: resultId, status, exitCode, cause, conversation, stdout */
  detail?: unknown;
  /** with=object, sandbox.* events: the sandbox as the list answers it, read after the event; null: its row is gone */
  object?: unknown;
}

/** Events between were deleted before they were read */
export interface LostMessage {
  /** kind of the message; with SSE also its event name */
  event: "lost";
  /** the sequence that the request named */
  after: number;
  /** sequence of the oldest event that is kept */
  oldest: number;
}

/** Calls into sandboxes, in the order of their ends */
export interface ActivityList {
  items: Activity[];
  /** value of after for the next page or for a stream */
  after: number;
  /** sequence of the oldest stored row; 0: there are no rows */
  oldest: number;
}

/** A call into a sandbox */
export interface Activity {
  /** grows over all of the server's rows; for after= */
  sequence: number;
  /** when the call began */
  at: string | null;
  project: string;
  /** its id; null for a tool without a sandbox */
  sandbox: string | null;
  /** command, code, tool or file */
  kind: string;
  /** exec, job or git; the language of code; the name of a tool; read, write, mkdir, remove, rename, copy, permissions, tar_in or tar_out */
  operation: string;
  /** the command line, code, input or paths; the first 1 KiB */
  arguments: string;
  /** the member whose key made the call */
  user: string | null;
  key: string | null;
  /** of the header Atoll-Conversation or the tool call */
  conversation: string | null;
  /** outcome is ok */
  ok: boolean;
  /** ok, failed, or unknown: the server did not see the end */
  outcome: string;
  /** -1: none, or unknown */
  exit_code: number;
  /** why it failed, besides an exit code */
  error: string | null;
  duration_ms: number;
  /** of both output streams; of files: bytes transferred */
  output_bytes: number;
  /** the first KiB of the output */
  head: string;
  /** the last KiB of the output; empty when head is all of it */
  tail: string;
  /** base64 when the bytes of head and tail are no text */
  encoding: string | null;
  artifacts: ActivityArtifact[];
}

/** A file that the call left and that is stored */
export interface ActivityArtifact {
  id: string;
  path: string;
}

/** Network decisions, oldest first */
export interface NetworkDecisionList {
  items: NetworkDecision[];
  /** value of after for the next page */
  after: number;
  /** sequence of the oldest stored row; 0: there are no rows */
  oldest: number;
}

/** A connection that network rules decided on */
export interface NetworkDecision {
  /** grows over all of the server's rows; for after= */
  sequence: number;
  at: string | null;
  /** its id */
  sandbox: string;
  /** denied, allowed, or watched: refused by the rules, but let through by the mode watch */
  decision: string;
  /** why: ok, host-not-allowed, address-denied, range-refused, bad-request, limit or upstream-unreachable */
  code: string;
  /** the entry of the rules that decided */
  rule: string | null;
  /** name of the credential that the request got, or was refused for */
  credential: string | null;
  /** tls, http, dns, tcp, udp or other */
  protocol: string;
  /** null: only the address is known */
  host: string | null;
  /** null: a name that was refused before it was looked up */
  address: string | null;
  /** 0: none */
  port: number;
  /** equal decisions of about a second; a busy sandbox has rows without host and address for what is too much */
  count: number;
  /** received by the sandbox; known of connections by name, at their end */
  bytes_in: number;
  /** sent by the sandbox */
  bytes_out: number;
}

/** Rows of the audit */
export interface AuditList {
  items: AuditRow[];
  /** value of before (or after) for the next page; 0: no page follows */
  next: number;
  /** rows up to this number were dropped by the retention */
  oldest: number;
}

/** An event of the audit */
export interface AuditRow {
  /** number in the chain, without gaps */
  sequence: number;
  at: string | null;
  id: string;
  /** node that served the request */
  server: string;
  /** of that server */
  version: string;
  project: string;
  user: string;
  /** id of the key, or of the user of a session */
  key: string;
  /** key, session, link, token (of a sandbox or volume), sandbox (that uses a credential), public or system */
  via: string;
  address: string;
  user_agent: string;
  action: string;
  method: string;
  path: string;
  target_kind: string;
  target: string;
  conversation: string;
  /** ok, refused, failed or interrupted */
  result: string;
  /** of HTTP; 0: none */
  status: number;
  request_id: string;
  /** changed members of rows before; secrets are masked */
  before: unknown;
  after: unknown;
  hash: string;
}

/** The key that signs the audit, and the newest checkpoint */
export interface AuditKey {
  /** id of the chain */
  chain: string;
  /** public key, Ed25519, hexadecimal */
  key: string;
  /** of the newest row */
  sequence: number;
  /** rows up to this number were dropped by the retention */
  oldest: number;
  /** row of the newest checkpoint; 0: none */
  checkpoint: number;
  checkpoint_at: string | null;
  /** of that row */
  hash: string;
  signature: string;
}

/** A webhook to create */
export interface WebhookCreate {
  /** http or https URL on the internet */
  url: string;
  /** kinds such as sandbox.started, or sandbox.* (default: all) */
  events?: string[];
  /** key for signatures (default: generated) */
  secret?: string;
  /** default true */
  enabled?: boolean;
}

/** A new webhook, with its secret */
export interface WebhookMade {
  id: string;
  url: string;
  events: string[];
  enabled: boolean;
  /** why the server disabled the webhook */
  problem: string | null;
  /** number of waiting deliveries */
  waiting: number;
  /** number of dead deliveries */
  dead: number;
  created_at: string | null;
  updated_at: string | null;
  /** returned only once */
  secret: string;
}

/** Webhooks, oldest first */
export interface WebhookList {
  items: Webhook[];
}

/** A webhook, without its secret */
export interface Webhook {
  id: string;
  url: string;
  events: string[];
  enabled: boolean;
  /** why the server disabled the webhook */
  problem: string | null;
  /** number of waiting deliveries */
  waiting: number;
  /** number of dead deliveries */
  dead: number;
  created_at: string | null;
  updated_at: string | null;
}

/** Given members replace the stored ones; a webhook that is enabled again receives only new events */
export interface WebhookChange {
  /** http or https URL on the internet */
  url?: string;
  /** kinds such as sandbox.started, or sandbox.* (default: all) */
  events?: string[];
  /** key for signatures (default: generated) */
  secret?: string;
  /** default true */
  enabled?: boolean;
}

/** The result of a test event */
export interface WebhookTest {
  /** the status is 2xx */
  ok: boolean;
  /** 0: no answer came */
  status: number;
  duration_ms: number;
  error: string | null;
}

/** Deliveries, newest first */
export interface DeliveryList {
  items: Delivery[];
}

/** Delivery of an event to a webhook */
export interface Delivery {
  /** value of the header Atoll-Delivery */
  id: string;
  /** sequence of the event */
  sequence: number;
  kind: string;
  /** waiting, delivered or dead */
  state: string;
  attempts: number;
  /** HTTP status of the last reply; 0: no reply came */
  status: number;
  error: string | null;
  created_at: string | null;
  next_at: string | null;
  ended_at: string | null;
  /** body of the request */
  event: unknown;
}

/** The result of a retry of all dead deliveries */
export interface DeliveriesRetried {
  /** number of retried deliveries */
  retried: number;
  /** number of dead deliveries that are left */
  dead: number;
}

/** A credential to store */
export interface CredentialCreate {
  /** what it is for; people and agents see it */
  about?: string;
  /** host names that may get it; "*.example.com" is every name below; default: those of the preset */
  hosts?: string[];
  /** its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any */
  fields: Record<string, string>;
  /** what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked */
  consent?: "conversation" | "sandbox" | "project";
  /** default: never */
  expires_at?: string | null;
  /** for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default) */
  environment?: Record<string, string>;
  /** lower-case letters, digits and '-'; rules name it: ${credential.NAME.FIELD} */
  name: string;
  /** which fields it has (default: the preset's, or token) */
  kind?: "token" | "basic" | "aws" | "custom" | "client";
  /** a service of /v1/credential-presets: kind and hosts, and rules for sandboxes (egress.credentials) */
  preset?: string;
  /** project (default; takes the scope project:write), or the caller's user, who alone sees it */
  owner?: "project" | "user";
}

/** A credential, without its values */
export interface Credential {
  id: string;
  name: string;
  kind: "token" | "basic" | "aws" | "custom" | "client" | "oauth";
  preset: string | null;
  about: string;
  hosts: string[];
  /** the fields that are set */
  field_names: string[];
  /** variables of terminal windows, and the field of each */
  environment: Record<string, string>;
  owner: "project" | "user";
  consent: "conversation" | "sandbox" | "project";
  /** needs_login: its tokens cannot be renewed */
  state: "ok" | "expired" | "needs_login";
  /** grows when the values change */
  version: number;
  /** equal values have equal fingerprints; a value cannot be guessed from it */
  fingerprint: string;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string | null;
  updated_at: string | null;
}

/** Credentials by name */
export interface CredentialList {
  items: Credential[];
}

/** Given members replace the stored ones; a further host and a weaker consent take the fields again */
export interface CredentialChange {
  /** what it is for; people and agents see it */
  about?: string;
  /** host names that may get it; "*.example.com" is every name below; default: those of the preset */
  hosts?: string[];
  /** its values, which no answer contains: token; username and password; access_key_id and secret_access_key; or any */
  fields?: Record<string, string>;
  /** what a person has to allow it for: each conversation (default) or each sandbox; project: no person is asked */
  consent?: "conversation" | "sandbox" | "project";
  /** default: never */
  expires_at?: string | null;
  /** for protocols that the proxy does not speak: variables of terminal windows, and the field that each gets. Programs in the sandbox can read the values. Needs the consent conversation; {} = none (default) */
  environment?: Record<string, string>;
}

/** A login to begin */
export interface ConnectCreate {
  /** of the credential to make */
  name: string;
  /** see /v1/credential-presets; or give an issuer */
  preset?: string;
  /** a service that publishes its metadata, such as a GitLab of your own; its addresses replace those of the preset */
  issuer?: string;
  /** a credential of the kind 'client': the application that is registered at the service */
  client: string;
  /** code: in a browser (default); device: with a code to type; client: the application itself */
  method?: "code" | "device" | "client";
  /** default: those of the preset */
  scopes?: string[];
  /** hosts that may get the credential (default: the preset's) */
  hosts?: string[];
  /** what it is for */
  about?: string;
  /** as of a credential */
  consent?: "conversation" | "sandbox" | "project";
  /** as of a credential */
  owner?: "project" | "user";
}

/** A login at an OAuth service */
export interface Connect {
  id: string;
  name: string;
  preset: string | null;
  method: "code" | "device" | "client";
  owner: "project" | "user";
  /** pending, exchanging, done, failed or needs_login */
  state: string;
  problem: string | null;
  /** as the service grants them */
  scopes: string;
  /** once: the service's page to open in a browser */
  url?: string;
  /** once: the code to type at verification_uri */
  user_code?: string;
  verification_uri?: string;
  verification_uri_complete?: string;
  /** how often the server asks for a device's tokens */
  interval_ms?: number;
  /** of a pending one */
  expires_at: string | null;
  /** when its tokens are renewed */
  renews_at: string | null;
  created_at: string | null;
  updated_at: string | null;
}

/** Connects, newest first */
export interface ConnectList {
  items: Connect[];
}

/** Presets of credentials */
export interface CredentialPresetList {
  items: CredentialPreset[];
}

/** A service whose hosts and OAuth server are known */
export interface CredentialPreset {
  name: string;
  version: number;
  about: string;
  /** of the credential */
  kind: string;
  hosts: string[];
  fields: CredentialPresetField[];
  markers?: CredentialPresetMarker[];
  /** a credential of this preset is named "it" here */
  rules: CredentialRule[];
  oauth?: OAuthService;
}

/** A field to ask for */
export interface CredentialPresetField {
  name: string;
  label: string;
  /** false: it may be shown */
  secret: boolean;
}

/** A variable without worth that lets programs inside start */
export interface CredentialPresetMarker {
  env: string;
  value: string;
}

/** The addresses of an OAuth service, and how it differs from the standards */
export interface OAuthService {
  issuer?: string;
  authorize?: string;
  token?: string;
  device?: string;
  revoke?: string;
  /** parameters that its page wants beside those of the standard */
  extra?: string;
  scope_separator?: string;
  client_auth: "basic" | "post";
  body: "form" | "json";
  revoke_style: "standard" | "github" | "bearer";
  pkce: "on" | "off";
  scopes: string[];
}

/** Background jobs, newest first */
export interface JobList {
  items: JobItem[];
}

/** A background job, without its logs */
export interface JobItem {
  resultId: string;
  /** running, completed, failed or stopped */
  status: string;
  /** -1 while the job runs, and if the exit code is unknown */
  exitCode: number;
  /** why the job did not complete */
  reason: string | null;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); lost: the job's process disappeared; null while the job runs */
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  /** number of the process in the sandbox */
  process: number;
  /** bytes written in total; set when the job has ended */
  stdout_bytes: number;
  stderr_bytes: number;
  created_at: string | null;
  ended_at: string | null;
  duration_ms: number;
}

/** A background job */
export interface Job {
  resultId: string;
  /** running, completed, failed or stopped */
  status: string;
  /** -1 while the job runs, and if the exit code is unknown */
  exitCode: number;
  /** why the job did not complete */
  reason: string | null;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); lost: the job's process disappeared; null while the job runs */
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  /** number of the process in the sandbox */
  process: number;
  /** bytes written in total; set when the job has ended */
  stdout_bytes: number;
  stderr_bytes: number;
  created_at: string | null;
  ended_at: string | null;
  duration_ms: number;
  /** last part of stdout and stderr; present when the job has ended */
  logs?: unknown;
  /** artifacts that the job left; present when the job has ended */
  artifacts?: StoredArtifact[];
}

/** Output of a background job */
export interface JobLogs {
  resultId: string;
  status: string;
  stdout: string;
  stderr: string;
  /** offset of the first returned byte */
  stdout_offset: number;
  stderr_offset: number;
  /** value of since_stdout for the next call */
  stdout_next: number;
  stderr_next: number;
  /** bytes written in total */
  stdout_bytes: number;
  stderr_bytes: number;
}

/** The result of a background job */
export interface JobComplete {
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause?: "exit" | "signal" | "timeout" | "oom" | "file_size" | "disk" | "process_limit" | "canceled" | "sandbox_ended";
  status: "completed" | "failed";
  exitCode?: number;
  signal?: number;
  durationMs?: number;
  timedOut?: boolean;
  /** last part of the output as text; or as bytes: */
  output?: string;
  stdoutBase64?: string;
  stderrBase64?: string;
}

/** Channels, sorted by name */
export interface ChannelList {
  items: Channel[];
}

/** A channel, without its token */
export interface Channel {
  name: string;
  type: string;
  base_url: string | null;
  created_at: string | null;
  updated_at: string | null;
}

/** Token of a chat service */
export interface ChannelPut {
  type: "slack" | "discord" | "telegram" | "github" | "zalo" | "pancake";
  /** token of a bot, an app, an official account or a page */
  token: string;
  /** address of a self-hosted service (default: the public service) */
  base_url?: string;
}

/** Messages, newest job first */
export interface JobDeliveryList {
  items: JobDelivery[];
}

/** A message about the end of a job */
export interface JobDelivery {
  resultId: string;
  channel: string;
  /** waiting, sending, delivered or dead */
  state: string;
  attempts: number;
  /** HTTP status of the last reply; 0: no reply came */
  status: number;
  error: string | null;
  /** when the job ended */
  ended_at: string | null;
  next_at: string | null;
}

/** One page of usage */
export interface Usage {
  from: string | null;
  to: string | null;
  group_by: string;
  items: UsageSum[];
  next_page: string | null;
}

/** Usage of one group */
export interface UsageSum {
  /** id, template, user, run, conversation, reason, day or value of the label */
  group: string;
  /** name of the project, key or sandbox, also of a deleted one while lists can show it; null: not known */
  name: string | null;
  /** time that sandboxes were started */
  seconds: number;
  /** processor time, as sampled */
  cpu_seconds: number;
  /** vCPUs of the sandboxes multiplied by their time */
  vcpu_seconds: number;
  /** memory limits of the sandboxes multiplied by their time */
  memory_gib_seconds: number;
  /** stored files; a month has 730 hours */
  storage_gib_months: number;
  /** US dollars */
  usd: number;
  /** exact amount in micro-dollars */
  usd_micro: number;
}

/** The balance of a project */
export interface Balance {
  project: string;
  deposited_usd: number;
  spent_usd: number;
  /** negative if more was spent than deposited */
  balance_usd: number;
  /** exact amount in micro-dollars */
  balance_usd_micro: number;
}

/** A deposit to book */
export interface DepositCreate {
  /** id chosen by the caller; a repeated id is booked once */
  id: string;
  /** US dollars */
  usd: number;
  note?: string;
}

/** A deposit */
export interface Deposit {
  id: string;
  project: string;
  usd: number;
  note: string;
  created_at: string | null;
}

/** Budgets, oldest first */
export interface BudgetList {
  items: Budget[];
}

/** A spending limit and the amount spent */
export interface Budget {
  id: string;
  scope: "project" | "key" | "sandbox" | "run" | "label" | "conversation";
  /** id of the project, key or sandbox; or the run, NAME=VALUE of the label, or the conversation */
  subject: string;
  window: "total" | "day" | "month";
  limit_usd: number;
  warn_at: number;
  /** spent in the current period */
  spent_usd: number;
  /** fine, warned or exceeded */
  level: string;
  /** start of the current period */
  since: string | null;
  created_at: string | null;
}

/** A spending limit */
export interface BudgetCreate {
  /** what the budget covers (default project) */
  scope?: "project" | "key" | "sandbox" | "run" | "label" | "conversation";
  /** period in UTC; total never restarts (default month) */
  window?: "total" | "day" | "month";
  /** fraction of the limit at which a warning is sent (default 0.8) */
  warn_at?: number;
  /** id of the key, name or id of the sandbox, run of the header Atoll-Run, NAME=VALUE of a label, or conversation of the header Atoll-Conversation or of tool calls */
  subject?: string;
  /** US dollars */
  limit_usd: number;
}

/** Changes of a budget */
export interface BudgetUpdate {
  /** US dollars */
  limit_usd?: number;
  /** fraction of the limit at which a warning is sent */
  warn_at?: number;
}

/** Pools */
export interface PoolList {
  items: Pool[];
}

/** A pool of prepared sandboxes */
export interface Pool {
  /** ready, filling (fewer than min are prepared) or failing */
  state: string;
  /** set if the pool is failing */
  problem?: PoolProblem;
  template: string;
  /** null: an automatic pool, identified by the template's folder */
  template_id: string | null;
  /** the pool follows the demand */
  automatic: boolean;
  /** number of sandboxes kept while the pool is unused */
  min: number;
  /** number of sandboxes kept while the pool is used */
  target: number;
  /** upper limit when misses let the pool grow */
  max: number;
  /** number of prepared sandboxes */
  ready: number;
  preparing: number;
  /** creates that got a prepared sandbox since the broker started */
  hits: number;
  /** creates that found no prepared sandbox */
  misses: number;
  /** hits / (hits + misses) since the broker started; 0 before the first create */
  hit_ratio: number;
  /** number of snapshot layers of the pool's sandboxes; 0: none */
  depth: number;
  internet: boolean;
  cpu: number;
  memory_mb: number;
  disk_mb: number;
  pids: number;
}

/** Why a pool cannot be filled */
export interface PoolProblem {
  code: string;
  message: string;
  /** how to fix it */
  hint: string;
}

/** Volumes, sorted by name */
export interface VolumeList {
  items: ListedVolume[];
}

/** A volume and its used space at the last measurement */
export interface ListedVolume {
  id: string;
  name: string;
  project: string;
  provider: string;
  /** server that stores the volume */
  node: string;
  /** making, ready or deleting */
  state: string;
  /** workspace whose files it keeps; absent: none */
  workspace?: string;
  /** MiB */
  size_mb: number;
  /** the size limit is not enforced */
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  /** sandboxes that have the volume, including stopped ones */
  attachments: VolumeMount[];
  /** as last measured; -1: not measured yet */
  used_bytes: number;
}

/** A volume mounted in a sandbox */
export interface VolumeMount {
  /** name */
  volume: string;
  volume_id: string;
  /** name */
  sandbox: string;
  sandbox_id: string;
  sandbox_state: string;
  /** mount point in the sandbox */
  path: string;
  /** mounted folder of the volume; absent if the whole volume is mounted */
  subpath?: string;
  read_only: boolean;
  attached_at: string | null;
}

/** A volume to create */
export interface VolumeCreate {
  /** unique in the project */
  name: string;
  /** size limit in MiB (default: no limit) */
  size_mb?: number;
}

/** Storage that outlives sandboxes */
export interface Volume {
  id: string;
  name: string;
  project: string;
  provider: string;
  /** server that stores the volume */
  node: string;
  /** making, ready or deleting */
  state: string;
  /** workspace whose files it keeps; absent: none */
  workspace?: string;
  /** MiB */
  size_mb: number;
  /** the size limit is not enforced */
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  /** sandboxes that have the volume, including stopped ones */
  attachments: VolumeMount[];
}

/** A volume and its used space */
export interface VolumeUsage {
  id: string;
  name: string;
  project: string;
  provider: string;
  /** server that stores the volume */
  node: string;
  /** making, ready or deleting */
  state: string;
  /** workspace whose files it keeps; absent: none */
  workspace?: string;
  /** MiB */
  size_mb: number;
  /** the size limit is not enforced */
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  /** sandboxes that have the volume, including stopped ones */
  attachments: VolumeMount[];
  /** -1: too many files to measure */
  used_bytes: number;
}

/** New size of a volume */
export interface VolumeGrow {
  /** MiB; not less than the current size */
  size_mb: number;
}

/** List the volumes of a sandbox */
export interface VolumeMountList {
  items: VolumeMount[];
}

/** A volume to attach, and its mount point */
export interface VolumeAttach {
  /** name or id */
  volume: string;
  /** absolute mount point (default /workspace) */
  path?: string;
  /** mount read-only; any number of sandboxes may read a volume */
  read_only?: boolean;
  /** folder of the volume to mount, created if missing (default: the whole volume) */
  subpath?: string;
}

/** One page of changes sorted by path; a folder precedes its content */
export interface ChangeList {
  items: Change[];
  /** id of the base snapshot, or "template" */
  base: string;
  next_page: string | null;
}

/** A path that differs from the base */
export interface Change {
  /** path from the root, without a leading '/' */
  path: string;
  /** base64 if the path is not UTF-8 */
  path_encoding?: string;
  /** added, deleted or modified; mode: only the mode or owner changed; type: the file became another type of file */
  kind: string;
  /** file, dir, link, fifo, socket or device; null: the path does not exist */
  type: string | null;
  type_before: string | null;
  /** size of a file in bytes */
  size: number;
  size_before: number;
  /** octal */
  mode: string | null;
  mode_before: string | null;
  uid: number;
  gid: number;
  uid_before: number;
  gid_before: number;
  /** target of a symbolic link */
  link?: string;
  link_before?: string;
  /** the folder is too deep; its content is not listed */
  truncated?: boolean;
  /** diff only: a patch in git's format */
  diff?: string;
  lines_added?: number;
  lines_deleted?: number;
  /** the file is not text, or is too large for a comparison by lines */
  binary?: boolean;
  /** base64 if the diff is not UTF-8 */
  diff_encoding?: string;
}

/** Paths to revert */
export interface Revert {
  /** files, or folders with everything in them; "/" means everything */
  paths: string[];
  /** base64: each path is base64-encoded */
  encoding?: "text" | "base64";
  /** name or id of a snapshot, or "template" (the default) */
  base?: string;
}

/** Results in the order of the requested paths */
export interface RevertResult {
  items: Reverted[];
}

/** Result for one path */
export interface Reverted {
  /** the path as given in the request */
  path: string;
  /** the path has the base's content again */
  ok: boolean;
  /** number of files and folders restored */
  restored: number;
  /** number of files and folders deleted */
  removed: number;
  /** error code */
  error?: string;
  message?: string;
  hint?: string;
}

/** Windows, oldest first */
export interface WindowList {
  items: Window[];
}

/** A named terminal */
export interface Window {
  name: string;
  /** number of the process in this sandbox */
  process: number;
  /** process id in the sandbox */
  pid: number;
  rows: number;
  cols: number;
  /** a command runs in the foreground */
  busy: boolean;
  /** whether …/run works in this window */
  shell: boolean;
  /** number of attached connections */
  viewers: number;
  /** idle time after which the window closes */
  ttl_s: number;
  /** time since the last input or output */
  quiet_ms: number;
  /** first offset that is still stored */
  output_start: number;
  /** bytes written so far */
  output_end: number;
  started_at: string | null;
  user: string;
  /** working directory at its start */
  cwd: string;
}

/** Changes of a window */
export interface WindowChange {
  rows?: number;
  cols?: number;
  ttl_s?: number;
}

/** Viewers, in the order of attachment */
export interface ViewerList {
  items: Viewer[];
}

/** A viewer that is attached to a window by WebSocket */
export interface Viewer {
  /** number of the viewer on this server */
  viewer: number;
  /** user or key of the viewer */
  who: string;
  /** network address of the viewer */
  peer: string;
  /** false: read-only */
  writes: boolean;
  attached_at: string | null;
  /** last input, accurate to two seconds; null: never */
  typed_at: string | null;
}

/** Content of a window's screen */
export interface Screen {
  /** why the wait ended: found, changed, quiet, timeout or ended; none if there was no condition */
  reason: string;
  /** lines without trailing blanks, or escape sequences that draw the screen */
  text: string | null;
  /** only for the form cells */
  lines: ScreenLine[];
  rows: number;
  cols: number;
  /** from 0 */
  cursor_row: number;
  /** from 0 */
  cursor_column: number;
  cursor_visible: boolean;
  /** true: the alternate screen of a full-screen program */
  alternate: boolean;
  title: string;
  /** the screen includes output up to this offset */
  offset: number;
  /** bytes that are no longer stored at the beginning of the output; text that they drew may be missing */
  missing: number;
}

/** A line of a screen */
export interface ScreenLine {
  runs: ScreenRun[];
}

/** Characters with the same attributes */
export interface ScreenRun {
  column: number;
  text: string;
  /** #rrggbb */
  foreground: string | null;
  background: string | null;
  bold: boolean;
  italic: boolean;
  underline: boolean;
  reverse: boolean;
  blink: boolean;
  strike: boolean;
}

/** Input for a window, and conditions to wait for */
export interface WindowKeys {
  /** text to type */
  text?: string;
  /** text to paste; uses bracketed paste if the program has enabled it */
  paste?: string;
  /** keys to press after text and paste: C-c, M-x, S-Tab, Up, Enter, Escape, F5, …; other strings are typed */
  keys?: string[];
  /** wait until the screen shows this text; the first condition that holds ends the wait; after typing, only later output counts */
  wait_text?: string;
  /** wait until a line matches this POSIX extended regular expression */
  wait_regex?: string;
  /** wait until the screen changes */
  wait_change?: boolean;
  /** wait until there was no output for this time */
  quiet_ms?: number;
  /** maximum wait (default 10000) */
  wait_ms?: number;
  /** format of the screen */
  form?: "text" | "ansi" | "cells";
}

/** A command for a window */
export interface WindowRun {
  /** command line; a command that runs in the window is cancelled first; without command, wait for the running one */
  command?: string;
  /** answer 409 instead of cancelling a running command */
  keep?: boolean;
  /** maximum wait; afterwards the command continues (default 30000) */
  wait_ms?: number;
  /** bytes kept from the end of the output (default 65536) */
  outputLimitBytes?: number;
  /** working directory, if the window is created */
  cwd?: string;
  /** user, if the window is created */
  user?: string;
  /** environment, if the window is created */
  env?: Record<string, string>;
}

/** Result of a command in a window */
export interface WindowResult {
  window: string;
  process: number;
  /** the command still runs */
  running: boolean;
  /** -1 while the command runs */
  exit_code: number;
  /** output without escape sequences */
  output: string;
  /** offset of the output in the output of the process */
  since: number;
  end: number;
  /** bytes dropped before `output` */
  dropped: number;
  /** a command that ran in the window was cancelled */
  cancelled: boolean;
  /** the window closed when the command ended */
  closed: boolean;
}

/** Workspaces, sorted by name */
export interface WorkspaceList {
  items: Workspace[];
}

/** Files that calls and sandboxes share by a name */
export interface Workspace {
  name: string;
  /** name of the volume of its files */
  volume: string;
  volume_id: string;
  /** server that stores the files */
  node: string;
  /** ids of the sandboxes that have it now */
  sandboxes: string[];
  /** as last measured; -1: not measured yet */
  used_bytes: number;
  created_at: string | null;
}

/** Contexts, oldest first */
export interface CodeContextList {
  items: CodeContext[];
}

/** An interpreter that keeps its state from one block of code to the next */
export interface CodeContext {
  id: string;
  /** python, javascript, typescript, bash, r, java */
  language: string;
  /** working directory at its start */
  cwd: string;
  user: string;
  /** ready, or ended: its state is lost, and it can be restarted */
  state: string;
  /** number of the process in this sandbox */
  process: number;
  /** exit code of an ended context; otherwise -1 */
  exit_code: number;
  /** time of the creation or of the last restart */
  created_at: string | null;
}

/** A new context */
export interface CodeContextCreate {
  /** one of: python, javascript, typescript, bash, r, java; python by default */
  language?: string;
  /** working directory; a relative path is below the default folder */
  cwd?: string;
}

/** Finished recordings, by sandbox and time */
export interface RecordingList {
  items: Recording[];
}

/** A recording of a window */
export interface Recording {
  id: string;
  /** the sandbox may be deleted */
  sandbox_id: string;
  /** number of the window's, command's or job's process; 0: not known */
  process: number;
  size_bytes: number;
  started_at: string | null;
  /** name of the window */
  window: string | null;
  /** user or key that had it recorded; null: not known */
  user: string | null;
  /** time of the last output; -1: not known */
  duration_ms: number;
}

/** A file to link to */
export interface FileLinkCreate {
  /** absolute path, or path below the default folder */
  path: string;
  /** user that reads the file (default: the template's user) */
  user?: string;
  /** seconds (default 300) */
  expires_in_s?: number;
}

/** A link by which the file can be downloaded without a key */
export interface FileLink {
  /** path and query on this server */
  path: string;
  /** the same with this server's address, if that is known */
  url: string | null;
  expires_at: string | null;
}

/** Found names and lines */
export interface FileSearch {
  /** the searched folder */
  path: string;
  names: FileNameMatch[];
  matches: FileMatch[];
  /** there is more than the limit, or the search ended early */
  truncated: boolean;
}

/** A file whose name matches */
export interface FileNameMatch {
  /** relative to the searched folder */
  path: string;
  /** file, directory, symlink or other */
  type: string;
  size: number;
  modified_at: string | null;
}

/** A line that matches */
export interface FileMatch {
  /** relative to the searched folder */
  path: string;
  line: number;
  /** at most 400 bytes of the line */
  text: string;
}

/** TCP ports that programs listen on, by number */
export interface ListeningPortList {
  items: ListeningPort[];
  /** there are so many sockets that ports or processes are missing */
  truncated: boolean;
  /** changes with the ports; for changed_from */
  version: string;
}

/** A port that a program listens on */
export interface ListeningPort {
  port: number;
  /** address that the socket is bound to; 0.0.0.0 and :: are all */
  address: string;
  /** process id inside the sandbox of the first process that has the socket; 0: not found */
  pid: number;
  /** number of the process in …/processes that started it; 0: none */
  process: number;
  /** command line, at most 1023 bytes */
  command: string;
  /** a preview may show the port and reaches its address */
  preview: boolean;
}

/** Services, sorted by name */
export interface ServiceList {
  items: Service[];
}

/** A command that the server keeps running */
export interface Service {
  name: string;
  /** starting, running, backoff (waits for its restart), stopping, stopped (on request), exited (by itself) or failed; down or paused if the sandbox is; unknown */
  state: string;
  /** false: a client stopped the service */
  wanted: boolean;
  /** process id in the sandbox; 0: none */
  pid: number;
  /** number of the process in the sandbox */
  process: number;
  /** automatic restarts since the service was started or changed */
  restarts: number;
  /** consecutive early exits */
  failures: number;
  /** exit code of the last finished run; -1: no run has finished */
  exit_code: number;
  /** signal that ended the last run, or 0 */
  signal: number;
  /** why the last start failed */
  error: string | null;
  /** time until the next restart, while the state is backoff */
  restart_in_ms: number;
  /** start of the last run */
  started_at: string | null;
  /** end of the last finished run */
  ended_at: string | null;
  command: string | null;
  /** program and arguments, if the service has no shell line */
  args: unknown;
  cwd: string;
  user: string;
  restart: string;
  restart_limit: number;
  restart_delay_ms: number;
  stop_timeout_ms: number;
  keep_awake: boolean;
  created_at: string | null;
  updated_at: string | null;
}

/** A service: either command, or cmd and args */
export interface ServiceRequest {
  /** shell command line; or cmd and args: */
  command?: string;
  /** program to run without a shell */
  cmd?: string;
  /** its arguments */
  args?: string[];
  cwd?: string;
  /** name or number of the user in the sandbox */
  user?: string;
  /** overrides the sandbox's environment; never returned */
  env?: Record<string, string>;
  /** when to restart the command (default always) */
  restart?: "always" | "on-failure" | "no";
  /** number of consecutive early exits after which the service has failed; 0: no limit */
  restart_limit?: number;
  /** delay of the first restart, doubled up to a minute (default 500) */
  restart_delay_ms?: number;
  /** time from SIGTERM to SIGKILL (default 5000) */
  stop_timeout_ms?: number;
  /** a running service keeps the sandbox from being idle */
  keep_awake?: boolean;
}

/** Output of a service */
export interface ServiceLog {
  name: string;
  stdout: string;
  stderr: string;
  /** offset of the first returned byte; earlier bytes are lost or were not requested */
  stdout_offset: number;
  stderr_offset: number;
  /** value of since_stdout for the next call */
  stdout_next: number;
  stderr_next: number;
  /** bytes written by all runs since the start of the sandbox */
  stdout_bytes: number;
  stderr_bytes: number;
}

/** New limits; omitted members and 0 keep their values */
export interface SandboxResize {
  /** vCPUs */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB; can be raised while the sandbox is stopped */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** Changes of a sandbox's own variables; the template's variables stay */
export interface SandboxEnvironment {
  /** variables to add or replace */
  set?: Record<string, string>;
  /** names to remove before variables are added */
  unset?: string[];
}

/** Limits and their use */
export interface QuotaList {
  items: Quota[];
}

/** A limit and its use */
export interface Quota {
  scope: "project" | "key" | "organization";
  /** id of the project, key or organisation */
  subject: string;
  name: string;
  unit: string;
  about: string;
  /** 0 = no limit */
  limit: number;
  /** -1: not counted, of requests per second */
  used: number;
  /** end of the minute or the day; null: when the use falls */
  reset_at: string | null;
}

/** New limits; omitted members keep their values, 0 removes a limit */
export interface QuotaChange {
  /** sandboxes that run or are paused */
  sandboxes_running?: number;
  /** stopped and archived sandboxes: a create is refused while there are as many */
  sandboxes_stopped?: number;
  /** CPUs of running sandboxes together */
  cpu?: number;
  /** memory of running sandboxes together */
  memory_mb?: number;
  /** disk limits of all sandboxes together */
  disk_mb?: number;
  /** sandboxes made in one minute of the clock */
  creates_per_minute?: number;
  /** requests in one second; each server of the store takes an equal part */
  requests_per_second?: number;
  /** what sandboxes send in a UTC day */
  egress_mb_per_day?: number;
}

/** Deleted items that can be restored */
export interface TrashList {
  items: TrashItem[];
}

/** A deleted item that can be restored */
export interface TrashItem {
  /** sandbox, snapshot or layer */
  kind: string;
  id: string;
  name?: string;
  project?: string;
  /** deleted: by a call; orphan: the store has no row for it */
  reason: string;
  /** when it is deleted permanently */
  until: string | null;
  /** -1: not measured yet */
  size_bytes: number;
}

/** Number of stopped sandboxes */
export interface StoppedAll {
  stopped: number;
  /** number of sandboxes that still run; repeat the call */
  left: number;
}

/** A template by steps */
export interface BuildCreate {
  /** whether run steps reach it; default as of a sandbox */
  internet?: boolean;
  /** of the template; one that was built on the same root filesystem is replaced */
  name: string;
  /** further names for templates that are the same */
  also?: string[];
  /** template, or one of the stages, to begin with */
  from?: string;
  /** image of a registry instead of from, or from which a missing `from` is pulled */
  image?: string;
  /** at the registry of image */
  login?: RegistryLogin;
  description?: string;
  steps?: BuildStep[];
  /** each may use those before it */
  stages?: BuildStage[];
  /** by id, for mounts of run steps; never stored */
  secrets?: Record<string, string>;
  /** lines for the log */
  notes?: string[];
  /** the entrypoint, for /bin/sh -c; it runs at each start of a sandbox */
  start?: string;
  /** the same as a program and its arguments, without a shell */
  entrypoint?: string[];
  /** for /bin/sh -c: at the end of the build the entrypoint is started and this is tried until it succeeds */
  ready?: string;
  /** then the build fails (default 60000) */
  ready_timeout_ms?: number;
  /** of all of it, once it runs (default 3600000) */
  timeout_ms?: number;
  resources?: BuildResources;
  /** list of up to 64 numbers from 1 to 65535 */
  ports?: unknown;
  /** execute every step */
  no_cache?: boolean;
  /** ask the registries whether the tags of images have other images by now, and pull those */
  pull?: boolean;
}

/** One step of a build */
export interface BuildStep {
  type: "run" | "copy" | "env" | "workdir" | "user" | "write" | "folder";
  /** run: for /bin/sh -c; either this or args */
  command?: string;
  /** run: a program and its arguments, without a shell */
  args?: string[];
  /** env: of what follows and of the template; ${PATH} in a value is the path so far; run: of this command alone */
  env?: Record<string, string>;
  /** copy: the name under which the files were put, see PUT …/builds/files/HASH */
  files?: string;
  /** copy: instead, an earlier stage */
  from?: string;
  /** copy: files and folders of that stage; * ? and [] match */
  paths?: string[];
  /** write: of the file */
  text?: string;
  /** run: while the command runs */
  mounts?: BuildMount[];
  /** copy: the folder that the files go to, or the name of a single file of a stage; write: the file; workdir, folder: the folder; made if missing */
  path?: string;
  /** user: of what follows and of the template; run: of this command; copy, write: whom the files belong to, USER or USER:GROUP (default root) */
  user?: string;
  /** copy, write: of the files, octal; else as they were put */
  mode?: string;
  /** run: default as long as the build may take */
  timeout_ms?: number;
  /** execute this one and all after it, even if cached */
  force?: boolean;
}

/** What a run step finds at a path, and its layer does not contain */
export interface BuildMount {
  type: "cache" | "bind" | "secret" | "tmpfs";
  /** cache: its name among the project's caches; secret: which */
  id?: string;
  /** where the command finds it */
  path?: string;
  /** bind: an earlier stage */
  from?: string;
  /** bind: a file or folder of that stage */
  source?: string;
  /** bind: instead, as in a copy step */
  files?: string;
  /** bind: files has one file, whose name is the end of path */
  file?: boolean;
  /** secret: a variable that has it */
  env?: string;
  /** cache, secret: the owner (default root) */
  user?: string;
  /** cache, secret: octal (default 0755, 0400) */
  mode?: string;
  /** secret: the request fails without it */
  required?: boolean;
}

/** Steps before those of the template, for files that these copy */
export interface BuildStage {
  name: string;
  /** an earlier stage, or a template */
  from?: string;
  /** image of a registry instead of from, or from which a missing `from` is pulled */
  image?: string;
  steps?: BuildStep[];
}

/** Of the template's sandboxes, and of those that build it */
export interface BuildResources {
  /** vCPUs; 0 = inherited */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** A build of a template from steps */
export interface Build {
  /** exit code of the command that failed */
  exit_code: number | null;
  id: string;
  /** name of the template */
  name: string;
  from: string;
  /** id of the template; null until the build is ready */
  template: string | null;
  /** waiting, building, ready, error or cancelled */
  status: string;
  /** why the build failed */
  message: string | null;
  /** current step, or the step that failed, from 1; 0: no step has started */
  step: number;
  step_count: number;
  /** number of steps that were taken from the cache */
  cached_count: number;
  log_lines: number;
  /** id of the sandbox that runs the current step */
  sandbox: string | null;
  project: string;
  node: string;
  created_at: string | null;
  started_at: string | null;
  ended_at: string | null;
}

/** One page of builds */
export interface BuildList {
  items: Build[];
  next_page: string | null;
}

/** Lines of a build's log */
export interface BuildLogs {
  /** list of {line, at, step, level, stream, text} */
  lines: unknown;
  /** value of since for the next call */
  next: number;
  /** status of the build */
  status: string;
}

/** Files for copy steps; they are deleted a day after their last use */
export interface BuildFiles {
  hash: string;
  present: boolean;
  /** unpacked size of the tar */
  size_bytes: number;
}

/** Preview settings of a sandbox */
export interface Preview {
  enabled: boolean;
  /** whether links may be given to people without a key */
  public: boolean;
  /** ports that the server and the template allow, or any */
  ports: string;
  /** whether the server allows links for people without a key */
  sharingEnabled: boolean;
  /** false: the sandbox's network is blocked */
  reachable: boolean;
  /** domain of preview hosts: PORT-ID.DOMAIN */
  domain: string | null;
}

/** Changes of the preview settings */
export interface PreviewChange {
  enabled?: boolean;
  public?: boolean;
  /** revoke all existing links */
  rotate?: boolean;
}

/** A link to a port */
export interface PreviewLink {
  port: number;
  /** lifetime of the link (default: a day; a private link: an hour) */
  ttlSeconds?: number;
  /** link for the caller's own browser: works without public previews */
  private?: boolean;
}

/** A link to a preview */
export interface PreviewLinkMade {
  token: string;
  /** path on this server */
  path: string;
  url: string;
  /** address with an origin of its own; null if the server has no preview domain */
  hostUrl: string | null;
  port: number;
  private: boolean;
  expiresAt: string | null;
}

/** The sandbox to create */
export interface DaytonaCreate {
  autoStopInterval: number | null;
  autoPauseInterval: number | null;
  autoArchiveInterval: number | null;
  autoDeleteInterval: number | null;
  ttlMinutes: number | null;
  networkBlockAll: boolean | null;
  name: string | null;
  snapshot: string | null;
  user: string | null;
  target: string | null;
  networkAllowList: string | null;
  domainAllowList: string | null;
  linkedSandbox: string | null;
  outboundProxyUrl: string | null;
  env: Record<string, string> | null;
  labels: Record<string, string> | null;
  public: boolean | null;
  cpu: number | null;
  gpu: number | null;
  memory: number | null;
  disk: number | null;
  volumes: DaytonaSandboxVolume[] | null;
  buildInfo: unknown;
  secrets: unknown;
}

/** A volume in a sandbox */
export interface DaytonaSandboxVolume {
  volumeId: string;
  mountPath: string;
  subpath?: string | null;
}

/** A sandbox */
export interface DaytonaSandbox {
  id: string;
  organizationId: string;
  name: string;
  snapshot: string;
  user: string;
  labels: unknown;
  public: boolean;
  networkBlockAll: boolean;
  domainAllowList?: string;
  networkAllowList?: string;
  target: string;
  cpu: number;
  gpu: number;
  memory: number;
  disk: number;
  state: string;
  desiredState: string;
  errorReason?: string;
  recoverable: boolean;
  backupState: string;
  autoStopInterval: number;
  autoPauseInterval: number;
  autoArchiveInterval: number;
  autoDeleteInterval: number;
  autoDestroyAt?: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  lastActivityAt?: string | null;
  sandboxClass: string;
  toolboxProxyUrl: string;
  env: unknown;
  volumes: DaytonaSandboxVolume[];
}

/** All labels of a sandbox */
export interface DaytonaLabels {
  labels: Record<string, string>;
}

/** DaytonaExecute */
export interface DaytonaExecute {
  timeout: number | null;
  command: string;
  cwd: string | null;
  envs: Record<string, string> | null;
}

/** DaytonaCodeRun */
export interface DaytonaCodeRun {
  timeout: number | null;
  code: string;
  language: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  argv: string[] | null;
  envs: Record<string, string> | null;
}

/** The text to replace, and the files */
export interface DaytonaReplace {
  files: string[];
  pattern: string;
  newValue: string;
}

/** The files to read */
export interface DaytonaDownload {
  paths: string[];
}

/** The new limits */
export interface DaytonaResize {
  cpu: number | null;
  memory: number | null;
  disk: number | null;
}

/** The variables to set and unset */
export interface DaytonaEnv {
  set: Record<string, string> | null;
  unset: string[] | null;
  unsetValuePrefix: string | null;
}

/** The snapshot to take */
export interface DaytonaSnapshotTake {
  name: string;
  includeMemory: boolean | null;
}

/** A fork to create */
export interface DaytonaFork {
  name: string | null;
}

/** A snapshot to create from an image */
export interface DaytonaSnapshotCreate {
  name: string;
  imageName: string | null;
  entrypoint: string[] | null;
  cpu: number | null;
  gpu: number | null;
  memory: number | null;
  disk: number | null;
  buildInfo: unknown;
}

/** A language server */
export interface DaytonaLspServer {
  languageId: string;
  pathToProject: string;
}

/** A document of a project */
export interface DaytonaLspDocument {
  languageId: string;
  pathToProject: string;
  uri: string;
}

/** A position in a document */
export interface DaytonaLspCompletion {
  languageId: string;
  pathToProject: string;
  uri: string;
  position: unknown;
  context: unknown;
}

/** The secrets of a sandbox */
export interface DaytonaAttachSecrets {
  secrets: unknown;
}

/** DaytonaNetwork */
export interface DaytonaNetwork {
  networkBlockAll: boolean | null;
  networkAllowList: string | null;
  domainAllowList: string | null;
}

/** The pool to create */
export interface DaytonaWarmPoolCreate {
  snapshot: string;
  target: string | null;
  pool: number;
}

/** A pool of prepared sandboxes */
export interface DaytonaWarmPool {
  id: string;
  organizationId: string;
  snapshot: string;
  target: string;
  pool: number;
  currentSize: number;
  cpu: number;
  mem: number;
  disk: number;
  osUser: string;
  env: unknown;
  errorReason: string | null;
  createdAt: string | null;
  updatedAt: string | null;
}

/** The new size */
export interface DaytonaWarmPoolUpdate {
  pool: number;
}

/** A volume to create */
export interface DaytonaVolumeCreate {
  name: string;
}

/** A secret to store */
export interface DaytonaSecretCreate {
  name: string;
  value: string;
  description: string;
  hosts: string[];
}

/** The members to replace */
export interface DaytonaSecretChange {
  value: string;
  description: string;
  hosts: string[];
}

/** The sandbox to create */
export interface E2bNewSandbox {
  timeout: number;
  autoPauseMemory: boolean;
  allow_internet_access: boolean;
  templateID: string;
  autoPause: boolean;
  autoResume: E2bAutoResume;
  network: E2bNetwork;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  iam: unknown;
  volumeMounts: E2bVolumeMount[];
}

/** Whether a request to the sandbox wakes it */
export interface E2bAutoResume {
  enabled: boolean;
}

/** Destinations that a sandbox may reach, and access to its ports */
export interface E2bNetwork {
  allowOut?: string[];
  denyOut?: string[];
  maskRequestHost?: string;
  egressProxy?: unknown;
  rules?: unknown;
  httpsPorts?: unknown;
  allowPublicTraffic?: boolean;
  allow_internet_access?: boolean;
}

/** A volume and the folder where it is mounted */
export interface E2bVolumeMount {
  name: string;
  path: string;
}

/** Seconds from now, and whether the processes are resumed */
export interface E2bWake {
  timeout: number;
  memory: boolean;
}

/** Seconds from now */
export interface E2bTimeout {
  timeout: number;
}

/** Seconds from now */
export interface E2bRefresh {
  duration: number;
}

/** Whether to keep the memory */
export interface E2bPause {
  memory: boolean;
}

/** A session to open */
export interface DaytonaSessionCreate {
  sessionId: string;
}

/** A command to run */
export interface DaytonaSessionExec {
  command: string;
  runAsync: boolean | null;
  async: boolean | null;
}

/** Text for the standard input of a command */
export interface DaytonaSessionInput {
  data: string;
}

/** A terminal to open */
export interface DaytonaPtyCreate {
  id: string;
  cwd: string;
  cols: number;
  rows: number;
  envs: Record<string, string> | null;
}

/** The size of a terminal */
export interface DaytonaPtyResize {
  cols: number;
  rows: number;
}

/** The name of the snapshot */
export interface E2bSnapshotCreate {
  name: string;
}

/** The number of forks and their timeout in seconds */
export interface E2bFork {
  timeout: number;
  count: number;
}

/** A volume to create */
export interface E2bNewVolume {
  name: string;
}

/** Owner, group and mode of a file */
export interface E2bAttributes {
  uid: number;
  gid: number;
  mode: number;
}

/** A secret to store */
export interface E2bNewSecret {
  name: string;
  value: string;
  metadata: Record<string, string>;
}

/** A new value of a secret */
export interface E2bSecretUpdate {
  value: string;
  metadata: Record<string, string>;
}

/** Whether all projects may use the template */
export interface E2bTemplateUpdate {
  public: boolean;
}

/** A template and the tags to add */
export interface E2bTagsAssign {
  target: string;
  tags: string[];
}

/** A template and the tags to remove */
export interface E2bTagsRemove {
  name: string;
  tags: string[];
}

/** A template to build */
export interface E2bBuildRequest {
  name: string;
  alias: string;
  tags: string[];
  cpuCount: number;
  memoryMB: number;
  minFreeDiskMb: number;
}

/** The steps of a template */
export interface E2bBuildStart {
  fromImage: string;
  fromTemplate: string;
  startCmd: string;
  readyCmd: string;
  fromImageRegistry: unknown;
  force: boolean;
  steps: E2bStep[];
}

/** A step of a template */
export interface E2bStep {
  type: string;
  args: string[];
  filesHash: string;
  force: boolean;
}

/** A git call */
export interface DaytonaGitClone {
  path: string;
  url: string;
  branch: string | null;
  commit_id: string | null;
  username: string | null;
  password: string | null;
  depth: number | null;
  insecure_skip_tls: boolean | null;
}

/** A git call */
export interface DaytonaGitAdd {
  path: string;
  files: string[] | null;
}

/** A git call */
export interface DaytonaGitCommit {
  path: string;
  message: string;
  author: string | null;
  email: string | null;
  allow_empty: boolean | null;
}

/** A git call */
export interface DaytonaGitBranch {
  path: string;
  name: string;
}

/** A git call */
export interface DaytonaGitCheckout {
  path: string;
  branch: string;
}

/** A git call */
export interface DaytonaGitExchange {
  path: string;
  remote: string | null;
  branch: string | null;
  username: string | null;
  password: string | null;
  set_upstream: boolean | null;
}

/** A git call */
export interface DaytonaGitInit {
  path: string;
  initial_branch: string | null;
  bare: boolean | null;
}

/** A git call */
export interface DaytonaGitReset {
  path: string;
  mode: string | null;
  target: string | null;
  files: string[] | null;
}

/** A git call */
export interface DaytonaGitRestore {
  path: string;
  source: string | null;
  files: string[] | null;
  staged: boolean | null;
  worktree: boolean | null;
}

/** A git call */
export interface DaytonaGitRemote {
  path: string;
  name: string;
  url: string;
  fetch: boolean | null;
  overwrite: boolean | null;
}

/** A git call */
export interface DaytonaGitConfig {
  path: string | null;
  key: string;
  value: string;
  scope: string | null;
}

/** A git call */
export interface DaytonaGitUser {
  path: string | null;
  name: string;
  email: string;
  scope: string | null;
}

/** A git call */
export interface DaytonaGitLogin {
  username: string;
  password: string;
  host: string | null;
  protocol: string | null;
}

/** A context to create */
export interface DaytonaContextCreate {
  cwd: string | null;
  language: string | null;
}

/** What to clone, and where */
export interface GitClone {
  /** https, http, ssh, git, file, or user@host:path */
  url: string;
  /** target of the clone: a path that does not exist, or an empty folder */
  path: string;
  /** branch or tag */
  branch?: string;
  /** commit to check out after the clone */
  commit?: string;
  /** number of commits to fetch; 0: all */
  depth?: number;
  /** do not check certificates */
  insecure?: boolean;
  /** user name for the password; default git, which servers accept with tokens */
  username?: string;
  /** password or token for this call and its server; it is not stored */
  password?: string;
}

/** The state of the working tree */
export interface GitStatus {
  /** null if HEAD is detached */
  branch: string | null;
  /** null before the first commit */
  commit: string | null;
  upstream: string | null;
  /** commits that the upstream branch lacks */
  ahead: number;
  /** commits that only the upstream branch has */
  behind: number;
  clean: boolean;
  files: GitFile[];
}

/** A file with changes */
export interface GitFile {
  path: string;
  /** old path of a rename or copy */
  old_path: string | null;
  /** unchanged, modified, type, added, deleted, renamed, copied, unmerged or untracked */
  staged: string;
  /** same values as staged */
  worktree: string;
}

/** Commits, newest first */
export interface GitLog {
  items: GitCommit[];
}

/** A commit */
export interface GitCommit {
  hash: string;
  author: string;
  email: string;
  message: string;
  at: string | null;
}

/** Files to stage; deleted files are staged, too */
export interface GitAdd {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  /** paths without patterns; "." stages everything */
  files: string[];
}

/** Options of a commit */
export interface GitCommitRequest {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  message: string;
  /** name of the author (default: the configuration of git) */
  author?: string;
  email?: string;
  allow_empty?: boolean;
}

/** The new commit */
export interface GitHash {
  hash: string;
}

/** Local branches */
export interface GitBranches {
  current: string | null;
  branches: string[];
}

/** A branch to create at HEAD */
export interface GitBranch {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  name: string;
  /** check the branch out */
  checkout?: boolean;
}

/** What to check out */
export interface GitCheckout {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  /** branch, tag or commit */
  name: string;
}

/** What to push */
export interface GitPush {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  /** default origin */
  remote?: string;
  /** default: the current branch */
  branch?: string;
  set_upstream?: boolean;
  /** user name for the password; default git, which servers accept with tokens */
  username?: string;
  /** password or token for this call and its server; it is not stored */
  password?: string;
}

/** What to pull and merge */
export interface GitPull {
  /** path of the repository; a relative path is below the default folder; default: the default folder itself */
  path?: string;
  /** default origin */
  remote?: string;
  /** default: the upstream of the current branch */
  branch?: string;
  /** user name for the password; default git, which servers accept with tokens */
  username?: string;
  /** password or token for this call and its server; it is not stored */
  password?: string;
}
