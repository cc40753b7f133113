// SPDX-License-Identifier: Apache-2.0
// What the API takes and answers. Written by tools/sdk_types.py --write from docs/api/openapi.json.

/** Error */
export interface Error {
  error: Record<string, unknown>;
}

/** What to make */
export interface SandboxCreate {
  /** name or id; else the server's default */
  template?: string;
  /** unique in the project; else generated */
  name?: string;
  /** a label of where; kept as it is */
  region?: string;
  /** for finding it again */
  labels?: Record<string, string>;
  /** environment of every command, over the template's; never shown again */
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  /** false = no network at all */
  internet?: boolean;
  /** the same as internet, by name */
  network?: "blocked" | "internet";
  /** false = nothing of it is seen (default true) */
  previewEnabled?: boolean;
  /** links to its previews may be shared (default false) */
  previewPublic?: boolean;
  /** which addresses it may reach; else all that the server lets its sandboxes reach */
  egress?: SandboxEgress;
  /** id or name of a config of /accounts/me/sandboxes, for what is not given here */
  config?: string;
  /** name or id: begin with its files, on its template */
  snapshot?: string;
  /** exempt from the idle reaper */
  persistent?: boolean;
  /** so long after its creation an ephemeral one is deleted and a persistent one stopped, its files kept; 0 = never */
  timeout_ms?: number;
  /** delete it when nobody used it for so long; 0 = the server's */
  idle_reap_ms?: number;
  /** whatever it does: an ephemeral one is deleted so long after its creation, a persistent one stopped so long after its last start; 0 = the server's */
  lifetime_max_ms?: number;
  /** pause it when nobody used it for so long; 0 = the server's, -1 = never */
  autoPauseMs?: number;
  /** stop it when nobody used it for so long; 0 = the server's, -1 = never */
  autoStopMs?: number;
  /** delete it so long after it was stopped, persistent or not; 0 = never */
  autoDeleteMs?: number;
  /** move its files to the blob store so long after it was stopped; 0 = never */
  autoArchiveMs?: number;
  /** name or id of one to write to, at /workspace */
  volume?: string;
  /** or several, each where it is wanted */
  volumes?: SandboxVolume[];
  /** KEY: the volume home-KEY is at /home/user, and made if need be */
  persistentHome?: string;
  /** GiB that volume can hold, when it is made (default: no limit) */
  persistentDiskGb?: number;
}

/** Limits; what is left out or 0 is inherited from project and platform */
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

/** Whom a sandbox may reach */
export interface SandboxEgress {
  /** addresses, ranges and hosts that it may reach, whatever is denied; a host's name (by TLS on port 443, and HTTP on 80) needs all to be denied */
  allow?: string[];
  /** that it may not; "0.0.0.0/0" is all of them */
  deny?: string[];
}

/** A volume, and where it is to be */
export interface SandboxVolume {
  /** name or id */
  volume: string;
  /** absolute (default /workspace) */
  path?: string;
  /** any number of sandboxes may read it */
  read_only?: boolean;
  /** a folder of it, made when it is missing (default all of it) */
  subpath?: string;
}

/** One isolated computer */
export interface Sandbox {
  id: string;
  name: string;
  /** what it really is: pending creating started paused stopping stopped archived deleting deleted failed */
  state: string;
  /** what was asked for last */
  desired_state: string;
  /** why it ended or was paused: none user idle lifetime oom exit host_lost error budget disk */
  reason: string;
  /** ok, or unresponsive: it does not answer, and calls that need it are refused until it does; null: it does not run */
  agent: string | null;
  template: string;
  provider: string;
  /** what really stands around it */
  isolation: string;
  region: string;
  project: string;
  /** blocked or internet */
  network: string;
  /** object of texts */
  labels: unknown;
  /** names of its environment; values are never shown */
  env_names: string[];
  resources: Resources;
  persistent: boolean;
  created_at: string | null;
  started_at: string | null;
  last_activity_at: string | null;
  timeout_at: string | null;
  /** since its start; 0 when stopped */
  uptime_ms: number;
  idle_reap_ms: number;
  lifetime_max_ms: number;
  /** paused after so long without use; 0 = never */
  autoPauseMs: number;
  /** stopped after so long without use; 0 = never */
  autoStopMs: number;
  /** 0 = never */
  autoArchiveMs: number;
  /** deleted so long after a stop; 0 = never */
  autoDeleteMs: number;
  /** not paused, stopped or deleted for idleness before that */
  awake_until: string | null;
  preview: SandboxPreview;
  egress: SandboxEgress;
  last_event: LastEvent;
  /** null but in the answers to GET of one sandbox and of a list */
  made_from: SandboxOrigin | null;
  /** what its files lie on, the uppermost first, its template last; at most 64 snapshots; null but in the answer to GET of one sandbox */
  lineage: LineageStep[] | null;
  /** that it has; null as made_from is */
  volumes: AttachedVolume[] | null;
}

/** The limits that are in force */
export interface Resources {
  /** vCPUs */
  cpu: number;
  /** MiB */
  memory_mb: number;
  /** MiB */
  disk_mb: number;
  /** processes and threads */
  pids: number;
  /** this host cannot enforce disk_mb */
  disk_advisory: boolean;
}

/** What of it may be seen; more at /preview */
export interface SandboxPreview {
  enabled: boolean;
  public: boolean;
  /** the server's and the template's, or any; null but in the answer to GET of one sandbox */
  ports: string | null;
  /** the server has a SANDBOX_PREVIEW_SECRET */
  sharingEnabled: boolean;
}

/** What happened to it last */
export interface LastEvent {
  at: string | null;
  text: string;
}

/** What a sandbox was made of */
export interface SandboxOrigin {
  /** template or snapshot; a fork is of a snapshot, too */
  kind: string | null;
  /** its id */
  snapshot: string | null;
  /** null: it is removed */
  snapshot_name: string | null;
  /** id of the one that the snapshot was taken of: of a fork, the one that was forked */
  sandbox: string | null;
  sandbox_name: string | null;
}

/** What files lie on */
export interface LineageStep {
  /** snapshot or template */
  kind: string;
  id: string;
  /** null: it is removed */
  name: string | null;
  /** id of the one that the snapshot was taken of */
  sandbox: string | null;
  sandbox_name: string | null;
}

/** A volume of a sandbox */
export interface AttachedVolume {
  /** its name */
  volume: string;
  volume_id: string;
  /** where it is inside */
  path: string;
  read_only: boolean;
}

/** One page of sandboxes */
export interface SandboxList {
  items: Sandbox[];
  next_page: string | null;
}

/** How long idleness is to do nothing to it */
export interface SandboxKeepalive {
  /** from now; never shortens what was given before */
  timeoutMs: number;
}

/** How long idleness is to do nothing to it */
export interface SandboxPersist {
  /** from now; 0 ends it, and a keepalive with it */
  hours: number;
}

/** What a sandbox uses now */
export interface Stats {
  sampled_at: string | null;
  uptime_ms: number;
  /** since its start */
  cpu_usage_us: number;
  /** of one vCPU, on average since its start; take two samples of cpu_usage_us for a shorter time */
  cpu_percent: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  /** files on top of the template; -1 = not known */
  disk_bytes: number;
  disk_limit_bytes: number;
  pids: number;
  pids_limit: number;
  network_in_bytes: number;
  network_out_bytes: number;
  oom_kills: number;
}

/** The newest samples of a sandbox, one of now among them while it runs */
export interface StatsHistory {
  /** oldest first */
  items: StatsSample[];
  memory_limit_bytes: number;
  disk_limit_bytes: number;
}

/** What a sandbox used at a time */
export interface StatsSample {
  at: string | null;
  /** of one vCPU, since the sample before; of the first one since the sandbox's start */
  cpu_percent: number;
  /** since its start */
  cpu_usage_us: number;
  memory_bytes: number;
  /** files on top of the template; -1 = not known */
  disk_bytes: number;
  pids: number;
  network_in_bytes: number;
  network_out_bytes: number;
}

/** How to take a snapshot */
export interface SnapshotCreate {
  /** unique in the project; else its id */
  name?: string;
  /** answer when it has come to the disk (default true); the sandbox does not stand still for that */
  sync?: boolean;
  /** with its processes (default false): refused with what this host lacks */
  memory?: boolean;
  /** and begin to make a backup of it in the blob store, which outlives it and the server */
  backup?: boolean;
}

/** The files of a sandbox as they were at one moment */
export interface Snapshot {
  id: string;
  name: string;
  project: string;
  /** id of the one it was taken of */
  sandbox: string;
  sandbox_name: string;
  /** id of the snapshot that the sandbox lay on; null: on its template alone */
  parent: string | null;
  template: string;
  provider: string;
  /** making ready removing lost */
  state: string;
  /** rename: it was stopped; switch: its processes got another root; copy: its files were copied while they stood still */
  method: string;
  /** of a copy: what was in the way of a switch */
  because: string | null;
  /** layers on top of the template */
  depth: number;
  /** how long its processes stood still */
  frozen_ms: number;
  created_at: string | null;
  /** a backup of it is ready */
  backup: boolean;
  /** that are made of it or being made; at /api/sandbox/backups */
  backups: SnapshotBackup[];
  /** what it lies on, the uppermost first, its template last; at most 64 snapshots; null but in the answer to GET of one snapshot */
  lineage: LineageStep[] | null;
}

/** A backup of a snapshot */
export interface SnapshotBackup {
  id: string;
  name: string;
  /** making or ready */
  state: string;
  /** its name in the blob store */
  blob: string;
}

/** How many forks to make */
export interface Fork {
  /** how many (default 1) */
  count?: number;
  /** of several: NAME-1, NAME-2 …; else generated */
  name?: string;
}

/** The forks, and the snapshot they lie on */
export interface Forked {
  items: Sandbox[];
  snapshot: Snapshot;
  /** that each has as the first one has them: those that it reads */
  volumes: AttachedVolume[];
  /** that the first one writes to, and the forks do not have */
  volumes_left_out: AttachedVolume[];
}

/** One page of snapshots */
export interface SnapshotList {
  items: Snapshot[];
  next_page: string | null;
}

/** Where to restore to */
export interface SnapshotRestore {
  /** a new sandbox with its files, on its template; its own stays as it is (default false: its own, or a new one when that is deleted) */
  new?: boolean;
  /** a new one with this name */
  name?: string;
}

/** How to make a backup */
export interface SnapshotExport {
  /** of the backup, unique in the project; else its id */
  name?: string;
  /** the whole filesystem, not only what differs from the template: it can be imported where the template is not */
  full?: boolean;
}

/** A snapshot as one file of the blob store */
export interface Backup {
  id: string;
  name: string;
  project: string;
  /** id of what it was made of, which may be gone or another server's */
  snapshot: string;
  snapshot_name: string;
  template: string;
  /** making ready failed removing */
  state: string;
  /** how far it is, or why it failed */
  state_text: string | null;
  /** of the whole file */
  sha256: string | null;
  /** its name in the blob store */
  blob: string;
  /** bytes of the file */
  size: number;
  /** how many are in it */
  files: number;
  /** their bytes, unpacked */
  files_bytes: number;
  /** the template is in it, too */
  full: boolean;
  created_at: string | null;
}

/** Which backup becomes a snapshot */
export interface SnapshotImport {
  /** name or id */
  backup: string;
  /** of the snapshot, unique in the project; else its id */
  name?: string;
  /** one with the same files as that which the backup was made on, where it has another name here; a full backup makes one of this name where there is none */
  template?: string;
}

/** One page of backups */
export interface BackupList {
  items: Backup[];
  next_page: string | null;
}

/** Which file is kept */
export interface ArtifactKeep {
  /** a file: absolute, or below the default folder */
  path: string;
  /** who reads it; else the template's */
  user?: string;
  /** for how long; 0 = as the project has it */
  keep_seconds?: number;
}

/** A file of a sandbox that is kept */
export interface StoredArtifact {
  id: string;
  project: string;
  /** id of the one it is of, which may be gone */
  sandbox: string;
  sandbox_name: string;
  /** of Atoll-Run */
  run: string | null;
  /** number of the command that made it; 0 = not told */
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
  /** then it is removed; null = it is kept */
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

/** For how long an address is good */
export interface ArtifactUrl {
  /** at most seven days */
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
  /** folder to run in; relative ones are below the default */
  cwd?: string;
  /** over the sandbox's own */
  env?: Record<string, string>;
  /** name or number; else the template's */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** kill it and all it started after so long; 0 = the server's default */
  timeout_ms?: number;
  /** kept per stream in a collected result */
  outputLimitBytes?: number;
  /** a job: answer at once, with a resultId to ask for its end by */
  background?: boolean;
  /** of a job: who may ask for it; else the header Atoll-Conversation */
  conversation?: string;
  /** of a job: where its end is told */
  origin?: JobOrigin;
  /** kill it when this connection breaks; else it goes on */
  end_on_disconnect?: boolean;
  /** on a terminal; its output is all stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder: its files that were made or changed meanwhile are kept, and told before the end */
  artifacts?: string;
  /** what lists call it */
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

/** What a command did */
export interface Result {
  /** exit code 0 and in time */
  ok: boolean;
  /** what ran it: bash, sh, program, python … */
  runtime: string;
  /** 0 when nothing could be started */
  process: number;
  /** 128 + signal when one ended it; 127 when there is no such program */
  exit_code: number;
  /** such as SIGKILL */
  signal: string | null;
  timed_out: boolean;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause: string;
  duration_ms: number;
  /** true when an interpreter that waited for code ran it; else absent */
  warm?: boolean;
  /** the first and last half of outputLimitBytes, and a line between them that tells how many bytes were cut */
  stdout: string;
  /** base64 when stdout is not UTF-8 */
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  /** of code in a context, as all that follows */
  contextId?: string;
  /** which block of its interpreter it was */
  execution_count?: number;
  /** its interpreter has ended: its state is gone */
  context_ended?: boolean;
  /** what it shows: its value, figures, what it displays */
  results?: CodeResult[];
  /** null when it did not fail */
  error?: CodeError;
  /** that were kept, when the call asked for it */
  artifacts?: StoredArtifact[];
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

/** A block of code */
export interface Code {
  language: "python" | "javascript" | "typescript" | "bash";
  /** at most 128 KiB */
  code: string;
  /** the context that runs it and keeps its state; default: the language's own, made when it is not there */
  contextId?: string;
  /** folder to run in; relative ones are below the default */
  cwd?: string;
  /** over the sandbox's own */
  env?: Record<string, string>;
  /** name or number; else the template's */
  user?: string;
  /** text for its standard input */
  stdin?: string;
  /** bytes for its standard input */
  stdin_base64?: string;
  /** keep standard input open for POST …/processes/:process/stdin */
  stdin_open?: boolean;
  /** kill it and all it started after so long; 0 = the server's default */
  timeout_ms?: number;
  /** kept per stream in a collected result */
  outputLimitBytes?: number;
  /** a job: answer at once, with a resultId to ask for its end by */
  background?: boolean;
  /** of a job: who may ask for it; else the header Atoll-Conversation */
  conversation?: string;
  /** of a job: where its end is told */
  origin?: JobOrigin;
  /** kill it when this connection breaks; else it goes on */
  end_on_disconnect?: boolean;
  /** on a terminal; its output is all stdout */
  tty?: boolean;
  rows?: number;
  columns?: number;
  /** folder: its files that were made or changed meanwhile are kept, and told before the end */
  artifacts?: string;
  /** what lists call it */
  label?: string;
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

/** How many entries or bytes it was */
export interface Count {
  count: number;
}

/** A signal for a process */
export interface Signal {
  /** SIGTERM, TERM or 15 */
  signal: string;
  /** everything it started, not only its process group */
  tree?: boolean;
}

/** Files and folders */
export interface FileList {
  items: FileEntry[];
  truncated: boolean;
  /** of GET: when it was asked for, unix ms by the sandbox's clock */
  listed_at_ms: number;
}

/** A file or folder */
export interface FileEntry {
  /** as asked for, or relative to the listed folder */
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
  /** a link's target */
  link: string | null;
}

/** A folder to make */
export interface FileMkdir {
  /** absolute, or below the default folder */
  path: string;
  user?: string;
  /** octal (default 0755) */
  mode?: string;
  /** missing parents too; one that is there is fine */
  parents?: boolean;
}

/** A file and its new path */
export interface FileMove {
  /** absolute, or below the default folder */
  path: string;
  /** the new path */
  target: string;
  user?: string;
  /** make the target's missing parents */
  parents?: boolean;
  /** fail when the target exists */
  no_replace?: boolean;
  /** copy folders too */
  recursive?: boolean;
}

/** A file to remove */
export interface FileRemove {
  /** absolute, or below the default folder */
  path: string;
  user?: string;
  recursive?: boolean;
}

/** A file to read as text */
export interface FileRead {
  /** absolute, or below the default folder */
  path: string;
  user?: string;
  /** first byte */
  offset?: number;
  /** bytes at most (default 1 MiB) */
  length?: number;
}

/** Bytes of a file inside JSON */
export interface FileContent {
  path: string;
  content: string;
  /** base64 when it is not UTF-8 */
  encoding: string;
  /** bytes of the whole file */
  size: number;
  /** first byte, or first line */
  offset: number;
  /** bytes here, of a read by bytes */
  length: number;
  /** lines here, of a read by lines */
  lines: number;
  total_lines: number;
  /** of the next page; null at the end */
  next_offset: number | null;
  /** there is more */
  truncated: boolean;
}

/** A folder, and what is wanted of it */
export interface FilePack {
  /** absolute, or below the default folder */
  path: string;
  /** relative to the folder; a folder comes without what it holds, what is not there or may not be read is left out */
  names: string[];
  user?: string;
}

/** A file to write */
export interface FileWrite {
  /** absolute, or below the default folder */
  path: string;
  user?: string;
  /** text */
  content?: string;
  /** bytes, instead of content */
  content_base64?: string;
  /** octal, of a new file */
  mode?: string;
  append?: boolean;
  /** fail when the file exists */
  no_replace?: boolean;
}

/** A terminal to open */
export interface Terminal {
  /** of the window: one of that name that is open is attached to; default: a new one with a name of its own */
  name?: string;
  /** default 24 */
  rows?: number;
  /** default 80 */
  cols?: number;
  /** it closes after so long without input and output, unless something runs in it; default: the project's */
  ttl_s?: number;
  /** keep what the window shows, from what is left of its output on, as all new windows do where the project's settings say record_terminals; listed by /api/sandbox/recordings when it has closed */
  record?: boolean;
  /** a shell line; else a login shell */
  command?: string;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  /** sessionId of an open one: only a new path to it */
  session?: string;
}

/** An open terminal */
export interface TerminalSession {
  sessionId: string;
  /** of its WebSocket, with a ticket instead of a key: for one use within a minute */
  path: string;
  process: number;
  /** of the window; null when only the session was given */
  name: string | null;
  /** false: it was open already */
  created: boolean;
}

/** Templates */
export interface TemplateList {
  items: Template[];
}

/** What sandboxes start from */
export interface Template {
  id: string;
  name: string;
  /** null: everybody's */
  project: string | null;
  description: string;
  /** pending building ready failed */
  state: string;
  /** progress, or why it failed */
  state_text: string;
  base_image: string;
  runtime: string;
  isolation: string;
  /** that commands run as by default */
  user: string;
  workdir: string;
  /** object of texts */
  env: unknown;
  /** list of texts */
  entrypoint: unknown;
  /** list of numbers */
  ports: unknown;
  /** that told its build that the entrypoint was ready */
  ready_command: string | null;
  /** by steps, on top of base_image */
  built: boolean;
  /** 0 = inherited */
  resources: unknown;
  /** min, target and max; 0 = none */
  pool: unknown;
  /** interpreters that its sandboxes keep ready */
  warm: unknown;
  /** pause_ms, stop_ms, reap_ms and lifetime_max_ms; 0 = inherited, -1 = never */
  idle: unknown;
  size_bytes: number;
  created_at: string | null;
  updated_at: string | null;
}

/** A template from a registry's image or another template */
export interface TemplateCreate {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  description?: string;
  /** what it is for: a label */
  runtime?: string;
  /** refused unless it is what the server gives */
  isolation?: string;
  /** that commands run as by default */
  user?: string;
  /** an absolute path */
  workdir?: string;
  /** replaces the whole environment */
  env?: Record<string, string>;
  /** interpreters that its sandboxes keep ready for code */
  warm?: TemplateWarm[];
  /** program and arguments that a sandbox starts with */
  entrypoint?: string[];
  /** list of up to 64 numbers from 1 to 65535 */
  ports?: unknown;
  name: string;
  /** reference in a registry; either this or `from` */
  image?: string;
  /** at the registry of image */
  login?: RegistryLogin;
  /** template whose root filesystem it shares */
  from?: string;
}

/** What a sandbox gets that asks for nothing else */
export interface TemplateResources {
  /** vCPUs; 0 = inherited */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** How many sandboxes are prepared before anybody asks */
export interface PoolSize {
  /** held even when nobody asks; default: the target */
  min?: number;
  /** held while it is used; 0 = no pool */
  target?: number;
  /** that misses let it grow to; default: twice the target */
  max?: number;
  /** the server's default is the only one that there is */
  internet?: boolean;
}

/** What becomes of sandboxes that nobody uses; what is left out stays */
export interface IdleTimes {
  /** paused after so long without use; -1 = never, 0 = as the project or the server says */
  pause_ms?: number;
  /** stopped after so long without use; the same */
  stop_ms?: number;
  /** ephemeral ones are deleted after so long without use */
  reap_ms?: number;
  /** ephemeral ones are deleted at this age, persistent ones stopped so long after their last start */
  lifetime_max_ms?: number;
}

/** An interpreter that waits for code in each sandbox */
export interface TemplateWarm {
  /** python or javascript */
  language: string;
  /** modules that it has imported already */
  imports?: string[];
}

/** Who asks a registry for an image */
export interface RegistryLogin {
  username: string;
  /** or a token; kept by nobody */
  password: string;
}

/** How many were missing */
export interface TemplatesSeeded {
  added: number;
}

/** What is given replaces what was */
export interface TemplateChange {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  description?: string;
  /** what it is for: a label */
  runtime?: string;
  /** refused unless it is what the server gives */
  isolation?: string;
  /** that commands run as by default */
  user?: string;
  /** an absolute path */
  workdir?: string;
  /** replaces the whole environment */
  env?: Record<string, string>;
  /** interpreters that its sandboxes keep ready for code */
  warm?: TemplateWarm[];
  /** program and arguments that a sandbox starts with */
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
  /** its first characters */
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  /** the member's, which bounds the scopes */
  role: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

/** A key to make */
export interface KeyCreate {
  name: string;
  /** sandbox:read and the like; else all but admin that the caller has, and the member's role allows */
  scopes?: string[];
  /** user whom it belongs to: it may never do more than his role, and ends with his membership */
  member?: string;
  /** else never */
  expires_at?: string | null;
  /** the same from now on; 0 = never */
  expires_in_ms?: number;
}

/** A new key, with its text */
export interface KeyMade {
  id: string;
  name: string;
  /** its first characters */
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  /** the member's, which bounds the scopes */
  role: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  /** its text, told only now */
  key: string;
  /** the same key, as clients of E2B's API want it written */
  e2b_key: string;
}

/** What becomes of the old text */
export interface KeyRotate {
  /** how long the old text is valid still, at most 7 days; 0 = no longer */
  grace_ms?: number;
}

/** Projects by name */
export interface ProjectList {
  items: Project[];
  next_page: string | null;
}

/** Owns keys, templates and sandboxes; an admin acts in it by the header X-Atoll-Project */
export interface Project {
  id: string;
  name: string;
  sandboxes_max: number;
  /** 0 = the platform's */
  storage_max_mb: number;
  defaults: Limits;
  maximums: Limits;
  /** it is being deleted */
  closing: boolean;
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

/** A project to make */
export interface ProjectCreate {
  name: string;
  /** 0 = the platform's; only by an admin of the platform */
  sandboxes_max?: number;
  /** MiB of its templates, snapshots, backups and volumes together; 0 = the platform's; only by an admin of the platform */
  storage_max_mb?: number;
  /** limits of a sandbox that asks for none */
  defaults?: Limits;
  /** that no sandbox exceeds; only by an admin of the platform */
  maximums?: Limits;
  /** else generated */
  id?: string;
  /** user who becomes its first member, an admin */
  owner?: string;
}

/** What is given replaces what was */
export interface ProjectChange {
  name?: string;
  /** 0 = the platform's; only by an admin of the platform */
  sandboxes_max?: number;
  /** MiB of its templates, snapshots, backups and volumes together; 0 = the platform's; only by an admin of the platform */
  storage_max_mb?: number;
  /** limits of a sandbox that asks for none */
  defaults?: Limits;
  /** that no sandbox exceeds; only by an admin of the platform */
  maximums?: Limits;
}

/** What a project keeps, as it was measured last, and what it may keep */
export interface ProjectStorage {
  /** 0 = no limit */
  limit_mb: number;
  /** of all that follow */
  bytes: number;
  templates_bytes: number;
  snapshots_bytes: number;
  /** archived sandboxes among them */
  backups_bytes: number;
  volumes_bytes: number;
}

/** What a rotation has done */
export interface SecretRotation {
  /** values that were encrypted anew */
  resealed: number;
}

/** A block of code */
export interface GatewayExecute {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  code: string;
  /** default python */
  language?: "python" | "javascript" | "typescript" | "bash";
  stdin?: string;
  env?: Record<string, string>;
  /** 0 = the server's default */
  timeout_ms?: number;
  /** kept per stream */
  outputLimitBytes?: number;
  /** folder of the workspace: its files that were made or changed meanwhile are kept, and told before the end */
  artifacts?: string;
  /** a job: answer at once, with a resultId */
  background?: boolean;
  /** of a job: who may ask for it */
  conversation?: string;
  /** of a job: where its end is told */
  origin?: JobOrigin;
}

/** What a command did, and the files it left */
export interface GatewayResult {
  /** exit code 0 and in time */
  ok: boolean;
  /** what ran it: bash, sh, program, python … */
  runtime: string;
  /** 0 when nothing could be started */
  process: number;
  /** 128 + signal when one ended it; 127 when there is no such program */
  exit_code: number;
  /** such as SIGKILL */
  signal: string | null;
  timed_out: boolean;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause: string;
  duration_ms: number;
  /** true when an interpreter that waited for code ran it; else absent */
  warm?: boolean;
  /** the first and last half of outputLimitBytes, and a line between them that tells how many bytes were cut */
  stdout: string;
  /** base64 when stdout is not UTF-8 */
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  /** files of the workspace that were made or changed meanwhile: path (in the workspace), size and media_type of each; when the call asked to keep them, all of those that are kept */
  artifacts: StoredArtifact[];
}

/** A shell command */
export interface GatewayBash {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** a shell line */
  command: string;
  stdin?: string;
  env?: Record<string, string>;
  /** 0 = the server's default */
  timeout_ms?: number;
  /** kept per stream */
  outputLimitBytes?: number;
  /** folder of the workspace: its files that were made or changed meanwhile are kept, and told before the end */
  artifacts?: string;
  /** a job: answer at once, with a resultId */
  background?: boolean;
  /** of a job: who may ask for it */
  conversation?: string;
  /** of a job: where its end is told */
  origin?: JobOrigin;
}

/** Lines of a text file */
export interface GatewayRead {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** relative to the workspace */
  path: string;
  /** first line (default 1) */
  offset?: number;
  /** lines at most (default 2000) */
  limit?: number;
}

/** Bytes of a file */
export interface GatewayReadBinary {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** relative to the workspace */
  path: string;
  /** first byte */
  offset?: number;
  /** bytes at most (default 8 MiB) */
  limit?: number;
}

/** A file to write */
export interface GatewayWrite {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** relative to the workspace */
  path: string;
  content?: string;
  /** instead of content */
  content_base64?: string;
  append?: boolean;
}

/** What to search for */
export interface GatewayGrep {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** a regular expression */
  pattern: string;
  /** file or folder; else all */
  path?: string;
  /** only files of such a name */
  glob?: string;
  ignore_case?: boolean;
  /** default 200 */
  max_results?: number;
}

/** Lines that match */
export interface GatewayMatches {
  matches: GatewayMatch[];
  truncated: boolean;
}

/** A line that matches */
export interface GatewayMatch {
  /** relative to the workspace */
  path: string;
  /** from 1 */
  line: number;
  /** at most 1000 bytes of the line */
  text: string;
  /** base64 when it is not UTF-8 */
  encoding: string;
}

/** A pattern of paths */
export interface GatewayGlob {
  /** default: "default" */
  tenant_id?: string;
  /** its sandbox is made on first use */
  session_id: string;
  /** ? * [a-z], and ** across folders */
  pattern: string;
  /** where; else the workspace */
  path?: string;
  /** paths at most (default 1000) */
  limit?: number;
}

/** Paths that match */
export interface GatewayPaths {
  /** relative to the path searched */
  paths: string[];
  truncated: boolean;
}

/** Files for a session's workspace */
export interface GatewayCopy {
  files: GatewayFile[];
}

/** A file and what is in it */
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
  /** how long a call that needs approval waits for it (default 20 s) */
  approvalWaitMs?: number;
  /** id or name of a sandbox; or */
  sandboxId?: string;
  /** key of a lease, whose sandbox is made on first use; or */
  lease?: string;
  /** a session, as of /v1/sandbox */
  sessionId?: string;
  /** of the session; default: "default" */
  tenantId?: string;
  /** of /accounts/me/sandboxes: what the lease's sandbox is like, and what tools may do; else what the sandbox was made from */
  config?: string;
  /** whom its background jobs belong to */
  conversationId?: string;
  /** where the turn came from: the ends of its background jobs are told there, and who approves a call sees it */
  origin?: JobOrigin;
  /** by the tool's inputSchema */
  input?: unknown;
}

/** What a tool gives back */
export interface ToolResult {
  /** a list of text, image and resource, as in MCP */
  content: unknown;
  /** by the tool's outputSchema */
  structuredContent: unknown;
  /** with status 202: nothing was done, see /v1/approvals; the same call, made again, goes on */
  approvalId: string;
}

/** Calls, the newest first */
export interface ApprovalList {
  items: Approval[];
}

/** A call that needs approval */
export interface Approval {
  id: string;
  tool: string;
  /** of the call, as JSON text; the end of a long one is left out */
  input: string;
  /** pending approved refused used */
  state: string;
  sandboxId: string | null;
  conversationId: string | null;
  /** where the turn of the call came from, as its caller says */
  origin: JobOrigin | null;
  /** that asks */
  keyId: string;
  note: string | null;
  /** id of a key */
  decidedBy: string | null;
  createdAt: string | null;
  decidedAt: string | null;
  /** pending: to be decided by then; approved: to be used */
  expiresAt: string | null;
}

/** What to tell */
export interface ApprovalDecision {
  /** for who asked */
  note?: string;
}

/** Skills by name */
export interface SkillList {
  items: Skill[];
}

/** A skill that the project keeps */
export interface Skill {
  name: string;
  description: string;
  /** how many */
  files: number;
  /** bytes */
  size: number;
  updatedAt: string | null;
}

/** A skill */
export interface SkillPut {
  /** when to use it */
  description?: string;
  /** one of them SKILL.md; 2 MiB in all */
  files: SkillFile[];
}

/** A file of a skill */
export interface SkillFile {
  /** below the skill's folder */
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

/** Whether the server works */
export interface Health {
  status: string;
  version: string;
}

/** Whether a sandbox can be made now; 503 when not, with the reason and the cure */
export interface Readiness {
  /** ready, not_ready or draining */
  status: string;
  version: string;
  provider: string;
  checked_at?: string | null;
  checks: ReadinessCheck[];
  /** what does not keep sandboxes from being made, such as a host without a default route */
  warnings?: ReadinessFailure[];
  error?: ReadinessFailure;
}

/** One check of a round */
export interface ReadinessCheck {
  /** what was tried */
  name: string;
  ok: boolean;
  /** milliseconds */
  took_ms: number;
  /** stable, for machines */
  code?: string;
  reason?: string;
  cure?: string;
}

/** What is wrong, in the form of every error */
export interface ReadinessFailure {
  /** of the first check that failed */
  code: string;
  /** the reason */
  message: string;
  /** the cure */
  hint: string;
}

/** Whose sandbox, and what it is like should it have to be made */
export interface LeaseAcquire {
  /** of a user, a workspace, a chat, a session */
  key: string;
  /** of the sandbox, should one be made; else the server's default */
  template?: string;
  /** the same; never shown again */
  env?: Record<string, string>;
  /** the same; atoll.lease is added */
  labels?: Record<string, string>;
  resources?: ResourcesRequest;
  /** the same; false = no network at all */
  internet?: boolean;
  /** the same; exempt from the idle reaper */
  persistent?: boolean;
  /** false: a fresh filesystem; what runs is ended, and the sandbox reset or, where that cannot be, replaced. Default true; of a run (header Atoll-Run) false, unless the files are that run's already */
  continue?: boolean;
  /** for others who make it; 0 = 30 s */
  wait_ms?: number;
  /** the same as the header Idempotency-Key */
  idempotency_key?: string;
  /** NAME: the volume home-NAME is at /home/user of the sandbox that is made, and outlives it */
  persistentHome?: string;
  /** GiB that volume can hold, when it is made (default: no limit) */
  persistentDiskGb?: number;
  /** what is given replaces that member of the lease's specification, and a sandbox that was made otherwise is replaced, with its files; without it, 409 names what differs from the sandbox that is there */
  update?: boolean;
}

/** A key and its sandbox, which takes commands */
export interface LeaseAcquired {
  key: string;
  /** the same as key */
  username: string;
  /** null while it has none */
  sandbox_id: string | null;
  /** ready, creating, or empty: its sandbox has gone, and the next acquire makes another one */
  status: string;
  /** its sandbox does not run; acquire wakes it */
  paused: boolean;
  /** provider */
  type: string | null;
  /** the server that has the sandbox, and works on it */
  node: string | null;
  /** whose files it has */
  run: string | null;
  /** grows with every change */
  lock_version: number;
  /** that its sandboxes were active; paused or stopped time is free */
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  /** not idle before */
  keep_until: string | null;
  /** this call has made the sandbox */
  created: boolean;
  /** this call has given it the files of a new one */
  reset: boolean;
}

/** One page of leases */
export interface LeaseList {
  items: Lease[];
  next_page: string | null;
}

/** A key and its sandbox */
export interface Lease {
  key: string;
  /** the same as key */
  username: string;
  /** null while it has none */
  sandbox_id: string | null;
  /** ready, creating, or empty: its sandbox has gone, and the next acquire makes another one */
  status: string;
  /** its sandbox does not run; acquire wakes it */
  paused: boolean;
  /** provider */
  type: string | null;
  /** the server that has the sandbox, and works on it */
  node: string | null;
  /** whose files it has */
  run: string | null;
  /** grows with every change */
  lock_version: number;
  /** that its sandboxes were active; paused or stopped time is free */
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  /** not idle before */
  keep_until: string | null;
  /** what its sandbox is made like, each time; its environment is kept with it, and not told. null: of before leases kept it */
  specification: unknown;
}

/** How many there were */
export interface LeasesDeleted {
  deleted: number;
}

/** For how long */
export interface LeaseKeepAlive {
  /** not idle for so long; 0 = as after any other use */
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
  /** id or e-mail address, compared as it is */
  user: string;
  /** viewer, member or admin */
  role: string;
}

/** A member's new role */
export interface MemberChange {
  /** viewer, member or admin */
  role: string;
}

/** What holds in the project */
export interface Settings {
  /** a sandbox is paused after so long without use; -1 = never; 0 = the platform's */
  idle_pause_seconds: number;
  /** a sandbox is stopped after so long without use; -1 = never; 0 = the platform's */
  idle_stop_seconds: number;
  /** an ephemeral sandbox is removed after so long without use; 0 = the platform's */
  idle_reap_seconds: number;
  /** an ephemeral sandbox is removed at this age, a persistent one stopped so long after its last start; 0 = the platform's */
  lifetime_max_seconds: number;
  /** a terminal without a byte for so long is closed; 0 = the platform's */
  terminal_ttl_seconds: number;
  /** MiB of artifacts that are kept; 0 = the platform's */
  artifacts_max_mb: number;
  /** an artifact is removed after so long; 0 = the platform's */
  artifacts_keep_seconds: number;
  /** keep what every new window of a terminal shows, as a recording */
  record_terminals: boolean;
  /** of new templates: what the server's provider gives */
  default_isolation: string;
  /** where volumes and backups lie: local */
  default_storage_provider: string;
}

/** What is given replaces what was */
export interface SettingsPut {
  /** a sandbox is paused after so long without use; -1 = never; 0 = the platform's */
  idle_pause_seconds?: number;
  /** a sandbox is stopped after so long without use; -1 = never; 0 = the platform's */
  idle_stop_seconds?: number;
  /** an ephemeral sandbox is removed after so long without use; 0 = the platform's */
  idle_reap_seconds?: number;
  /** an ephemeral sandbox is removed at this age, a persistent one stopped so long after its last start; 0 = the platform's */
  lifetime_max_seconds?: number;
  /** a terminal without a byte for so long is closed; 0 = the platform's */
  terminal_ttl_seconds?: number;
  /** MiB of artifacts that are kept; 0 = the platform's */
  artifacts_max_mb?: number;
  /** an artifact is removed after so long; 0 = the platform's */
  artifacts_keep_seconds?: number;
  /** keep what every new window of a terminal shows, as a recording */
  record_terminals?: boolean;
  /** of new templates: what the server's provider gives */
  default_isolation?: string;
  /** where volumes and backups lie: local */
  default_storage_provider?: string;
}

/** Default and greatest limits of the project's sandboxes */
export interface ResourceConfig {
  /** what the project sets */
  defaults: Limits;
  /** that no sandbox of the project exceeds; 0 = the caps alone */
  maximums: Limits;
  /** what holds where the project sets nothing */
  platform: Limits;
  /** that nothing may exceed */
  caps: Limits;
  /** of a sandbox that asks for nothing */
  effective: Limits;
}

/** The project's default limits; what is left out is not set */
export interface ResourceConfigPut {
  /** only by an admin of the platform; left as they are when absent */
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

/** What sandboxes are made like */
export interface SandboxConfig {
  /** false = no network at all */
  internet?: boolean;
  /** environment of every command; answered with ******** for each value, which, sent back, leaves it as it is */
  envVars?: Record<string, string>;
  /** lambda, e2b, daytona, kubernetes, native …; else the server's */
  provider?: string;
  /** name or id; else the server's default */
  template?: string;
  /** edit, ask or bypass: for the tools that act by this config */
  permissionMode?: string;
  /** bash, python, node: what tools and commands may use; advisory */
  runtimes?: string[];
  /** seconds that a command, a block of code, a job or a tool may take, at most 300 on lambda and 600 elsewhere */
  timeout?: number;
  /** MB, at most 1024 on lambda; a request for more gets so much */
  memoryLimit?: number;
  /** of a result: of a tool's output, and of each stream of a command */
  outputLimitBytes?: number;
  /** kept between calls; not on lambda */
  persistent?: boolean;
  resources?: SandboxConfigResources;
  lifecycle?: SandboxConfigLifecycle;
  options?: SandboxConfigOptions;
}

/** Limits beside memoryLimit; 0 = inherited */
export interface SandboxConfigResources {
  /** vCPUs */
  cpu?: number;
  /** MiB */
  diskMb?: number;
  pids?: number;
}

/** When it ends by itself */
export interface SandboxConfigLifecycle {
  /** stopped, or removed when it is not persistent, after so long without use */
  idleTimeoutSeconds?: number;
  /** ended at this age */
  maxLifetimeSeconds?: number;
}

/** Of a persistent one, where the provider can */
export interface SandboxConfigOptions {
  mountAwsS3Buckets?: boolean;
  workspaceRoot?: string;
  /** GiB that the home can hold, when it is made (default: no limit) */
  persistentDiskGb?: number;
  /** where a volume is that outlives the sandbox, for packages and caches; /home/user when only persistentDiskGb is given */
  persistentHome?: string;
}

/** A config to keep */
export interface SandboxConfigCreate {
  name: string;
  config?: SandboxConfig;
}

/** What is given replaces what was; a config as a whole */
export interface SandboxConfigChange {
  name?: string;
  config?: SandboxConfig;
}

/** The caller */
export interface Me {
  /** that it acts in */
  project: string;
  project_name: string;
  /** id of the key */
  key: string;
  key_name: string;
  /** what it may do now */
  scopes: string[];
  /** the member whom the key belongs to */
  user: string | null;
  /** his role now */
  role: string | null;
  expires_at: string | null;
}

/** Events, oldest first */
export interface EventList {
  items: Event[];
  /** for the next page, or for a stream */
  after: number;
  /** of all that are kept; 0 = there are none */
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
}

/** A webhook to make */
export interface WebhookCreate {
  /** http or https, on the internet */
  url: string;
  /** kinds such as sandbox.started, or sandbox.*; else all */
  events?: string[];
  /** signs what is sent; else made here */
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
  /** why the server has disabled it */
  problem: string | null;
  /** deliveries still to be made */
  waiting: number;
  /** deliveries given up */
  dead: number;
  created_at: string | null;
  updated_at: string | null;
  /** told only now */
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
  /** why the server has disabled it */
  problem: string | null;
  /** deliveries still to be made */
  waiting: number;
  /** deliveries given up */
  dead: number;
  created_at: string | null;
  updated_at: string | null;
}

/** What is given replaces what was; enabled again, it begins with what comes then */
export interface WebhookChange {
  /** http or https, on the internet */
  url?: string;
  /** kinds such as sandbox.started, or sandbox.*; else all */
  events?: string[];
  /** signs what is sent; else made here */
  secret?: string;
  /** default true */
  enabled?: boolean;
}

/** Deliveries, newest first */
export interface DeliveryList {
  items: Delivery[];
}

/** An event on its way to a webhook */
export interface Delivery {
  /** the header Atoll-Delivery */
  id: string;
  /** of its event */
  sequence: number;
  kind: string;
  /** waiting, delivered or dead */
  state: string;
  attempts: number;
  /** of the last answer; 0 = none came */
  status: number;
  error: string | null;
  created_at: string | null;
  next_at: string | null;
  ended_at: string | null;
  /** the body that is sent */
  event: unknown;
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
  /** -1 while it runs, and when nobody knows */
  exitCode: number;
  /** why it has not completed */
  reason: string | null;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); of a job also lost: its process is not there. null while it runs */
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  /** its number in the sandbox */
  process: number;
  /** in all, once it has ended */
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
  /** -1 while it runs, and when nobody knows */
  exitCode: number;
  /** why it has not completed */
  reason: string | null;
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran); of a job also lost: its process is not there. null while it runs */
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  /** its number in the sandbox */
  process: number;
  /** in all, once it has ended */
  stdout_bytes: number;
  stderr_bytes: number;
  created_at: string | null;
  ended_at: string | null;
  duration_ms: number;
  /** once it has ended: the ends of stdout and stderr */
  logs?: unknown;
  /** once it has ended: files that it left, and that are kept */
  artifacts?: StoredArtifact[];
}

/** What a background job wrote */
export interface JobLogs {
  resultId: string;
  status: string;
  stdout: string;
  stderr: string;
  /** of its first byte */
  stdout_offset: number;
  stderr_offset: number;
  /** since_stdout of the next call */
  stdout_next: number;
  stderr_next: number;
  /** written in all */
  stdout_bytes: number;
  stderr_bytes: number;
}

/** How a background job has ended */
export interface JobComplete {
  /** why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), process_limit (no process could be started), canceled (by a caller's signal) or sandbox_ended (while it ran) */
  cause?: "exit" | "signal" | "timeout" | "oom" | "file_size" | "disk" | "process_limit" | "canceled" | "sandbox_ended";
  status: "completed" | "failed";
  exitCode?: number;
  signal?: number;
  durationMs?: number;
  timedOut?: boolean;
  /** its end, or as bytes: */
  output?: string;
  stdoutBase64?: string;
  stderrBase64?: string;
}

/** Channels by name */
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

/** What messages are sent with */
export interface ChannelPut {
  type: "slack" | "discord" | "telegram" | "github" | "zalo" | "pancake";
  /** of a bot, an app, an official account or a page */
  token: string;
  /** of a service of one's own; else the usual one */
  base_url?: string;
}

/** Newest jobs first */
export interface JobDeliveryList {
  items: JobDelivery[];
}

/** A message about a job's end */
export interface JobDelivery {
  resultId: string;
  channel: string;
  /** waiting, sending, delivered or dead */
  state: string;
  attempts: number;
  /** of the last answer; 0 = none came */
  status: number;
  error: string | null;
  /** of the job */
  ended_at: string | null;
  next_at: string | null;
}

/** One page of sums */
export interface Usage {
  from: string | null;
  to: string | null;
  group_by: string;
  items: UsageSum[];
  next_page: string | null;
}

/** What one of a group used */
export interface UsageSum {
  /** id, label, reason or day */
  group: string;
  /** that sandboxes were started */
  seconds: number;
  /** of a processor, as sampled */
  cpu_seconds: number;
  /** of the vCPUs they could use */
  vcpu_seconds: number;
  /** of their memory limits */
  memory_gib_seconds: number;
  /** of files that are kept; 730 hours to the month */
  storage_gib_months: number;
  /** US dollars */
  usd: number;
  /** the same in micro-dollars, exactly */
  usd_micro: number;
}

/** What a project has left */
export interface Balance {
  project: string;
  deposited_usd: number;
  spent_usd: number;
  /** below 0: more was spent */
  balance_usd: number;
  /** the same in micro-dollars, exactly */
  balance_usd_micro: number;
}

/** A deposit to book */
export interface DepositCreate {
  /** yours: the same id is booked once */
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

/** What may be spent, and what is */
export interface Budget {
  id: string;
  scope: "project" | "key" | "sandbox";
  /** id of the project, key or sandbox */
  subject: string;
  window: "total" | "day" | "month";
  limit_usd: number;
  warn_at: number;
  /** in this window */
  spent_usd: number;
  /** fine, warned or exceeded */
  level: string;
  /** when the window began */
  since: string | null;
  created_at: string | null;
}

/** What may be spent */
export interface BudgetCreate {
  /** whose spending (default project) */
  scope?: "project" | "key" | "sandbox";
  /** of UTC; total never begins anew (default month) */
  window?: "total" | "day" | "month";
  /** part of the limit that is warned of (default 0.8) */
  warn_at?: number;
  /** id of the key; id or name of the sandbox */
  subject?: string;
  /** US dollars */
  limit_usd: number;
}

/** What changes of a budget */
export interface BudgetUpdate {
  /** US dollars */
  limit_usd?: number;
  /** part of the limit that is warned of */
  warn_at?: number;
}

/** Pools */
export interface PoolList {
  items: Pool[];
}

/** Sandboxes that are prepared */
export interface Pool {
  /** ready, filling (fewer than min are prepared) or failing */
  state: string;
  /** of one that is failing */
  problem?: PoolProblem;
  template: string;
  /** null: an automatic one, of the template's folder */
  template_id: string | null;
  /** it follows what is asked for */
  automatic: boolean;
  /** held even when nobody asks */
  min: number;
  /** held while it is used */
  target: number;
  /** that misses let it grow to */
  max: number;
  /** prepared now */
  ready: number;
  preparing: number;
  /** creates that got one; since the broker's start */
  hits: number;
  /** creates that found none */
  misses: number;
  /** hits / (hits + misses), over the same time; 0 before the first create */
  hit_ratio: number;
  /** layers of the snapshot that it is for, 0 = none */
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
  /** the cure */
  hint: string;
}

/** Volumes by name */
export interface VolumeList {
  items: Volume[];
}

/** Storage that outlives sandboxes */
export interface Volume {
  id: string;
  name: string;
  project: string;
  provider: string;
  /** server whose disk it is on */
  node: string;
  /** making ready deleting */
  state: string;
  /** MiB */
  size_mb: number;
  /** nothing enforces size_mb */
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  /** sandboxes that have it, stopped ones included */
  attachments: VolumeMount[];
}

/** A volume in a sandbox */
export interface VolumeMount {
  /** its name */
  volume: string;
  volume_id: string;
  /** its name */
  sandbox: string;
  sandbox_id: string;
  sandbox_state: string;
  /** where it is inside */
  path: string;
  /** the folder of it that is there; all of it without */
  subpath?: string;
  read_only: boolean;
  attached_at: string | null;
}

/** A volume to make */
export interface VolumeCreate {
  /** unique in the project */
  name: string;
  /** MiB that it can hold (default: no limit) */
  size_mb?: number;
}

/** A volume and what is used of it */
export interface VolumeUsage {
  id: string;
  name: string;
  project: string;
  provider: string;
  /** server whose disk it is on */
  node: string;
  /** making ready deleting */
  state: string;
  /** MiB */
  size_mb: number;
  /** nothing enforces size_mb */
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  /** sandboxes that have it, stopped ones included */
  attachments: VolumeMount[];
  /** -1 = too many files to count */
  used_bytes: number;
}

/** What a volume is to hold */
export interface VolumeGrow {
  /** MiB, not less than it has */
  size_mb: number;
}

/** The volumes of a sandbox */
export interface VolumeMountList {
  items: VolumeMount[];
}

/** Which volume, and where */
export interface VolumeAttach {
  /** name or id */
  volume: string;
  /** absolute (default /workspace) */
  path?: string;
  /** any number of sandboxes may read it */
  read_only?: boolean;
  /** a folder of it, made when it is missing (default all of it) */
  subpath?: string;
}

/** One page of changes, by path; a folder before what it holds */
export interface ChangeList {
  items: Change[];
  /** id of a snapshot, or "template" */
  base: string;
  next_page: string | null;
}

/** A path that is not as it was */
export interface Change {
  /** from the root, without '/' in front */
  path: string;
  /** base64 when the path is not UTF-8 */
  path_encoding?: string;
  /** added deleted modified; mode: its mode or owner alone; type: it is another type of file now */
  kind: string;
  /** file dir link fifo socket device; null: it is not there */
  type: string | null;
  type_before: string | null;
  /** bytes of a file */
  size: number;
  size_before: number;
  /** octal */
  mode: string | null;
  mode_before: string | null;
  uid: number;
  gid: number;
  uid_before: number;
  gid_before: number;
  /** a link's target */
  link?: string;
  link_before?: string;
  /** a folder that is too deep down to list what it holds */
  truncated?: boolean;
  /** of diff: a patch as git writes them */
  diff?: string;
  lines_added?: number;
  lines_deleted?: number;
  /** no text, or too large to be compared by lines */
  binary?: boolean;
  /** base64 when the diff is not UTF-8 */
  diff_encoding?: string;
}

/** What is to be as it was */
export interface Revert {
  /** files, or folders with all in them; "/" is everything */
  paths: string[];
  /** base64: the paths are that, each one */
  encoding?: "text" | "base64";
  /** a snapshot by name or id, or "template" (the default) */
  base?: string;
}

/** What became of each path, in the order of the request */
export interface RevertResult {
  items: Reverted[];
}

/** What became of one path */
export interface Reverted {
  /** as in the request */
  path: string;
  /** it is as it was in the base */
  ok: boolean;
  /** files and folders put back */
  restored: number;
  /** files and folders taken away */
  removed: number;
  /** a code */
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
  /** its number in this sandbox */
  process: number;
  /** inside the sandbox */
  pid: number;
  rows: number;
  cols: number;
  /** something runs in the foreground */
  busy: boolean;
  /** …/run works there */
  shell: boolean;
  /** connections that are attached */
  viewers: number;
  /** closes after so long at rest */
  ttl_s: number;
  /** since the last input or output */
  quiet_ms: number;
  /** first offset that is kept */
  output_start: number;
  /** bytes written so far */
  output_end: number;
  started_at: string | null;
  user: string;
  /** that it began in */
  cwd: string;
}

/** What is to be otherwise */
export interface WindowChange {
  rows?: number;
  cols?: number;
  ttl_s?: number;
}

/** Viewers, first come first */
export interface ViewerList {
  items: Viewer[];
}

/** Who looks at a window by WebSocket */
export interface Viewer {
  /** its number on this server */
  viewer: number;
  /** its user, or its key */
  who: string;
  /** address that it comes from */
  peer: string;
  /** false: it only looks */
  writes: boolean;
  attached_at: string | null;
  /** last, to two seconds; null = never */
  typed_at: string | null;
}

/** What a window shows */
export interface Screen {
  /** why waiting ended: found, changed, quiet, timeout, ended; none when there was nothing to wait for */
  reason: string;
  /** lines without blanks at their end, or what draws it anew */
  text: string | null;
  /** of the form cells */
  lines: ScreenLine[];
  rows: number;
  cols: number;
  /** from 0 */
  cursor_row: number;
  /** from 0 */
  cursor_column: number;
  cursor_visible: boolean;
  /** the screen of a full-screen program, not the shell's */
  alternate: boolean;
  title: string;
  /** output up to here is on it */
  offset: number;
  /** bytes at the beginning of the output that are no longer kept: what they drew may be missing */
  missing: number;
}

/** A line of a screen */
export interface ScreenLine {
  runs: ScreenRun[];
}

/** Characters that look the same */
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

/** What to type, and what to wait for */
export interface WindowKeys {
  /** typed as it is */
  text?: string;
  /** as one paste, where the program knows of pastes */
  paste?: string;
  /** after them: C-c, M-x, S-Tab, Up, Enter, Escape, F5, …; what is no key is typed */
  keys?: string[];
  /** wait until the screen has it; of several conditions the first ends the wait, and after typing only what follows counts */
  wait_text?: string;
  /** the same, POSIX extended, within a line */
  wait_regex?: string;
  /** until anything on the screen changes */
  wait_change?: boolean;
  /** until there was no output for so long */
  quiet_ms?: number;
  /** at most; default 10000 */
  wait_ms?: number;
  /** of the screen */
  form?: "text" | "ansi" | "cells";
}

/** A command for a window */
export interface WindowRun {
  /** what runs there already is cancelled first; without one it is waited for */
  command?: string;
  /** refuse (409) rather than cancel */
  keep?: boolean;
  /** then it is left running; default 30000 */
  wait_ms?: number;
  /** of its end; default 65536 */
  outputLimitBytes?: number;
  /** of a window that is made for it */
  cwd?: string;
  /** the same */
  user?: string;
  /** the same */
  env?: Record<string, string>;
}

/** What a command in a window did */
export interface WindowResult {
  window: string;
  process: number;
  /** it goes on */
  running: boolean;
  /** -1 while it runs */
  exit_code: number;
  /** without what moves and colours */
  output: string;
  /** where its output begins in that of the process */
  since: number;
  end: number;
  /** bytes before `output` */
  dropped: number;
  /** what ran there was ended for it */
  cancelled: boolean;
  /** the window has ended with it */
  closed: boolean;
}

/** Contexts, oldest first */
export interface CodeContextList {
  items: CodeContext[];
}

/** An interpreter that keeps its state from one block of code to the next */
export interface CodeContext {
  id: string;
  /** python, javascript or bash */
  language: string;
  /** that it began in */
  cwd: string;
  user: string;
  /** ready, or ended: what it knew is gone until it is restarted */
  state: string;
  /** its number in this sandbox */
  process: number;
  /** of an ended one; else -1 */
  exit_code: number;
  /** or restarted */
  created_at: string | null;
}

/** A new context */
export interface CodeContextCreate {
  /** python (else), javascript or bash */
  language?: string;
  /** folder to begin in; relative ones are below the default */
  cwd?: string;
}

/** Recordings that are whole, by sandbox, then by time */
export interface RecordingList {
  items: Recording[];
}

/** What a window showed */
export interface Recording {
  id: string;
  /** which may be gone */
  sandbox_id: string;
  /** that the window was */
  process: number;
  size_bytes: number;
  started_at: string | null;
}

/** Services, by name */
export interface ServiceList {
  items: Service[];
}

/** A command that is kept running */
export interface Service {
  name: string;
  /** starting, running, backoff (it will be started again), stopping, stopped (as asked), exited (by itself), failed; down or paused as its sandbox is; unknown */
  state: string;
  /** false: somebody stopped it */
  wanted: boolean;
  /** inside the sandbox; 0 = none */
  pid: number;
  /** its number in the sandbox */
  process: number;
  /** by itself, since it was started or changed */
  restarts: number;
  /** quick ends in a row */
  failures: number;
  /** of the last run that ended; -1 = none has */
  exit_code: number;
  /** that ended it, or 0 */
  signal: number;
  /** why it could not be started */
  error: string | null;
  /** in backoff */
  restart_in_ms: number;
  /** its last run */
  started_at: string | null;
  /** the last run that ended */
  ended_at: string | null;
  command: string | null;
  /** else: program and arguments */
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

/** A service: command, or cmd with args */
export interface ServiceRequest {
  /** a line for a shell, or: */
  command?: string;
  /** a program */
  cmd?: string;
  /** its arguments */
  args?: string[];
  cwd?: string;
  /** name or number inside */
  user?: string;
  /** over the sandbox's; never shown again */
  env?: Record<string, string>;
  /** when it is started again; default always */
  restart?: "always" | "on-failure" | "no";
  /** quick ends in a row, then it has failed; 0 = it is tried for ever */
  restart_limit?: number;
  /** before the first restart, doubled up to a minute; default 500 */
  restart_delay_ms?: number;
  /** from SIGTERM to SIGKILL; default 5000 */
  stop_timeout_ms?: number;
  /** while it runs the sandbox is not idle */
  keep_awake?: boolean;
}

/** What a service wrote */
export interface ServiceLog {
  name: string;
  stdout: string;
  stderr: string;
  /** of its first byte; what is before it is lost, or was not wanted */
  stdout_offset: number;
  stderr_offset: number;
  /** since_stdout of the next call */
  stdout_next: number;
  stderr_next: number;
  /** written in all, over its runs since the sandbox was started */
  stdout_bytes: number;
  stderr_bytes: number;
}

/** Other limits; what is left out or 0 stays as it is */
export interface SandboxResize {
  /** vCPUs */
  cpu?: number;
  /** MiB */
  memory_mb?: number;
  /** MiB; more of it, while it is stopped */
  disk_mb?: number;
  /** processes and threads */
  pids?: number;
}

/** A change of its own variables; those of its template stay */
export interface SandboxEnvironment {
  /** variables to add or to replace */
  set?: Record<string, string>;
  /** names that go, before that */
  unset?: string[];
}

/** What can be brought back */
export interface TrashList {
  items: TrashItem[];
}

/** Something that can be brought back */
export interface TrashItem {
  /** sandbox snapshot layer */
  kind: string;
  id: string;
  name?: string;
  project?: string;
  /** deleted: by a call; orphan: no row of the store knew it */
  reason: string;
  /** when it goes for good */
  until: string | null;
  /** -1 = not counted yet */
  size_bytes: number;
}

/** How many were stopped */
export interface StoppedAll {
  stopped: number;
  /** they run still: ask again */
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
  /** template to begin with */
  from: string;
  /** of a registry: what `from` is imported from, should it not be there */
  image?: string;
  /** at the registry of image */
  login?: RegistryLogin;
  description?: string;
  steps?: BuildStep[];
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
}

/** One step of a build */
export interface BuildStep {
  type: "run" | "copy" | "env" | "workdir" | "user";
  /** run: for /bin/sh -c; either this or args */
  command?: string;
  /** run: a program and its arguments, without a shell */
  args?: string[];
  /** env: of what follows and of the template; run: of this command alone */
  env?: Record<string, string>;
  /** copy: the name under which the files were put, see PUT …/builds/files/HASH */
  files?: string;
  /** copy: the folder that the files go to; workdir: the folder; made if missing */
  path?: string;
  /** user: of what follows and of the template; run: of this command; copy: whom the files belong to (default root) */
  user?: string;
  /** copy: of the files, octal; else as they were put */
  mode?: string;
  /** run: default as long as the build may take */
  timeout_ms?: number;
  /** execute this one and all after it, even if cached */
  force?: boolean;
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

/** A template that is being made by steps, or was */
export interface Build {
  /** of the command that failed */
  exit_code: number | null;
  id: string;
  /** of the template */
  name: string;
  from: string;
  /** id, once it is ready */
  template: string | null;
  /** waiting building ready error cancelled */
  status: string;
  /** why it failed */
  message: string | null;
  /** that it is at, or failed at, from 1; 0 = none yet */
  step: number;
  step_count: number;
  /** steps that were not executed */
  cached_count: number;
  log_lines: number;
  /** id of the one that executes the step */
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
  /** what to give as since to go on */
  next: number;
  /** of the build */
  status: string;
}

/** Files that a copy step can name; they go a day after they were last used */
export interface BuildFiles {
  hash: string;
  present: boolean;
  /** of the tar, unpacked */
  size_bytes: number;
}

/** What of it may be seen from outside */
export interface Preview {
  enabled: boolean;
  /** links may be given to people without a key */
  public: boolean;
  /** the server's and the template's, or any */
  ports: string;
  /** the server has a SANDBOX_PREVIEW_SECRET */
  sharingEnabled: boolean;
  /** false: its network is blocked */
  reachable: boolean;
  /** previews are at PORT-ID.DOMAIN, too */
  domain: string | null;
}

/** What of it may be seen from now on */
export interface PreviewChange {
  enabled?: boolean;
  public?: boolean;
  /** all links that were given out end */
  rotate?: boolean;
}

/** A link to a port */
export interface PreviewLink {
  port: number;
  /** default a day, of a private link an hour */
  ttlSeconds?: number;
  /** for the caller's own browser: needs neither a secret nor a public preview, ends with the server */
  private?: boolean;
}

/** The link */
export interface PreviewLinkMade {
  token: string;
  /** on this server */
  path: string;
  url: string;
  /** in an origin of its own, where the server has a domain */
  hostUrl: string | null;
  port: number;
  private: boolean;
  expiresAt: string | null;
}

/** What to make */
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
  language: "python" | "javascript" | "typescript" | "bash";
  argv: string[] | null;
  envs: Record<string, string> | null;
}

/** What to replace */
export interface DaytonaReplace {
  files: string[];
  pattern: string;
  newValue: string;
}

/** Files to read */
export interface DaytonaDownload {
  paths: string[];
}

/** Other limits */
export interface DaytonaResize {
  cpu: number | null;
  memory: number | null;
  disk: number | null;
}

/** Other variables */
export interface DaytonaEnv {
  set: Record<string, string> | null;
  unset: string[] | null;
  unsetValuePrefix: string | null;
}

/** How to take one */
export interface DaytonaSnapshotTake {
  name: string;
  includeMemory: boolean | null;
}

/** A fork to make */
export interface DaytonaFork {
  name: string | null;
}

/** A snapshot to make of an image */
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

/** A document of its project */
export interface DaytonaLspDocument {
  languageId: string;
  pathToProject: string;
  uri: string;
}

/** A place in a document */
export interface DaytonaLspCompletion {
  languageId: string;
  pathToProject: string;
  uri: string;
  position: unknown;
  context: unknown;
}

/** DaytonaNetwork */
export interface DaytonaNetwork {
  networkBlockAll: boolean | null;
  networkAllowList: string | null;
  domainAllowList: string | null;
}

/** What to prepare */
export interface DaytonaWarmPoolCreate {
  snapshot: string;
  target: string | null;
  pool: number;
}

/** Sandboxes that are prepared */
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

/** Another size */
export interface DaytonaWarmPoolUpdate {
  pool: number;
}

/** A volume to make */
export interface DaytonaVolumeCreate {
  name: string;
}

/** A secret to keep */
export interface DaytonaSecretCreate {
  name: string;
  value: string;
  description: string;
  hosts: string[];
}

/** What is given replaces */
export interface DaytonaSecretChange {
  value: string;
  description: string;
  hosts: string[];
}

/** What to make */
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

/** Whether traffic wakes it */
export interface E2bAutoResume {
  enabled: boolean;
}

/** Who may be reached from inside, and what from outside */
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

/** A volume, and where it is */
export interface E2bVolumeMount {
  name: string;
  path: string;
}

/** Seconds from now, and whether its processes go on */
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

/** How to pause */
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

/** For standard input */
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

/** A size */
export interface DaytonaPtyResize {
  cols: number;
  rows: number;
}

/** Its name */
export interface E2bSnapshotCreate {
  name: string;
}

/** How many, and for how long */
export interface E2bFork {
  timeout: number;
  count: number;
}

/** A volume to make */
export interface E2bNewVolume {
  name: string;
}

/** Whose a file is, and its mode */
export interface E2bAttributes {
  uid: number;
  gid: number;
  mode: number;
}

/** A secret to keep */
export interface E2bNewSecret {
  name: string;
  value: string;
  metadata: Record<string, string>;
}

/** Another value */
export interface E2bSecretUpdate {
  value: string;
  metadata: Record<string, string>;
}

/** Whose it is */
export interface E2bTemplateUpdate {
  public: boolean;
}

/** What is to have which tags */
export interface E2bTagsAssign {
  target: string;
  tags: string[];
}

/** What is to lose which tags */
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

/** A call of git */
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

/** A call of git */
export interface DaytonaGitAdd {
  path: string;
  files: string[] | null;
}

/** A call of git */
export interface DaytonaGitCommit {
  path: string;
  message: string;
  author: string | null;
  email: string | null;
  allow_empty: boolean | null;
}

/** A call of git */
export interface DaytonaGitBranch {
  path: string;
  name: string;
}

/** A call of git */
export interface DaytonaGitCheckout {
  path: string;
  branch: string;
}

/** A call of git */
export interface DaytonaGitExchange {
  path: string;
  remote: string | null;
  branch: string | null;
  username: string | null;
  password: string | null;
  set_upstream: boolean | null;
}

/** A call of git */
export interface DaytonaGitInit {
  path: string;
  initial_branch: string | null;
  bare: boolean | null;
}

/** A call of git */
export interface DaytonaGitReset {
  path: string;
  mode: string | null;
  target: string | null;
  files: string[] | null;
}

/** A call of git */
export interface DaytonaGitRestore {
  path: string;
  source: string | null;
  files: string[] | null;
  staged: boolean | null;
  worktree: boolean | null;
}

/** A call of git */
export interface DaytonaGitRemote {
  path: string;
  name: string;
  url: string;
  fetch: boolean | null;
  overwrite: boolean | null;
}

/** A call of git */
export interface DaytonaGitConfig {
  path: string | null;
  key: string;
  value: string;
  scope: string | null;
}

/** A call of git */
export interface DaytonaGitUser {
  path: string | null;
  name: string;
  email: string;
  scope: string | null;
}

/** A call of git */
export interface DaytonaGitLogin {
  username: string;
  password: string;
  host: string | null;
  protocol: string | null;
}

/** A context to make */
export interface DaytonaContextCreate {
  cwd: string | null;
  language: string | null;
}

/** What to clone */
export interface GitClone {
  /** https, http, ssh, git, file, or user@host:path */
  url: string;
  /** where it is to be: nothing, or an empty folder */
  path: string;
  /** or a tag */
  branch?: string;
  /** to be checked out after it */
  commit?: string;
  /** so many commits; 0 = all */
  depth?: number;
  /** do not check certificates */
  insecure?: boolean;
  /** with a password; default git, as tokens want it */
  username?: string;
  /** or a token: for this call and its server, kept nowhere */
  password?: string;
}

/** What has changed since the head */
export interface GitStatus {
  /** null when the head is detached */
  branch: string | null;
  /** null before the first */
  commit: string | null;
  upstream: string | null;
  /** commits that the upstream has not */
  ahead: number;
  /** commits that only the upstream has */
  behind: number;
  clean: boolean;
  files: GitFile[];
}

/** A file that has changed */
export interface GitFile {
  path: string;
  /** of a rename or copy */
  old_path: string | null;
  /** unchanged modified type added deleted renamed copied unmerged untracked */
  staged: string;
  /** the same */
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

/** What to stage, deletions too */
export interface GitAdd {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  /** as they are, no patterns; "." = all */
  files: string[];
}

/** How to commit */
export interface GitCommitRequest {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  message: string;
  /** name; default: as git is configured */
  author?: string;
  email?: string;
  allow_empty?: boolean;
}

/** The commit that was made */
export interface GitHash {
  hash: string;
}

/** The local branches */
export interface GitBranches {
  current: string | null;
  branches: string[];
}

/** A branch at the head */
export interface GitBranch {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  name: string;
  /** go over to it, too */
  checkout?: boolean;
}

/** Where to go */
export interface GitCheckout {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  /** branch, tag or commit */
  name: string;
}

/** What to push, and where to */
export interface GitPush {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  /** default origin */
  remote?: string;
  /** default: the one at hand */
  branch?: string;
  set_upstream?: boolean;
  /** with a password; default git, as tokens want it */
  username?: string;
  /** or a token: for this call and its server, kept nowhere */
  password?: string;
}

/** What to pull and merge */
export interface GitPull {
  /** of the repository; relative ones are below the default folder, which it is when left out */
  path?: string;
  /** default origin */
  remote?: string;
  /** default: the upstream of the one at hand */
  branch?: string;
  /** with a password; default git, as tokens want it */
  username?: string;
  /** or a token: for this call and its server, kept nowhere */
  password?: string;
}
