// SPDX-License-Identifier: Apache-2.0
// Written by console/generate/client.mjs --write from docs/api/openapi.json.
import type { Operation } from "./operation";

/** A call into a sandbox */
export interface Activity {
  sequence: number;
  at: string | null;
  project: string;
  sandbox: string | null;
  kind: string;
  operation: string;
  arguments: string;
  user: string | null;
  key: string | null;
  conversation: string | null;
  ok: boolean;
  outcome: string;
  exit_code: number;
  error: string | null;
  duration_ms: number;
  output_bytes: number;
  head: string;
  tail: string;
  encoding: string | null;
  artifacts: ActivityArtifact[];
}
/** A file that the call left and that is stored */
export interface ActivityArtifact {
  id: string;
  path: string;
}
/** Calls into sandboxes, in the order of their ends */
export interface ActivityList {
  items: Activity[];
  after: number;
  oldest: number;
}
/** A call that needs approval */
export interface Approval {
  id: string;
  tool: string;
  input: string;
  inputObject: unknown;
  state: string;
  sandboxId: string | null;
  conversationId: string | null;
  origin: JobOrigin | null;
  keyId: string;
  keyName: string | null;
  note: string | null;
  decidedBy: string | null;
  decidedByName: string | null;
  createdAt: string | null;
  decidedAt: string | null;
  expiresAt: string | null;
}
/** A note on the decision */
export interface ApprovalDecision {
  note?: string;
}
/** Calls, newest first */
export interface ApprovalList {
  items: Approval[];
  next_page: string | null;
}
/** File to keep as an artifact */
export interface ArtifactKeep {
  path: string;
  user?: string;
  keep_seconds?: number;
}
/** Lifetime of a signed address */
export interface ArtifactUrl {
  expires_in_seconds: number;
}
/** A volume of a sandbox */
export interface AttachedVolume {
  volume: string;
  volume_id: string;
  path: string;
  read_only: boolean;
}
/** The key that signs the audit, and the newest checkpoint */
export interface AuditKey {
  chain: string;
  key: string;
  sequence: number;
  oldest: number;
  checkpoint: number;
  checkpoint_at: string | null;
  hash: string;
  signature: string;
}
/** Rows of the audit */
export interface AuditList {
  items: AuditRow[];
  next: number;
  oldest: number;
}
/** An event of the audit */
export interface AuditRow {
  sequence: number;
  at: string | null;
  id: string;
  server: string;
  version: string;
  project: string;
  user: string;
  key: string;
  via: string;
  address: string;
  user_agent: string;
  action: string;
  method: string;
  path: string;
  target_kind: string;
  target: string;
  conversation: string;
  result: string;
  status: number;
  request_id: string;
  before: unknown;
  after: unknown;
  hash: string;
}
/** A snapshot packed into one file of the blob store */
export interface Backup {
  id: string;
  name: string;
  project: string;
  snapshot: string;
  snapshot_name: string;
  template: string;
  state: string;
  state_text: string | null;
  sha256: string | null;
  blob: string;
  size: number;
  files: number;
  files_bytes: number;
  full: boolean;
  created_at: string | null;
}
/** One page of backups */
export interface BackupList {
  items: Backup[];
  next_page: string | null;
}
/** The balance of a project */
export interface Balance {
  project: string;
  deposited_usd: number;
  spent_usd: number;
  balance_usd: number;
  balance_usd_micro: number;
}
/** A spending limit and the amount spent */
export interface Budget {
  id: string;
  scope: "project" | "key" | "sandbox" | "run" | "label" | "conversation";
  subject: string;
  window: "total" | "day" | "month";
  limit_usd: number;
  warn_at: number;
  spent_usd: number;
  level: string;
  since: string | null;
  created_at: string | null;
}
/** A spending limit */
export interface BudgetCreate {
  scope?: "project" | "key" | "sandbox" | "run" | "label" | "conversation";
  window?: "total" | "day" | "month";
  warn_at?: number;
  subject?: string;
  limit_usd: number;
}
/** Budgets, oldest first */
export interface BudgetList {
  items: Budget[];
}
/** Changes of a budget */
export interface BudgetUpdate {
  limit_usd?: number;
  warn_at?: number;
}
/** A build of a template from steps */
export interface Build {
  exit_code: number | null;
  id: string;
  name: string;
  from: string;
  template: string | null;
  status: string;
  message: string | null;
  step: number;
  step_count: number;
  cached_count: number;
  log_lines: number;
  sandbox: string | null;
  project: string;
  node: string;
  created_at: string | null;
  started_at: string | null;
  ended_at: string | null;
}
/** A template by steps */
export interface BuildCreate {
  internet?: boolean;
  name: string;
  also?: string[];
  from?: string;
  image?: string;
  login?: RegistryLogin;
  description?: string;
  steps?: BuildStep[];
  stages?: BuildStage[];
  secrets?: Record<string, string>;
  notes?: string[];
  start?: string;
  entrypoint?: string[];
  ready?: string;
  ready_timeout_ms?: number;
  timeout_ms?: number;
  resources?: BuildResources;
  ports?: unknown;
  no_cache?: boolean;
  pull?: boolean;
}
/** Files for copy steps; they are deleted a day after their last use */
export interface BuildFiles {
  hash: string;
  present: boolean;
  size_bytes: number;
}
/** One page of builds */
export interface BuildList {
  items: Build[];
  next_page: string | null;
}
/** Lines of a build's log */
export interface BuildLogs {
  lines: unknown;
  next: number;
  status: string;
}
/** What a run step finds at a path, and its layer does not contain */
export interface BuildMount {
  type: "cache" | "bind" | "secret" | "tmpfs";
  id?: string;
  path?: string;
  from?: string;
  source?: string;
  files?: string;
  file?: boolean;
  env?: string;
  user?: string;
  mode?: string;
  required?: boolean;
}
/** Of the template's sandboxes, and of those that build it */
export interface BuildResources {
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** Steps before those of the template, for files that these copy */
export interface BuildStage {
  name: string;
  from?: string;
  image?: string;
  steps?: BuildStep[];
}
/** One step of a build */
export interface BuildStep {
  type: "run" | "copy" | "env" | "workdir" | "user" | "write" | "folder";
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  files?: string;
  from?: string;
  paths?: string[];
  text?: string;
  mounts?: BuildMount[];
  path?: string;
  user?: string;
  mode?: string;
  timeout_ms?: number;
  force?: boolean;
}
/** A path that differs from the base */
export interface Change {
  path: string;
  path_encoding?: string;
  kind: string;
  type: string | null;
  type_before: string | null;
  size: number;
  size_before: number;
  mode: string | null;
  mode_before: string | null;
  uid: number;
  gid: number;
  uid_before: number;
  gid_before: number;
  link?: string;
  link_before?: string;
  truncated?: boolean;
  diff?: string;
  lines_added?: number;
  lines_deleted?: number;
  binary?: boolean;
  diff_encoding?: string;
}
/** One page of changes sorted by path; a folder precedes its content */
export interface ChangeList {
  items: Change[];
  base: string;
  next_page: string | null;
}
/** A channel, without its token */
export interface Channel {
  name: string;
  type: string;
  base_url: string | null;
  created_at: string | null;
  updated_at: string | null;
}
/** Channels, sorted by name */
export interface ChannelList {
  items: Channel[];
}
/** Token of a chat service */
export interface ChannelPut {
  type: "slack" | "discord" | "telegram" | "github" | "zalo" | "pancake";
  token: string;
  base_url?: string;
}
/** A block of code */
export interface Code {
  language: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  code: string;
  contextId?: string;
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
  stdin_base64?: string;
  stdin_open?: boolean;
  timeout_ms?: number;
  outputLimitBytes?: number;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
  end_on_disconnect?: boolean;
  tty?: boolean;
  rows?: number;
  columns?: number;
  artifacts?: string;
  record?: boolean;
  label?: string;
}
/** An interpreter that keeps its state from one block of code to the next */
export interface CodeContext {
  id: string;
  language: string;
  cwd: string;
  user: string;
  state: string;
  process: number;
  exit_code: number;
  created_at: string | null;
}
/** A new context */
export interface CodeContextCreate {
  language?: string;
  cwd?: string;
}
/** Contexts, oldest first */
export interface CodeContextList {
  items: CodeContext[];
}
/** How a block of code failed */
export interface CodeError {
  name: string;
  value: string;
  traceback: string;
}
/** A message of the stream of a block of code */
export interface CodeMessage {
  event: "started" | "stdout" | "stderr" | "result" | "error" | "exit" | "artifact";
  contextId: string;
  process: number;
  execution_count: number;
  data: string;
  result: unknown;
  name: string;
  value: string;
  traceback: string;
  error: unknown;
  ok: boolean;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string;
  duration_ms: number;
  context_ended: boolean;
  recording: string;
  artifact: unknown;
}
/** What a block of code shows, in every form that it has */
export interface CodeResult {
  is_main: boolean;
  text?: string;
  html?: string;
  markdown?: string;
  svg?: string;
  png?: string;
  jpeg?: string;
  pdf?: string;
  latex?: string;
  json?: unknown;
  javascript?: string;
  data?: unknown;
  chart?: unknown;
  extra?: unknown;
}
/** A message of a command's stream */
export interface CommandMessage {
  event: "started" | "stdout" | "stderr" | "exit" | "error" | "artifact";
  since: string;
  process: number;
  pid: number;
  offset: number;
  data: string;
  encoding: string;
  ok: boolean;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string;
  duration_ms: number;
  warm: boolean;
  recording: string;
  artifact: unknown;
  error: unknown;
}
/** A login at an OAuth service */
export interface Connect {
  id: string;
  name: string;
  preset: string | null;
  method: "code" | "device" | "client";
  owner: "project" | "user";
  state: string;
  problem: string | null;
  scopes: string;
  url?: string;
  user_code?: string;
  verification_uri?: string;
  verification_uri_complete?: string;
  interval_ms?: number;
  expires_at: string | null;
  renews_at: string | null;
  created_at: string | null;
  updated_at: string | null;
}
/** A login to begin */
export interface ConnectCreate {
  name: string;
  preset?: string;
  issuer?: string;
  client: string;
  method?: "code" | "device" | "client";
  scopes?: string[];
  hosts?: string[];
  about?: string;
  consent?: "conversation" | "sandbox" | "project";
  owner?: "project" | "user";
}
/** Connects, newest first */
export interface ConnectList {
  items: Connect[];
}
/** A person's consent to the use of a credential in a sandbox */
export interface Consent {
  id: string;
  sandboxId: string;
  conversationId: string | null;
  credential: string;
  version: number;
  hosts: string;
  state: "active" | "expired" | "revoked";
  approvalId: string | null;
  decidedBy: string;
  expiresAt: string | null;
  revokedAt: string | null;
  createdAt: string | null;
}
/** Consents, newest first */
export interface ConsentList {
  items: Consent[];
}
/** What was revoked */
export interface ConsentsRevoked {
  revoked: number;
}
/** Number of entries or bytes */
export interface Count {
  count: number;
}
/** A credential, without its values */
export interface Credential {
  id: string;
  name: string;
  kind: "token" | "basic" | "aws" | "custom" | "client" | "oauth";
  preset: string | null;
  about: string;
  hosts: string[];
  field_names: string[];
  environment: Record<string, string>;
  owner: "project" | "user";
  consent: "conversation" | "sandbox" | "project";
  state: "ok" | "expired" | "needs_login";
  version: number;
  fingerprint: string;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string | null;
  updated_at: string | null;
}
/** Given members replace the stored ones; a further host and a weaker consent take the fields again */
export interface CredentialChange {
  about?: string;
  hosts?: string[];
  fields?: Record<string, string>;
  consent?: "conversation" | "sandbox" | "project";
  expires_at?: string | null;
  environment?: Record<string, string>;
}
/** A credential to store */
export interface CredentialCreate {
  about?: string;
  hosts?: string[];
  fields: Record<string, string>;
  consent?: "conversation" | "sandbox" | "project";
  expires_at?: string | null;
  environment?: Record<string, string>;
  name: string;
  kind?: "token" | "basic" | "aws" | "custom" | "client";
  preset?: string;
  owner?: "project" | "user";
}
/** A query part or a header of a request */
export interface CredentialFieldMatch {
  name: string;
  exact?: string;
  prefix?: string;
  present?: boolean;
}
/** How a credential is put into a request */
export interface CredentialInject {
  kind: "header" | "basic" | "query" | "cookie" | "placeholder" | "sigv4";
  when?: "always" | "absent" | "placeholder";
  name?: string;
  value?: string;
  username?: string;
  password?: string;
  marker?: string;
  in?: string[];
  access_key_id?: string;
  secret_access_key?: string;
  session_token?: string;
  regions?: string[];
  services?: string[];
}
/** Limits of a rule for a sandbox; 0: none */
export interface CredentialLimits {
  requests_per_second?: number;
  burst?: number;
  requests?: number;
  bytes_out_request?: number;
  bytes_out?: number;
  bytes_in?: number;
  connections?: number;
}
/** Credentials by name */
export interface CredentialList {
  items: Credential[];
}
/** Which requests a rule is about */
export interface CredentialMatch {
  methods?: string[];
  path?: CredentialPathMatch;
  query?: CredentialFieldMatch[];
  headers?: CredentialFieldMatch[];
  encoded_slash?: boolean;
}
/** The path of a request, one of the three */
export interface CredentialPathMatch {
  exact?: string;
  prefix?: string;
  glob?: string;
}
/** A service whose hosts and OAuth server are known */
export interface CredentialPreset {
  name: string;
  version: number;
  about: string;
  kind: string;
  hosts: string[];
  fields: CredentialPresetField[];
  markers?: CredentialPresetMarker[];
  rules: CredentialRule[];
  oauth?: OAuthService;
}
/** A field to ask for */
export interface CredentialPresetField {
  name: string;
  label: string;
  secret: boolean;
}
/** Presets of credentials */
export interface CredentialPresetList {
  items: CredentialPreset[];
}
/** A variable without worth that lets programs inside start */
export interface CredentialPresetMarker {
  env: string;
  value: string;
}
/** What happens to requests of a sandbox */
export interface CredentialRule {
  id?: string;
  host: string;
  scheme?: "https" | "http";
  port?: number;
  match?: CredentialMatch;
  action: "inject" | "allow" | "deny";
  inject?: CredentialInject[];
  remove?: string[];
  limits?: CredentialLimits;
  websocket?: boolean;
  mask?: "headers+body" | "headers" | "off";
  upstream?: CredentialUpstream;
  expires_at?: string | null;
  note?: string;
  source?: string;
}
/** How the host is reached */
export interface CredentialUpstream {
  ca?: string;
  http2?: "as-client" | "always" | "never";
}
/** The result of a retry of all dead deliveries */
export interface DeliveriesRetried {
  retried: number;
  dead: number;
}
/** Delivery of an event to a webhook */
export interface Delivery {
  id: string;
  sequence: number;
  kind: string;
  state: string;
  attempts: number;
  status: number;
  error: string | null;
  created_at: string | null;
  next_at: string | null;
  ended_at: string | null;
  event: unknown;
}
/** Deliveries, newest first */
export interface DeliveryList {
  items: Delivery[];
}
/** A deposit */
export interface Deposit {
  id: string;
  project: string;
  usd: number;
  note: string;
  created_at: string | null;
}
/** A deposit to book */
export interface DepositCreate {
  id: string;
  usd: number;
  note?: string;
}
/** A host to allow */
export interface EgressAllow {
  host: string;
}
/** What the network rules of a sandbox would decide */
export interface EgressCheck {
  host: string;
  port: number;
  decision: string;
  code: string;
  rule: string | null;
  reason: string;
}
/** A named list of hosts to allow */
export interface EgressPreset {
  name: string;
  about: string;
  hosts: string[];
}
/** Presets of network rules */
export interface EgressPresetList {
  items: EgressPreset[];
}
/** A block of code, and the sandbox that is made for it */
export interface EphemeralCode {
  language: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  code: string;
  contextId?: string;
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
  stdin_base64?: string;
  stdin_open?: boolean;
  timeout_ms?: number;
  outputLimitBytes?: number;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
  end_on_disconnect?: boolean;
  tty?: boolean;
  rows?: number;
  columns?: number;
  artifacts?: string;
  record?: boolean;
  label?: string;
  config?: string;
  workspace?: string;
  sandbox?: SandboxSpecification;
}
/** A command, and the sandbox that is made for it */
export interface EphemeralExec {
  command?: string;
  cmd?: string;
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
  stdin_base64?: string;
  stdin_open?: boolean;
  timeout_ms?: number;
  outputLimitBytes?: number;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
  end_on_disconnect?: boolean;
  tty?: boolean;
  rows?: number;
  columns?: number;
  artifacts?: string;
  record?: boolean;
  label?: string;
  config?: string;
  workspace?: string;
  sandbox?: SandboxSpecification;
}
/** Error */
export interface Error {
  error: { code: string; message: string; resource: string; hint: string; quota: { name: string; scope: string; limit: number; used: number; reset_at: string | null }; request_id: string };
}
/** Something that happened */
export interface Event {
  sequence: number;
  at: string | null;
  kind: string;
  project: string | null;
  sandbox: string | null;
  reason: string | null;
  text: string;
  detail?: unknown;
  object?: unknown;
}
/** Events, oldest first */
export interface EventList {
  items: Event[];
  after: number;
  oldest: number;
}
/** A command: either command, or cmd and args */
export interface Exec {
  command?: string;
  cmd?: string;
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
  stdin_base64?: string;
  stdin_open?: boolean;
  timeout_ms?: number;
  outputLimitBytes?: number;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
  end_on_disconnect?: boolean;
  tty?: boolean;
  rows?: number;
  columns?: number;
  artifacts?: string;
  record?: boolean;
  label?: string;
}
/** Current resource usage of many sandboxes */
export interface Figures {
  at: string | null;
  items: SandboxFigures[];
  next_page: string | null;
}
/** The resource usage at one time; with SSE its event name is stats */
export interface FiguresMessage {
  at: string | null;
  items: SandboxFigures[];
}
/** Bytes of a file inside JSON */
export interface FileContent {
  path: string;
  content: string;
  encoding: string;
  size: number;
  offset: number;
  length: number;
  lines: number;
  total_lines: number;
  next_offset: number | null;
  truncated: boolean;
}
/** A file or folder */
export interface FileEntry {
  path: string;
  name: string;
  type: string;
  size: number;
  mode: string;
  uid: number;
  gid: number;
  modified_at: string | null;
  link: string | null;
}
/** A link by which the file can be downloaded without a key */
export interface FileLink {
  path: string;
  url: string | null;
  expires_at: string | null;
}
/** A file to link to */
export interface FileLinkCreate {
  path: string;
  user?: string;
  expires_in_s?: number;
}
/** Files and folders */
export interface FileList {
  items: FileEntry[];
  truncated: boolean;
  next_after: string | null;
  listed_at_ms: number;
}
/** A line that matches */
export interface FileMatch {
  path: string;
  line: number;
  text: string;
}
/** A folder to create */
export interface FileMkdir {
  path: string;
  user?: string;
  mode?: string;
  parents?: boolean;
}
/** A path and its new path */
export interface FileMove {
  path: string;
  target: string;
  user?: string;
  parents?: boolean;
  no_replace?: boolean;
  recursive?: boolean;
}
/** A file whose name matches */
export interface FileNameMatch {
  path: string;
  type: string;
  size: number;
  modified_at: string | null;
}
/** A folder and the paths to pack */
export interface FilePack {
  path: string;
  names: string[];
  user?: string;
}
/** A file to read as text */
export interface FileRead {
  path: string;
  user?: string;
  offset?: number;
  length?: number;
}
/** A path to delete */
export interface FileRemove {
  path: string;
  user?: string;
  recursive?: boolean;
}
/** Found names and lines */
export interface FileSearch {
  path: string;
  names: FileNameMatch[];
  matches: FileMatch[];
  truncated: boolean;
}
/** A file to write */
export interface FileWrite {
  path: string;
  user?: string;
  content?: string;
  content_base64?: string;
  mode?: string;
  append?: boolean;
  no_replace?: boolean;
}
/** Options of a fork */
export interface Fork {
  count?: number;
  name?: string;
  memory?: boolean;
}
/** The forks and the snapshot below their files */
export interface Forked {
  items: Sandbox[];
  snapshot: Snapshot;
  volumes: AttachedVolume[];
  volumes_left_out: AttachedVolume[];
}
/** A shell command */
export interface GatewayBash {
  tenant_id?: string;
  session_id: string;
  command: string;
  stdin?: string;
  env?: Record<string, string>;
  timeout_ms?: number;
  outputLimitBytes?: number;
  artifacts?: string;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
}
/** Files to write into a session's workspace */
export interface GatewayCopy {
  files: GatewayFile[];
}
/** A block of code */
export interface GatewayExecute {
  tenant_id?: string;
  session_id: string;
  code: string;
  language?: "python" | "javascript" | "typescript" | "bash" | "r" | "java";
  stdin?: string;
  env?: Record<string, string>;
  timeout_ms?: number;
  outputLimitBytes?: number;
  artifacts?: string;
  background?: boolean;
  conversation?: string;
  origin?: JobOrigin;
}
/** A file and its content */
export interface GatewayFile {
  path: string;
  content?: string;
  content_base64?: string;
}
/** A pattern of paths */
export interface GatewayGlob {
  tenant_id?: string;
  session_id: string;
  pattern: string;
  path?: string;
  limit?: number;
}
/** Search request */
export interface GatewayGrep {
  tenant_id?: string;
  session_id: string;
  pattern: string;
  path?: string;
  glob?: string;
  ignore_case?: boolean;
  max_results?: number;
}
/** A matching line */
export interface GatewayMatch {
  path: string;
  line: number;
  text: string;
  encoding: string;
}
/** Matching lines */
export interface GatewayMatches {
  matches: GatewayMatch[];
  truncated: boolean;
}
/** Paths that match */
export interface GatewayPaths {
  paths: string[];
  truncated: boolean;
}
/** Lines of a text file */
export interface GatewayRead {
  tenant_id?: string;
  session_id: string;
  path: string;
  offset?: number;
  limit?: number;
}
/** Bytes of a file */
export interface GatewayReadBinary {
  tenant_id?: string;
  session_id: string;
  path: string;
  offset?: number;
  limit?: number;
}
/** The result of a command, and the files it left */
export interface GatewayResult {
  ok: boolean;
  runtime: string;
  process: number;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string;
  duration_ms: number;
  warm?: boolean;
  stdout: string;
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  network?: NetworkRefusal[];
  recording?: string;
  artifacts: StoredArtifact[];
}
/** A file to write */
export interface GatewayWrite {
  tenant_id?: string;
  session_id: string;
  path: string;
  content?: string;
  content_base64?: string;
  append?: boolean;
}
/** Files to stage; deleted files are staged, too */
export interface GitAdd {
  path?: string;
  files: string[];
}
/** A branch to create at HEAD */
export interface GitBranch {
  path?: string;
  name: string;
  checkout?: boolean;
}
/** Local branches */
export interface GitBranches {
  current: string | null;
  branches: string[];
}
/** What to check out */
export interface GitCheckout {
  path?: string;
  name: string;
}
/** What to clone, and where */
export interface GitClone {
  url: string;
  path: string;
  branch?: string;
  commit?: string;
  depth?: number;
  insecure?: boolean;
  username?: string;
  password?: string;
}
/** A commit */
export interface GitCommit {
  hash: string;
  author: string;
  email: string;
  message: string;
  at: string | null;
}
/** Options of a commit */
export interface GitCommitRequest {
  path?: string;
  message: string;
  author?: string;
  email?: string;
  allow_empty?: boolean;
}
/** A file with changes */
export interface GitFile {
  path: string;
  old_path: string | null;
  staged: string;
  worktree: string;
}
/** The new commit */
export interface GitHash {
  hash: string;
}
/** Commits, newest first */
export interface GitLog {
  items: GitCommit[];
}
/** What to pull and merge */
export interface GitPull {
  path?: string;
  remote?: string;
  branch?: string;
  username?: string;
  password?: string;
}
/** What to push */
export interface GitPush {
  path?: string;
  remote?: string;
  branch?: string;
  set_upstream?: boolean;
  username?: string;
  password?: string;
}
/** The state of the working tree */
export interface GitStatus {
  branch: string | null;
  commit: string | null;
  upstream: string | null;
  ahead: number;
  behind: number;
  clean: boolean;
  files: GitFile[];
}
/** State of the process */
export interface Health {
  status: string;
  version: string;
}
/** Idle times of sandboxes; omitted members keep their values */
export interface IdleTimes {
  reap_ms?: number;
  lifetime_max_ms?: number;
  pause_ms?: number;
  stop_ms?: number;
}
/** An invitation */
export interface Invitation {
  id: string;
  email: string;
  role: string;
  invited_by: string;
  created_at: string | null;
  expires_at: string | null;
}
/** Whom to invite */
export interface InvitationCreate {
  email: string;
  role: string;
}
/** Invitations */
export interface InvitationList {
  items: Invitation[];
}
/** An invitation, with its link */
export interface InvitationMade {
  id: string;
  email: string;
  role: string;
  invited_by: string;
  created_at: string | null;
  expires_at: string | null;
  link: string;
}
/** A background job */
export interface Job {
  resultId: string;
  status: string;
  exitCode: number;
  reason: string | null;
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  process: number;
  stdout_bytes: number;
  stderr_bytes: number;
  created_at: string | null;
  ended_at: string | null;
  duration_ms: number;
  logs?: unknown;
  artifacts?: StoredArtifact[];
}
/** A message about the end of a job */
export interface JobDelivery {
  resultId: string;
  channel: string;
  state: string;
  attempts: number;
  status: number;
  error: string | null;
  ended_at: string | null;
  next_at: string | null;
}
/** Messages, newest job first */
export interface JobDeliveryList {
  items: JobDelivery[];
}
/** A background job, without its logs */
export interface JobItem {
  resultId: string;
  status: string;
  exitCode: number;
  reason: string | null;
  cause: string | null;
  sandbox_id: string;
  command: string;
  conversation: string | null;
  origin: unknown;
  process: number;
  stdout_bytes: number;
  stderr_bytes: number;
  created_at: string | null;
  ended_at: string | null;
  duration_ms: number;
}
/** Background jobs, newest first */
export interface JobList {
  items: JobItem[];
}
/** Output of a background job */
export interface JobLogs {
  resultId: string;
  status: string;
  stdout: string;
  stderr: string;
  stdout_offset: number;
  stderr_offset: number;
  stdout_next: number;
  stderr_next: number;
  stdout_bytes: number;
  stderr_bytes: number;
}
/** Where the turn came from, and so where the end of the job is told */
export interface JobOrigin {
  type?: "none" | "stream" | "webhook" | "slack" | "discord" | "telegram" | "github" | "zalo" | "pancake";
  credential?: string;
  channel?: string;
  thread?: string;
  message?: string;
  chat?: string;
  user?: string;
  page?: string;
  repository?: string;
  issue?: string;
}
/** A key, without its text */
export interface Key {
  id: string;
  name: string;
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  role: string | null;
  made_by: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}
/** A key to create */
export interface KeyCreate {
  name: string;
  scopes?: string[];
  member?: string;
  expires_at?: string | null;
  expires_in_ms?: number;
}
/** Keys */
export interface KeyList {
  items: Key[];
}
/** A new key, with its text */
export interface KeyMade {
  id: string;
  name: string;
  prefix: string;
  project: string;
  scopes: string[];
  member: string | null;
  role: string | null;
  made_by: string | null;
  created_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  key: string;
  e2b_key: string;
}
/** Validity of the old text */
export interface KeyRotate {
  grace_ms?: number;
}
/** The last event of a sandbox */
export interface LastEvent {
  at: string | null;
  text: string;
}
/** A lease and its sandbox */
export interface Lease {
  key: string;
  username: string;
  sandbox_id: string | null;
  status: string;
  paused: boolean;
  type: string | null;
  node: string | null;
  run: string | null;
  lock_version: number;
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  keep_until: string | null;
  specification: unknown;
}
/** Key of a lease, and the specification of its sandbox if one is created */
export interface LeaseAcquire {
  internet?: boolean;
  network?: "blocked" | "internet";
  previewEnabled?: boolean;
  persistent?: boolean;
  template?: string;
  image?: string;
  pull?: "missing" | "always" | "never";
  snapshot?: string;
  config?: string;
  provider?: string;
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  region?: string;
  labels?: Record<string, string>;
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  gpus?: number;
  previewPublic?: boolean;
  egress?: SandboxEgress;
  volume?: string;
  volumes?: SandboxVolume[];
  persistentHome?: string;
  persistentDiskGb?: number;
  workspace?: string;
  workspaceRoot?: string;
  timeout_ms?: number;
  idle_reap_ms?: number;
  lifetime_max_ms?: number;
  autoPauseMs?: number;
  autoStopMs?: number;
  autoArchiveMs?: number;
  autoDeleteMs?: number;
  key: string;
  continue?: boolean;
  wait_ms?: number;
  idempotency_key?: string;
  update?: boolean;
}
/** A lease and its running sandbox */
export interface LeaseAcquired {
  key: string;
  username: string;
  sandbox_id: string | null;
  status: string;
  paused: boolean;
  type: string | null;
  node: string | null;
  run: string | null;
  lock_version: number;
  total_usage_seconds: number;
  last_activity_at: string | null;
  created_at: string | null;
  keep_until: string | null;
  created: boolean;
  reset: boolean;
}
/** Duration of a keepalive */
export interface LeaseKeepAlive {
  timeoutMs?: number;
}
/** One page of leases */
export interface LeaseList {
  items: Lease[];
  next_page: string | null;
}
/** Number of deleted leases */
export interface LeasesDeleted {
  deleted: number;
}
/** Limits of a sandbox */
export interface Limits {
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** A snapshot or template below a sandbox's files */
export interface LineageStep {
  kind: string;
  id: string;
  name: string | null;
  sandbox: string | null;
  sandbox_name: string | null;
}
/** A volume and its used space at the last measurement */
export interface ListedVolume {
  id: string;
  name: string;
  project: string;
  provider: string;
  node: string;
  state: string;
  workspace?: string;
  size_mb: number;
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  attachments: VolumeMount[];
  used_bytes: number;
}
/** A port that a program listens on */
export interface ListeningPort {
  port: number;
  address: string;
  pid: number;
  process: number;
  command: string;
  preview: boolean;
}
/** TCP ports that programs listen on, by number */
export interface ListeningPortList {
  items: ListeningPort[];
  truncated: boolean;
  version: string;
}
/** A project that a session may choose */
export interface LoginProject {
  id: string;
  name: string;
  role: string | null;
  scopes: string[];
}
/** A session of a browser */
export interface LoginSession {
  id: string;
  kind: string;
  user: LoginUser | null;
  csrf_token: string;
  created_at: string | null;
  expires_at: string | null;
  project: string | null;
  projects: LoginProject[];
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
  address: string;
  user_agent: string;
  is_current: boolean;
  expires_at: string | null;
}
/** The user of a session */
export interface LoginUser {
  id: string;
  email: string;
  name: string;
  is_admin: boolean;
}
/** Events between were deleted before they were read */
export interface LostMessage {
  event: "lost";
  after: number;
  oldest: number;
}
/** The caller */
export interface Me {
  project: string;
  project_name: string;
  key: string | null;
  key_name: string | null;
  scopes: string[];
  user: string | null;
  role: string | null;
  expires_at: string | null;
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
  user: string;
  role: string;
}
/** A member's new role */
export interface MemberChange {
  role: string;
}
/** Members */
export interface MemberList {
  items: Member[];
}
/** A connection that network rules decided on */
export interface NetworkDecision {
  sequence: number;
  at: string | null;
  sandbox: string;
  decision: string;
  code: string;
  rule: string | null;
  credential: string | null;
  protocol: string;
  host: string | null;
  address: string | null;
  port: number;
  count: number;
  bytes_in: number;
  bytes_out: number;
}
/** Network decisions, oldest first */
export interface NetworkDecisionList {
  items: NetworkDecision[];
  after: number;
  oldest: number;
}
/** A connection that the sandbox's network rules refused */
export interface NetworkRefusal {
  host: string | null;
  address: string | null;
  port: number;
  protocol: string;
  code: string;
  rule: string | null;
  count: number;
  message: string;
}
/** The addresses of an OAuth service, and how it differs from the standards */
export interface OAuthService {
  issuer?: string;
  authorize?: string;
  token?: string;
  device?: string;
  revoke?: string;
  extra?: string;
  scope_separator?: string;
  client_auth: "basic" | "post";
  body: "form" | "json";
  revoke_style: "standard" | "github" | "bearer";
  pkce: "on" | "off";
  scopes: string[];
}
/** Owns projects */
export interface Organization {
  id: string;
  name: string;
  created_at: string | null;
}
/** A new name */
export interface OrganizationChange {
  name: string;
}
/** An organisation to make */
export interface OrganizationCreate {
  name: string;
  owner: string;
}
/** Organisations */
export interface OrganizationList {
  items: Organization[];
}
/** A user with a role in the organisation */
export interface OrganizationMember {
  user: string;
  role: "member" | "admin" | "owner";
  created_at: string | null;
}
/** Members */
export interface OrganizationMemberList {
  items: OrganizationMember[];
}
/** A member to add, or whose role to change */
export interface OrganizationMemberPut {
  user: string;
  role: "member" | "admin" | "owner";
}
/** A new password */
export interface PasswordChange {
  old?: string;
  new: string;
}
/** Options of a pause */
export interface Pause {
  disk?: boolean;
}
/** A pool of prepared sandboxes */
export interface Pool {
  state: string;
  problem?: PoolProblem;
  template: string;
  template_id: string | null;
  automatic: boolean;
  min: number;
  target: number;
  max: number;
  ready: number;
  preparing: number;
  hits: number;
  misses: number;
  hit_ratio: number;
  depth: number;
  internet: boolean;
  cpu: number;
  memory_mb: number;
  disk_mb: number;
  pids: number;
}
/** Pools */
export interface PoolList {
  items: Pool[];
}
/** Why a pool cannot be filled */
export interface PoolProblem {
  code: string;
  message: string;
  hint: string;
}
/** Size of a pool of prepared sandboxes */
export interface PoolSize {
  min?: number;
  target?: number;
  max?: number;
  internet?: boolean;
}
/** Preview settings of a sandbox */
export interface Preview {
  enabled: boolean;
  public: boolean;
  ports: string;
  sharingEnabled: boolean;
  reachable: boolean;
  domain: string | null;
}
/** Changes of the preview settings */
export interface PreviewChange {
  enabled?: boolean;
  public?: boolean;
  rotate?: boolean;
}
/** A link to a port */
export interface PreviewLink {
  port: number;
  ttlSeconds?: number;
  private?: boolean;
}
/** A link to a preview */
export interface PreviewLinkMade {
  token: string;
  path: string;
  url: string;
  hostUrl: string | null;
  port: number;
  private: boolean;
  expiresAt: string | null;
}
/** A command that was started in a sandbox */
export interface Process {
  process: number;
  pid: number;
  state: string;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string | null;
  started_at: string | null;
  duration_ms: number;
  stdout_bytes: number;
  stderr_bytes: number;
  tty: boolean;
  warm: boolean;
  label: string;
  user: string;
  cwd: string;
  args: string[];
}
/** Processes, oldest first */
export interface ProcessList {
  items: Process[];
}
/** Owns keys, templates and sandboxes; a platform admin selects a project with the header X-Atoll-Project */
export interface Project {
  id: string;
  name: string;
  organization: string;
  sandboxes_max: number;
  storage_max_mb: number;
  defaults: Limits;
  maximums: Limits;
  closing: boolean;
  provider: string | null;
  isolation: string | null;
  source_address: string | null;
  created_at: string | null;
}
/** Given members replace the stored ones */
export interface ProjectChange {
  name?: string;
  sandboxes_max?: number;
  storage_max_mb?: number;
  defaults?: Limits;
  maximums?: Limits;
  organization?: string;
  provider?: string;
  isolation?: string;
  source_address?: string;
}
/** A project to create */
export interface ProjectCreate {
  name: string;
  sandboxes_max?: number;
  storage_max_mb?: number;
  defaults?: Limits;
  maximums?: Limits;
  organization?: string;
  provider?: string;
  isolation?: string;
  source_address?: string;
  id?: string;
  owner?: string;
}
/** Projects, sorted by name */
export interface ProjectList {
  items: Project[];
  next_page: string | null;
}
/** Storage that a project uses, as last measured, and its limit */
export interface ProjectStorage {
  limit_mb: number;
  bytes: number;
  templates_bytes: number;
  snapshots_bytes: number;
  backups_bytes: number;
  volumes_bytes: number;
}
/** A provider of sandboxes and its health */
export interface Provider {
  name: string;
  kind: string;
  primary: boolean;
  isolation: string;
  abilities: string[];
  unsupported: string[];
  connected: boolean;
  healthy: boolean;
  sandboxes: number;
  max_sandboxes: number;
  stored: boolean;
  draining: boolean;
  allow_weaker: boolean;
  price_hour: number;
  cost_day: number;
  cost_month: number;
  max_cost_day: number;
  max_cost_month: number;
  create_timeout_ms: number;
  max_p99_ms: number;
  slow: boolean;
  accelerator: string | null;
  accelerator_because: string | null;
  warm: ProviderWarm | null;
  creates: number;
  failures: number;
  p50_ms: number;
  p99_ms: number;
  last_error: string | null;
  failed_at: string | null;
}
/** A provider that every server on this store opens */
export interface ProviderAdd {
  name: string;
  kind?: string;
  settings?: Record<string, string>;
}
/** The provider is stored; servers open it within seconds */
export interface ProviderAdded {
  name: string;
  kind: string;
}
/** The provider made a sandbox and ended it */
export interface ProviderCheck {
  name: string;
  took_ms: number;
  accelerator: string | null;
  accelerator_because: string | null;
}
/** A kind of provider and its options */
export interface ProviderKind {
  kind: string;
  isolation: string;
  options: ProviderOption[];
}
/** The kinds of providers of this program */
export interface ProviderKinds {
  items: ProviderKind[];
}
/** An option of one kind of provider */
export interface ProviderOption {
  name: string;
  secret: boolean;
  required: boolean;
  about: string;
}
/** The result of a removal */
export interface ProviderRemoved {
  name: string;
  removed: boolean;
  sandboxes: number;
}
/** Settings and secrets of a provider that was added at run time */
export interface ProviderSet {
  settings: Record<string, string>;
}
/** Sandboxes that the provider runs before they are asked for */
export interface ProviderWarm {
  ready: number;
  starting: number;
  wanted: number;
  hits: number;
  misses: number;
}
/** The providers of this server in the order in which they are tried */
export interface Providers {
  items: Provider[];
}
/** A limit and its use */
export interface Quota {
  scope: "project" | "key" | "organization";
  subject: string;
  name: string;
  unit: string;
  about: string;
  limit: number;
  used: number;
  reset_at: string | null;
}
/** New limits; omitted members keep their values, 0 removes a limit */
export interface QuotaChange {
  sandboxes_running?: number;
  sandboxes_stopped?: number;
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  creates_per_minute?: number;
  requests_per_second?: number;
  egress_mb_per_day?: number;
}
/** Limits and their use */
export interface QuotaList {
  items: Quota[];
}
/** Whether the server can create a sandbox now; status 503 with reason and cure if not */
export interface Readiness {
  status: string;
  version: string;
  provider: string;
  checked_at?: string | null;
  checks: ReadinessCheck[];
  warnings?: ReadinessFailure[];
  providers?: ReadinessProvider[];
  error?: ReadinessFailure;
}
/** One readiness check */
export interface ReadinessCheck {
  name: string;
  ok: boolean;
  took_ms: number;
  code?: string;
  reason?: string;
  cure?: string;
}
/** A failed check, in the form of an API error */
export interface ReadinessFailure {
  code: string;
  message: string;
  hint: string;
}
/** The state of a provider; only the first decides about the status */
export interface ReadinessProvider {
  name: string;
  isolation: string;
  connected: boolean;
  healthy: boolean;
}
/** A recording of a window */
export interface Recording {
  id: string;
  sandbox_id: string;
  process: number;
  size_bytes: number;
  started_at: string | null;
  window: string | null;
  user: string | null;
  duration_ms: number;
}
/** Finished recordings, by sandbox and time */
export interface RecordingList {
  items: Recording[];
}
/** Name and password for a registry */
export interface RegistryLogin {
  username: string;
  password: string;
}
/** Default and maximum limits of the project's sandboxes */
export interface ResourceConfig {
  defaults: Limits;
  maximums: Limits;
  platform: Limits;
  caps: Limits;
  effective: Limits;
}
/** The project's default limits; omitted members are unset */
export interface ResourceConfigPut {
  maximums?: Limits;
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** Limits in effect */
export interface Resources {
  cpu: number;
  memory_mb: number;
  disk_mb: number;
  pids: number;
  disk_advisory: boolean;
}
/** Limits; omitted members and 0 are inherited from the project and the platform */
export interface ResourcesRequest {
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** The result of a command */
export interface Result {
  ok: boolean;
  runtime: string;
  process: number;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string;
  duration_ms: number;
  warm?: boolean;
  stdout: string;
  stdout_encoding?: string;
  stderr: string;
  stderr_encoding?: string;
  truncated: boolean;
  network?: NetworkRefusal[];
  recording?: string;
  contextId?: string;
  execution_count?: number;
  context_ended?: boolean;
  results?: CodeResult[];
  error?: CodeError;
  artifacts?: StoredArtifact[];
}
/** Paths to revert */
export interface Revert {
  paths: string[];
  encoding?: "text" | "base64";
  base?: string;
}
/** Results in the order of the requested paths */
export interface RevertResult {
  items: Reverted[];
}
/** Result for one path */
export interface Reverted {
  path: string;
  ok: boolean;
  restored: number;
  removed: number;
  error?: string;
  message?: string;
  hint?: string;
}
/** The rules that choose providers; the first match decides */
export interface Routing {
  source: string;
  rules: RoutingRule[];
}
/** Rules for every server on this store; the first match decides */
export interface RoutingPut {
  rules: RoutingRule[];
}
/** Which providers make the sandboxes that meet every condition; bounds are inclusive */
export interface RoutingRule {
  name: string;
  project?: string;
  label?: string;
  template?: string;
  isolation?: string;
  memory_mb_min?: number;
  memory_mb_max?: number;
  cpu_min?: number;
  cpu_max?: number;
  price_min?: number;
  price_max?: number;
  providers: string[];
}
/** An isolated computer */
export interface Sandbox {
  id: string;
  name: string;
  state: "pending" | "creating" | "started" | "paused" | "stopping" | "stopped" | "archived" | "deleting" | "deleted" | "failed";
  desired_state: "pending" | "creating" | "started" | "paused" | "stopping" | "stopped" | "archived" | "deleting" | "deleted" | "failed";
  reason: "none" | "user" | "idle" | "lifetime" | "oom" | "exit" | "host_lost" | "error" | "budget" | "disk";
  agent: string | null;
  template: string;
  provider: string;
  isolation: string;
  placed: string | null;
  place: SandboxPlace | null;
  unsupported: string[];
  region: string;
  project: string;
  network: string;
  labels: unknown;
  env_names: string[];
  resources: Resources;
  persistent: boolean;
  created_at: string | null;
  started_at: string | null;
  last_activity_at: string | null;
  timeout_at: string | null;
  uptime_ms: number;
  idle_reap_ms: number;
  lifetime_max_ms: number;
  autoPauseMs: number;
  autoStopMs: number;
  autoArchiveMs: number;
  autoDeleteMs: number;
  awake_until: string | null;
  preview: SandboxPreview;
  egress: SandboxEgress;
  egress_cut: string | null;
  last_event: LastEvent;
  made_from: SandboxOrigin | null;
  lineage: LineageStep[] | null;
  volumes: AttachedVolume[] | null;
  created_by: SandboxCreator;
  version: number;
}
/** Settings for sandboxes */
export interface SandboxConfig {
  internet?: boolean;
  envVars?: Record<string, string>;
  provider?: string;
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  template?: string;
  permissionMode?: string;
  runtimes?: string[];
  timeout?: number;
  memoryLimit?: number;
  outputLimitBytes?: number;
  persistent?: boolean;
  resources?: SandboxConfigResources;
  lifecycle?: SandboxConfigLifecycle;
  options?: SandboxConfigOptions;
}
/** Given members replace the stored ones; config is replaced as a whole */
export interface SandboxConfigChange {
  name?: string;
  config?: SandboxConfig;
}
/** A config to store */
export interface SandboxConfigCreate {
  name: string;
  config?: SandboxConfig;
}
/** When the sandbox ends by itself */
export interface SandboxConfigLifecycle {
  idleTimeoutSeconds?: number;
  maxLifetimeSeconds?: number;
}
/** Reusable configs */
export interface SandboxConfigList {
  items: SandboxConfigRecord[];
}
/** Options of persistent sandboxes; not every provider supports them */
export interface SandboxConfigOptions {
  mountAwsS3Buckets?: boolean;
  workspaceRoot?: string;
  persistentDiskGb?: number;
  persistentHome?: string;
}
/** A reusable config */
export interface SandboxConfigRecord {
  id: string;
  name: string;
  config: SandboxConfig;
  created_at: string | null;
  updated_at: string | null;
}
/** Limits besides memoryLimit; 0: inherited */
export interface SandboxConfigResources {
  cpu?: number;
  diskMb?: number;
  pids?: number;
}
/** Settings of a new sandbox */
export interface SandboxCreate {
  internet?: boolean;
  network?: "blocked" | "internet";
  previewEnabled?: boolean;
  persistent?: boolean;
  template?: string;
  image?: string;
  pull?: "missing" | "always" | "never";
  snapshot?: string;
  config?: string;
  provider?: string;
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  region?: string;
  labels?: Record<string, string>;
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  gpus?: number;
  previewPublic?: boolean;
  egress?: SandboxEgress;
  volume?: string;
  volumes?: SandboxVolume[];
  persistentHome?: string;
  persistentDiskGb?: number;
  workspace?: string;
  workspaceRoot?: string;
  timeout_ms?: number;
  idle_reap_ms?: number;
  lifetime_max_ms?: number;
  autoPauseMs?: number;
  autoStopMs?: number;
  autoArchiveMs?: number;
  autoDeleteMs?: number;
  name?: string;
}
/** The key and the user that made a sandbox */
export interface SandboxCreator {
  key: string | null;
  user: string | null;
}
/** Network destinations that a sandbox may reach */
export interface SandboxEgress {
  allow?: string[];
  deny?: string[];
  presets?: string[];
  credentials?: string[];
  rules?: CredentialRule[];
  mode?: "enforce" | "ask" | "watch";
}
/** Changes of a sandbox's own variables; the template's variables stay */
export interface SandboxEnvironment {
  set?: Record<string, string>;
  unset?: string[];
}
/** Current resource usage of one of several sandboxes */
export interface SandboxFigures {
  sandbox: string;
  state: string;
  sampled_at: string | null;
  uptime_ms: number;
  cpu_usage_us: number;
  cpu_percent: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  disk_bytes: number;
  disk_limit_bytes: number;
  pids: number;
  pids_limit: number;
  network_in_bytes: number;
  network_out_bytes: number;
  oom_kills: number;
}
/** How long to suspend the idle timeout */
export interface SandboxKeepalive {
  timeoutMs: number;
}
/** One page of sandboxes */
export interface SandboxList {
  items: Sandbox[];
  next_page: string | null;
  total: number;
}
/** What a sandbox was made from */
export interface SandboxOrigin {
  kind: string | null;
  snapshot: string | null;
  snapshot_name: string | null;
  sandbox: string | null;
  sandbox_name: string | null;
}
/** How long to suspend the idle timeout */
export interface SandboxPersist {
  hours: number;
}
/** Where the provider runs a sandbox */
export interface SandboxPlace {
  node: string | null;
  object: string | null;
  region: string | null;
}
/** The sandbox that the request would make, with dry_run=true; nothing was made */
export interface SandboxPlan {
  values: SandboxPlanValue[];
  choices: SandboxPlanText[];
  template_ready: boolean;
  price_per_hour_usd: number;
}
/** A planned choice and its source */
export interface SandboxPlanText {
  name: string;
  value: string;
  source: string;
}
/** A planned value and its source */
export interface SandboxPlanValue {
  name: string;
  value: number;
  wanted: number;
  source: string;
  lowered_by: string | null;
}
/** Preview settings; details at /preview */
export interface SandboxPreview {
  enabled: boolean;
  public: boolean;
  ports: string | null;
  sharingEnabled: boolean;
}
/** New limits; omitted members and 0 keep their values */
export interface SandboxResize {
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** Settings of the sandbox that a call makes */
export interface SandboxSpecification {
  internet?: boolean;
  network?: "blocked" | "internet";
  previewEnabled?: boolean;
  persistent?: boolean;
  template?: string;
  image?: string;
  pull?: "missing" | "always" | "never";
  snapshot?: string;
  config?: string;
  provider?: string;
  isolation?: "none" | "namespaces" | "gvisor" | "microvm" | "remote";
  region?: string;
  labels?: Record<string, string>;
  env?: Record<string, string>;
  resources?: ResourcesRequest;
  gpus?: number;
  previewPublic?: boolean;
  egress?: SandboxEgress;
  volume?: string;
  volumes?: SandboxVolume[];
  persistentHome?: string;
  persistentDiskGb?: number;
  workspace?: string;
  workspaceRoot?: string;
  timeout_ms?: number;
  idle_reap_ms?: number;
  lifetime_max_ms?: number;
  autoPauseMs?: number;
  autoStopMs?: number;
  autoArchiveMs?: number;
  autoDeleteMs?: number;
}
/** Settings to change; omitted members stay as they are */
export interface SandboxUpdate {
  idle_reap_ms?: number;
  lifetime_max_ms?: number;
  autoPauseMs?: number;
  autoStopMs?: number;
  autoArchiveMs?: number;
  autoDeleteMs?: number;
  name?: string;
  labels?: Record<string, string>;
  persistent?: boolean;
  timeout_ms?: number;
  version?: number;
}
/** A volume and its mount point */
export interface SandboxVolume {
  volume: string;
  path?: string;
  read_only?: boolean;
  subpath?: string;
}
/** Content of a window's screen */
export interface Screen {
  reason: string;
  text: string | null;
  lines: ScreenLine[];
  rows: number;
  cols: number;
  cursor_row: number;
  cursor_column: number;
  cursor_visible: boolean;
  alternate: boolean;
  title: string;
  offset: number;
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
  foreground: string | null;
  background: string | null;
  bold: boolean;
  italic: boolean;
  underline: boolean;
  reverse: boolean;
  blink: boolean;
  strike: boolean;
}
/** Result of a rotation */
export interface SecretRotation {
  resealed: number;
}
/** The server that answers, its peers, configuration and metrics */
export interface Server {
  version: string;
  build: string;
  provider: string;
  node: string;
  started_at: string | null;
  uptime_ms: number;
  readiness: string;
  checked_at: string | null;
  reason: string | null;
  cure: string | null;
  nodes: ServerNode[];
  configuration: ServerOption[];
  metrics: ServerMetrics;
}
/** The queue of one kind of work */
export interface ServerLane {
  lane: string;
  running: number;
  waiting: number;
  longest_wait_ms: number;
  refused: number;
}
/** A summary of /metrics, of the server that answers */
export interface ServerMetrics {
  connections: number;
  streams: number;
  requests_waiting: number;
  bytes_in: number;
  bytes_out: number;
  responses_2xx: number;
  responses_3xx: number;
  responses_4xx: number;
  responses_5xx: number;
  pool_hits: number;
  pool_misses: number;
  pool_ready: number;
  pool_target: number;
  broker_calls_waiting: number;
  requests: ServerTiming;
  store: ServerTiming;
  lanes: ServerLane[];
}
/** A server of this store */
export interface ServerNode {
  node: string;
  url: string | null;
  state: string;
  seen_at: string | null;
  heartbeat_age_ms: number;
  self: boolean;
}
/** An option of the server */
export interface ServerOption {
  name: string;
  value: string;
  default: string;
  source: string;
  description: string;
  needs_restart: boolean;
}
/** Durations since the start */
export interface ServerTiming {
  count: number;
  failures: number;
  mean_ms: number;
  p50_ms: number;
  p99_ms: number;
}
/** A command that the server keeps running */
export interface Service {
  name: string;
  state: string;
  wanted: boolean;
  pid: number;
  process: number;
  restarts: number;
  failures: number;
  exit_code: number;
  signal: number;
  error: string | null;
  restart_in_ms: number;
  started_at: string | null;
  ended_at: string | null;
  command: string | null;
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
/** Services, sorted by name */
export interface ServiceList {
  items: Service[];
}
/** Output of a service */
export interface ServiceLog {
  name: string;
  stdout: string;
  stderr: string;
  stdout_offset: number;
  stderr_offset: number;
  stdout_next: number;
  stderr_next: number;
  stdout_bytes: number;
  stderr_bytes: number;
}
/** A service: either command, or cmd and args */
export interface ServiceRequest {
  command?: string;
  cmd?: string;
  args?: string[];
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  restart?: "always" | "on-failure" | "no";
  restart_limit?: number;
  restart_delay_ms?: number;
  stop_timeout_ms?: number;
  keep_awake?: boolean;
}
/** A tenant's session and its sandbox */
export interface Session {
  tenant_id: string;
  session_id: string;
  sandbox_id: string;
  created_at: string | null;
  last_used_at: string | null;
}
/** Sessions */
export interface SessionList {
  items: Session[];
}
/** Settings in effect for the project */
export interface Settings {
  idle_reap_seconds: number;
  lifetime_max_seconds: number;
  idle_pause_seconds: number;
  idle_stop_seconds: number;
  terminal_ttl_seconds: number;
  artifacts_max_mb: number;
  artifacts_keep_seconds: number;
  record_terminals: boolean;
  default_isolation: string;
  default_storage_provider: string;
  isolation_choices: string[];
  storage_choices: string[];
}
/** Given members replace the stored ones */
export interface SettingsPut {
  idle_reap_seconds?: number;
  lifetime_max_seconds?: number;
  idle_pause_seconds?: number;
  idle_stop_seconds?: number;
  terminal_ttl_seconds?: number;
  artifacts_max_mb?: number;
  artifacts_keep_seconds?: number;
  record_terminals?: boolean;
  default_isolation?: string;
  default_storage_provider?: string;
}
/** The link that makes the first user */
export interface SetupLink {
  link: string;
  expires_at: string | null;
}
/** Something to sign in with */
export interface SignInOffer {
  email?: string;
  password?: string;
  key?: string;
  setup_token?: string;
  invitation?: string;
  name?: string;
}
/** A provider of OpenID Connect */
export interface SignInProvider {
  name: string;
  path: string;
}
/** How to sign in */
export interface SignInWays {
  password: boolean;
  oidc: SignInProvider | null;
  setup: boolean;
  version: string;
  console: string;
}
/** A signal for a process */
export interface Signal {
  signal: string;
  tree?: boolean;
}
/** A stored skill of the project */
export interface Skill {
  name: string;
  description: string;
  files: number;
  size: number;
  updatedAt: string | null;
}
/** A file of a skill */
export interface SkillFile {
  path: string;
  content?: string;
}
/** Skills by name */
export interface SkillList {
  items: Skill[];
}
/** A skill */
export interface SkillPut {
  description?: string;
  files: SkillFile[];
}
/** The files of a sandbox at one moment */
export interface Snapshot {
  id: string;
  name: string;
  project: string;
  sandbox: string;
  sandbox_name: string;
  parent: string | null;
  template: string;
  provider: string;
  state: string;
  method: string;
  because: string | null;
  depth: number;
  frozen_ms: number;
  created_at: string | null;
  size_bytes: number;
  sandboxes: number;
  backup: boolean;
  backups: SnapshotBackup[];
  lineage: LineageStep[] | null;
}
/** A backup of a snapshot */
export interface SnapshotBackup {
  id: string;
  name: string;
  state: string;
  blob: string;
}
/** Options of a snapshot */
export interface SnapshotCreate {
  name?: string;
  sync?: boolean;
  memory?: boolean;
  backup?: boolean;
}
/** Options of a backup */
export interface SnapshotExport {
  name?: string;
  full?: boolean;
}
/** Backup to make a snapshot from */
export interface SnapshotImport {
  backup: string;
  name?: string;
  template?: string;
}
/** One page of snapshots */
export interface SnapshotList {
  items: Snapshot[];
  next_page: string | null;
}
/** Target of a restore */
export interface SnapshotRestore {
  new?: boolean;
  name?: string;
}
/** Current resource usage of a sandbox */
export interface Stats {
  sampled_at: string | null;
  uptime_ms: number;
  cpu_usage_us: number;
  cpu_percent: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  disk_bytes: number;
  disk_limit_bytes: number;
  pids: number;
  pids_limit: number;
  network_in_bytes: number;
  network_out_bytes: number;
  oom_kills: number;
}
/** The newest samples of a sandbox; a running sandbox adds a current sample */
export interface StatsHistory {
  items: StatsSample[];
  memory_limit_bytes: number;
  disk_limit_bytes: number;
}
/** Resource usage of a sandbox at one time */
export interface StatsSample {
  at: string | null;
  cpu_percent: number;
  cpu_usage_us: number;
  memory_bytes: number;
  disk_bytes: number;
  pids: number;
  network_in_bytes: number;
  network_out_bytes: number;
}
/** Number of stopped sandboxes */
export interface StoppedAll {
  stopped: number;
  left: number;
}
/** A stored file of a sandbox */
export interface StoredArtifact {
  id: string;
  project: string;
  sandbox: string;
  sandbox_name: string;
  run: string | null;
  process: number;
  resultId: string | null;
  path: string;
  name: string;
  media_type: string;
  size: number;
  sha256: string;
  created_at: string | null;
  expires_at: string | null;
  url: string | null;
  url_expires_at: string | null;
}
/** One page of artifacts */
export interface StoredArtifactList {
  items: StoredArtifact[];
  next_page: string | null;
}
/** How much of everything a project has */
export interface Summary {
  project: string;
  sandboxes: SummarySandboxes;
  templates: number;
  builds_running: number;
  volumes: number;
  snapshots: number;
  jobs_running: number;
  approvals_pending: number;
  cost_today: number;
  cost_today_micro: number;
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
/** The root filesystem and settings of new sandboxes */
export interface Template {
  id: string;
  name: string;
  project: string | null;
  description: string;
  state: string;
  state_text: string;
  base_image: string;
  runtime: string;
  isolation: string | null;
  provider: string | null;
  user: string;
  workdir: string;
  env: unknown;
  entrypoint: unknown;
  ports: unknown;
  ready_command: string | null;
  built: boolean;
  resources: unknown;
  pool: unknown;
  warm: unknown;
  idle: unknown;
  public: boolean;
  pulled: boolean;
  used_at: string | null;
  size_bytes: number;
  created_at: string | null;
  updated_at: string | null;
  sandboxes: number;
}
/** Given members replace the stored ones */
export interface TemplateChange {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  public?: boolean;
  description?: string;
  runtime?: string;
  isolation?: string;
  provider?: string;
  user?: string;
  workdir?: string;
  env?: Record<string, string>;
  warm?: TemplateWarm[];
  entrypoint?: string[];
  ports?: unknown;
}
/** A template from a registry's image or another template */
export interface TemplateCreate {
  resources?: TemplateResources;
  pool?: PoolSize;
  idle?: IdleTimes;
  public?: boolean;
  description?: string;
  runtime?: string;
  isolation?: string;
  provider?: string;
  user?: string;
  workdir?: string;
  env?: Record<string, string>;
  warm?: TemplateWarm[];
  entrypoint?: string[];
  ports?: unknown;
  name: string;
  image?: string;
  login?: RegistryLogin;
  from?: string;
}
/** Templates, sorted by name; one page of them with limit */
export interface TemplateList {
  items: Template[];
  next_page: string | null;
}
/** Limits of sandboxes that request none */
export interface TemplateResources {
  cpu?: number;
  memory_mb?: number;
  disk_mb?: number;
  pids?: number;
}
/** An interpreter that each sandbox keeps ready for code */
export interface TemplateWarm {
  language: string;
  imports?: string[];
}
/** Number of added templates */
export interface TemplatesSeeded {
  added: number;
}
/** A terminal to open */
export interface Terminal {
  name?: string;
  rows?: number;
  cols?: number;
  ttl_s?: number;
  record?: boolean;
  command?: string;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  session?: string;
}
/** A text message of the client; input is sent as binary messages */
export interface TerminalControl {
  type: "resize" | "signal" | "eof" | "takeover";
  rows: number;
  columns: number;
  cols: number;
  signal: string;
}
/** A text message of the server; output comes as binary messages */
export interface TerminalMessage {
  type: "started" | "typing" | "taken_over" | "dropped" | "stderr" | "exit";
  process: number;
  pid: number;
  tty: boolean;
  viewer: number | null;
  writes: boolean;
  who: string | null;
  bytes: number;
  offset: number;
  data: string;
  encoding: string;
  exit_code: number;
  signal: string | null;
  timed_out: boolean;
  cause: string;
}
/** An open terminal */
export interface TerminalSession {
  sessionId: string;
  path: string;
  process: number;
  name: string | null;
  created: boolean;
}
/** A call of a tool, in one sandbox */
export interface ToolCall {
  approvalWaitMs?: number;
  sandbox?: SandboxSpecification;
  ephemeral?: boolean;
  workspace?: string;
  sandboxId?: string;
  lease?: string;
  sessionId?: string;
  tenantId?: string;
  config?: string;
  conversationId?: string;
  origin?: JobOrigin;
  input?: unknown;
}
/** The agent tools */
export interface ToolList {
  tools: unknown;
}
/** The result of a tool */
export interface ToolResult {
  content: unknown;
  structuredContent: unknown;
  approvalId: string;
}
/** A deleted item that can be restored */
export interface TrashItem {
  kind: string;
  id: string;
  name?: string;
  project?: string;
  reason: string;
  until: string | null;
  size_bytes: number;
}
/** Deleted items that can be restored */
export interface TrashList {
  items: TrashItem[];
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
  group: string;
  name: string | null;
  seconds: number;
  cpu_seconds: number;
  vcpu_seconds: number;
  memory_gib_seconds: number;
  storage_gib_months: number;
  usd: number;
  usd_micro: number;
}
/** A user */
export interface User {
  id: string;
  email: string;
  name: string;
  is_admin: boolean;
  is_disabled: boolean;
  has_password: boolean;
  issuer: string | null;
  created_at: string | null;
  last_used_at: string | null;
}
/** What to change of a user */
export interface UserChange {
  name?: string;
  is_admin?: boolean;
  is_disabled?: boolean;
}
/** A user to make */
export interface UserCreate {
  email: string;
  name?: string;
  password?: string;
  is_admin?: boolean;
}
/** Users */
export interface UserList {
  items: User[];
  next_page: string | null;
}
/** A user, with a link */
export interface UserMade {
  id: string;
  email: string;
  name: string;
  is_admin: boolean;
  is_disabled: boolean;
  has_password: boolean;
  issuer: string | null;
  created_at: string | null;
  last_used_at: string | null;
  link: string | null;
  link_expires_at: string | null;
}
/** A viewer that is attached to a window by WebSocket */
export interface Viewer {
  viewer: number;
  who: string;
  peer: string;
  writes: boolean;
  attached_at: string | null;
  typed_at: string | null;
}
/** Viewers, in the order of attachment */
export interface ViewerList {
  items: Viewer[];
}
/** Storage that outlives sandboxes */
export interface Volume {
  id: string;
  name: string;
  project: string;
  provider: string;
  node: string;
  state: string;
  workspace?: string;
  size_mb: number;
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  attachments: VolumeMount[];
}
/** A volume to attach, and its mount point */
export interface VolumeAttach {
  volume: string;
  path?: string;
  read_only?: boolean;
  subpath?: string;
}
/** A volume to create */
export interface VolumeCreate {
  name: string;
  size_mb?: number;
}
/** New size of a volume */
export interface VolumeGrow {
  size_mb: number;
}
/** Volumes, sorted by name */
export interface VolumeList {
  items: ListedVolume[];
}
/** A volume mounted in a sandbox */
export interface VolumeMount {
  volume: string;
  volume_id: string;
  sandbox: string;
  sandbox_id: string;
  sandbox_state: string;
  path: string;
  subpath?: string;
  read_only: boolean;
  attached_at: string | null;
}
/** List the volumes of a sandbox */
export interface VolumeMountList {
  items: VolumeMount[];
}
/** A volume and its used space */
export interface VolumeUsage {
  id: string;
  name: string;
  project: string;
  provider: string;
  node: string;
  state: string;
  workspace?: string;
  size_mb: number;
  size_advisory: boolean;
  created_at: string | null;
  updated_at: string | null;
  attachments: VolumeMount[];
  used_bytes: number;
}
/** A message of a watched folder */
export interface WatchMessage {
  event: string;
  path: string;
  is_directory: boolean;
  error: unknown;
}
/** A webhook, without its secret */
export interface Webhook {
  id: string;
  url: string;
  events: string[];
  enabled: boolean;
  problem: string | null;
  waiting: number;
  dead: number;
  created_at: string | null;
  updated_at: string | null;
}
/** Given members replace the stored ones; a webhook that is enabled again receives only new events */
export interface WebhookChange {
  url?: string;
  events?: string[];
  secret?: string;
  enabled?: boolean;
}
/** A webhook to create */
export interface WebhookCreate {
  url: string;
  events?: string[];
  secret?: string;
  enabled?: boolean;
}
/** Webhooks, oldest first */
export interface WebhookList {
  items: Webhook[];
}
/** A new webhook, with its secret */
export interface WebhookMade {
  id: string;
  url: string;
  events: string[];
  enabled: boolean;
  problem: string | null;
  waiting: number;
  dead: number;
  created_at: string | null;
  updated_at: string | null;
  secret: string;
}
/** The result of a test event */
export interface WebhookTest {
  ok: boolean;
  status: number;
  duration_ms: number;
  error: string | null;
}
/** A named terminal */
export interface Window {
  name: string;
  process: number;
  pid: number;
  rows: number;
  cols: number;
  busy: boolean;
  shell: boolean;
  viewers: number;
  ttl_s: number;
  quiet_ms: number;
  output_start: number;
  output_end: number;
  started_at: string | null;
  user: string;
  cwd: string;
}
/** Changes of a window */
export interface WindowChange {
  rows?: number;
  cols?: number;
  ttl_s?: number;
}
/** Input for a window, and conditions to wait for */
export interface WindowKeys {
  text?: string;
  paste?: string;
  keys?: string[];
  wait_text?: string;
  wait_regex?: string;
  wait_change?: boolean;
  quiet_ms?: number;
  wait_ms?: number;
  form?: "text" | "ansi" | "cells";
}
/** Windows, oldest first */
export interface WindowList {
  items: Window[];
}
/** Result of a command in a window */
export interface WindowResult {
  window: string;
  process: number;
  running: boolean;
  exit_code: number;
  output: string;
  since: number;
  end: number;
  dropped: number;
  cancelled: boolean;
  closed: boolean;
}
/** A command for a window */
export interface WindowRun {
  command?: string;
  keep?: boolean;
  wait_ms?: number;
  outputLimitBytes?: number;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
}
/** Files that calls and sandboxes share by a name */
export interface Workspace {
  name: string;
  volume: string;
  volume_id: string;
  node: string;
  sandboxes: string[];
  used_bytes: number;
  created_at: string | null;
}
/** Workspaces, sorted by name */
export interface WorkspaceList {
  items: Workspace[];
}

/** List sandboxes, newest first */
export const getApiSandboxInstances: Operation<undefined, { sort?: "created" | "-created" | "last_activity" | "-last_activity" | "name" | "-name" | "state" | "-state"; state?: string[]; name?: string; q?: string; template?: string; label?: string[]; provider?: string; isolation?: string; region?: string; created_by?: string; fields?: string; page?: string; limit?: number; builds?: boolean }, undefined, SandboxList> = { method: "GET", path: "/api/sandbox/instances", scopes: ["sandbox:read"] };
/** Create and start a sandbox */
export const postApiSandboxInstances: Operation<undefined, { wait?: boolean; dry_run?: boolean }, SandboxCreate, Sandbox> = { method: "POST", path: "/api/sandbox/instances", scopes: ["sandbox:write"] };
/** Get a sandbox by id or name */
export const getApiSandboxInstancesId: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "GET", path: "/api/sandbox/instances/{id}", scopes: ["sandbox:read"] };
/** Change the name, labels and timeouts of a sandbox */
export const patchApiSandboxInstancesId: Operation<{ id: string }, undefined, SandboxUpdate, Sandbox> = { method: "PATCH", path: "/api/sandbox/instances/{id}", scopes: ["sandbox:write"] };
/** Delete a sandbox and its files */
export const deleteApiSandboxInstancesId: Operation<{ id: string }, { keep?: boolean }, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}", scopes: ["sandbox:write"] };
/** Start a stopped sandbox */
export const postApiSandboxInstancesIdStart: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/start", scopes: ["sandbox:write"] };
/** Stop a sandbox; its files are kept */
export const postApiSandboxInstancesIdStop: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/stop", scopes: ["sandbox:write"] };
/** Move the files of a stopped sandbox to the blob store; a start restores them */
export const postApiSandboxInstancesIdArchive: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/archive", scopes: ["sandbox:write"] };
/** Freeze a sandbox; its memory is kept and its next use resumes it */
export const postApiSandboxInstancesIdPause: Operation<{ id: string }, undefined, Pause, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/pause", scopes: ["sandbox:write"] };
/** Resume a paused sandbox */
export const postApiSandboxInstancesIdResume: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/resume", scopes: ["sandbox:write"] };
/** Suspend the idle timeout of a sandbox */
export const postApiSandboxInstancesIdKeepalive: Operation<{ id: string }, undefined, SandboxKeepalive, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/keepalive", scopes: ["sandbox:write"] };
/** Keep a sandbox running for up to 24 hours */
export const postApiSandboxInstancesIdPersist: Operation<{ id: string }, undefined, SandboxPersist, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/persist", scopes: ["sandbox:write"] };
/** Change which destinations a sandbox may reach, immediately */
export const putApiSandboxInstancesIdEgress: Operation<{ id: string }, undefined, SandboxEgress, Sandbox> = { method: "PUT", path: "/api/sandbox/instances/{id}/egress", scopes: ["sandbox:write"] };
/** Current resource usage of a sandbox */
export const getApiSandboxInstancesIdStats: Operation<{ id: string }, undefined, undefined, Stats> = { method: "GET", path: "/api/sandbox/instances/{id}/stats", scopes: ["sandbox:read"] };
/** List samples of a sandbox's resource usage */
export const getApiSandboxInstancesIdStatsHistory: Operation<{ id: string }, { from?: string; until?: string }, undefined, StatsHistory> = { method: "GET", path: "/api/sandbox/instances/{id}/stats/history", scopes: ["sandbox:read"] };
/** Current resource usage of the project's running sandboxes, or a stream of it */
export const getV1Stats: Operation<undefined, { ids?: string[]; stream?: string; interval_ms?: number; page?: string; limit?: number }, undefined, Figures> = { method: "GET", path: "/v1/stats", scopes: ["sandbox:read"] };
/** Count the project's sandboxes, templates, builds and other objects */
export const getV1Summary: Operation<undefined, undefined, undefined, Summary> = { method: "GET", path: "/v1/summary", scopes: ["sandbox:read"] };
/** Take a snapshot of a sandbox's files */
export const postApiSandboxInstancesIdSnapshot: Operation<{ id: string }, undefined, SnapshotCreate, Snapshot> = { method: "POST", path: "/api/sandbox/instances/{id}/snapshot", scopes: ["sandbox:write"] };
/** Take a snapshot of a sandbox and create sandboxes from it; the original continues */
export const postApiSandboxInstancesIdFork: Operation<{ id: string }, undefined, Fork, Forked> = { method: "POST", path: "/api/sandbox/instances/{id}/fork", scopes: ["sandbox:write"] };
/** End all processes and restore the files that the sandbox was created with */
export const postApiSandboxInstancesIdReset: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/reset", scopes: ["sandbox:write"] };
/** List snapshots, newest first */
export const getApiSandboxSnapshots: Operation<undefined, { sandbox?: string; page?: string; limit?: number }, undefined, SnapshotList> = { method: "GET", path: "/api/sandbox/snapshots", scopes: ["sandbox:read"] };
/** Get a snapshot by id or name */
export const getApiSandboxSnapshotsId: Operation<{ id: string }, undefined, undefined, Snapshot> = { method: "GET", path: "/api/sandbox/snapshots/{id}", scopes: ["sandbox:read"] };
/** Delete a snapshot; sandboxes made from it keep working */
export const deleteApiSandboxSnapshotsId: Operation<{ id: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/snapshots/{id}", scopes: ["sandbox:write"] };
/** Restore the files of a snapshot's sandbox; 201 with a new sandbox if that is deleted or a new one is requested */
export const postApiSandboxSnapshotsIdRestore: Operation<{ id: string }, undefined, SnapshotRestore, Sandbox> = { method: "POST", path: "/api/sandbox/snapshots/{id}/restore", scopes: ["sandbox:write"] };
/** Pack a snapshot into one file of the blob store; poll the backup for its state */
export const postApiSandboxSnapshotsIdExport: Operation<{ id: string }, undefined, SnapshotExport, Backup> = { method: "POST", path: "/api/sandbox/snapshots/{id}/export", scopes: ["sandbox:write"] };
/** Make a snapshot from a backup */
export const postApiSandboxSnapshotsImport: Operation<undefined, undefined, SnapshotImport, Snapshot> = { method: "POST", path: "/api/sandbox/snapshots/import", scopes: ["sandbox:write"] };
/** List backups, newest first */
export const getApiSandboxBackups: Operation<undefined, { page?: string; limit?: number }, undefined, BackupList> = { method: "GET", path: "/api/sandbox/backups", scopes: ["sandbox:read"] };
/** Get a backup by id or name */
export const getApiSandboxBackupsId: Operation<{ id: string }, undefined, undefined, Backup> = { method: "GET", path: "/api/sandbox/backups/{id}", scopes: ["sandbox:read"] };
/** Upload a backup under this name; the server accepts it after reading and checking the whole file */
export const putApiSandboxBackupsId: Operation<{ id: string }, { sha256?: string }, undefined, Backup> = { method: "PUT", path: "/api/sandbox/backups/{id}", scopes: ["sandbox:write"] };
/** Delete a backup, or cancel making it */
export const deleteApiSandboxBackupsId: Operation<{ id: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/backups/{id}", scopes: ["sandbox:write"] };
/** Download a backup, or the range of a Range header, as a zstd-compressed tar */
export const getApiSandboxBackupsIdContent: Operation<{ id: string }, undefined, undefined, unknown> = { method: "GET", path: "/api/sandbox/backups/{id}/content", scopes: ["sandbox:read"] };
/** Keep a file of a sandbox as an artifact */
export const postApiSandboxInstancesIdArtifacts: Operation<{ id: string }, undefined, ArtifactKeep, StoredArtifact> = { method: "POST", path: "/api/sandbox/instances/{id}/artifacts", scopes: ["sandbox:write"] };
/** List artifacts, newest first */
export const getApiSandboxArtifacts: Operation<undefined, { sandbox?: string; run?: string; job?: string; page?: string; limit?: number }, undefined, StoredArtifactList> = { method: "GET", path: "/api/sandbox/artifacts", scopes: ["sandbox:read"] };
/** Get an artifact */
export const getApiSandboxArtifactsId: Operation<{ id: string }, undefined, undefined, StoredArtifact> = { method: "GET", path: "/api/sandbox/artifacts/{id}", scopes: ["sandbox:read"] };
/** Delete an artifact */
export const deleteApiSandboxArtifactsId: Operation<{ id: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/artifacts/{id}", scopes: ["sandbox:write"] };
/** Download an artifact; supports Range */
export const getApiSandboxArtifactsIdContent: Operation<{ id: string }, undefined, undefined, unknown> = { method: "GET", path: "/api/sandbox/artifacts/{id}/content", scopes: ["sandbox:read"] };
/** Make a signed address that opens an artifact without a key */
export const postApiSandboxArtifactsIdUrl: Operation<{ id: string }, undefined, ArtifactUrl, StoredArtifact> = { method: "POST", path: "/api/sandbox/artifacts/{id}/url", scopes: ["sandbox:write"] };
/** Download an artifact by its signed address; supports Range */
export const getApiSandboxArtifactsIdDownload: Operation<{ id: string }, { expires?: number; signature?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/artifacts/{id}/download", scopes: [] };
/** Run a command and collect its output, or stream it as server-sent events or NDJSON */
export const postApiSandboxInstancesIdExec: Operation<{ id: string }, { stream?: string }, Exec, Result> = { method: "POST", path: "/api/sandbox/instances/{id}/exec", scopes: ["sandbox:write"] };
/** Run a block of python, javascript, typescript, bash, r, java */
export const postApiSandboxInstancesIdCode: Operation<{ id: string }, { stream?: string }, Code, Result> = { method: "POST", path: "/api/sandbox/instances/{id}/code", scopes: ["sandbox:write"] };
/** List the processes of a sandbox, including ended ones */
export const getApiSandboxInstancesIdProcesses: Operation<{ id: string }, undefined, undefined, ProcessList> = { method: "GET", path: "/api/sandbox/instances/{id}/processes", scopes: ["sandbox:read"] };
/** Get a process */
export const getApiSandboxInstancesIdProcessesProcess: Operation<{ id: string; process: string }, undefined, undefined, Process> = { method: "GET", path: "/api/sandbox/instances/{id}/processes/{process}", scopes: ["sandbox:read"] };
/** Kill a process and forget its output */
export const deleteApiSandboxInstancesIdProcessesProcess: Operation<{ id: string; process: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}/processes/{process}", scopes: ["sandbox:write"] };
/** Write the request's body to a process's standard input */
export const postApiSandboxInstancesIdProcessesProcessStdin: Operation<{ id: string; process: string }, { end?: boolean }, BodyInit, Count> = { method: "POST", path: "/api/sandbox/instances/{id}/processes/{process}/stdin", scopes: ["sandbox:write"] };
/** Send a signal to a process */
export const postApiSandboxInstancesIdProcessesProcessSignal: Operation<{ id: string; process: string }, undefined, Signal, void> = { method: "POST", path: "/api/sandbox/instances/{id}/processes/{process}/signal", scopes: ["sandbox:write"] };
/** Wait for the end of a process and get the collected result */
export const getApiSandboxInstancesIdProcessesProcessWait: Operation<{ id: string; process: string }, { timeout_ms?: number; outputLimitBytes?: number }, undefined, Result> = { method: "GET", path: "/api/sandbox/instances/{id}/processes/{process}/wait", scopes: ["sandbox:read"] };
/** Stream the output of a process from an offset */
export const getApiSandboxInstancesIdProcessesProcessStream: Operation<{ id: string; process: string }, { follow?: boolean; stream?: string; since?: string; since_stdout?: number; since_stderr?: number }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/processes/{process}/stream", scopes: ["sandbox:read"] };
/** Get the output of a process, by default of the newest one */
export const getApiSandboxInstancesIdLogs: Operation<{ id: string }, { follow?: boolean; stream?: string; since?: string; since_stdout?: number; since_stderr?: number; process?: number }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/logs", scopes: ["sandbox:read"] };
/** List a folder */
export const getApiSandboxInstancesIdFiles: Operation<{ id: string }, { path?: string; user?: string; depth?: number; limit?: number; after?: string; passive?: boolean }, undefined, FileList> = { method: "GET", path: "/api/sandbox/instances/{id}/files", scopes: ["sandbox:read"] };
/** Delete a file or folder */
export const deleteApiSandboxInstancesIdFiles: Operation<{ id: string }, { path?: string; user?: string; recursive?: boolean }, undefined, Count> = { method: "DELETE", path: "/api/sandbox/instances/{id}/files", scopes: ["sandbox:write"] };
/** Download a file; supports Range */
export const getApiSandboxInstancesIdFilesContent: Operation<{ id: string }, { path?: string; user?: string; offset?: number; length?: number; passive?: boolean }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/files/content", scopes: ["sandbox:read"] };
/** Upload a file, like PUT */
export const postApiSandboxInstancesIdFilesContent: Operation<{ id: string }, { path?: string; user?: string; mode?: string; append?: boolean; no_replace?: boolean }, BodyInit, FileEntry> = { method: "POST", path: "/api/sandbox/instances/{id}/files/content", scopes: ["sandbox:write"] };
/** Upload a file; missing folders are created */
export const putApiSandboxInstancesIdFilesContent: Operation<{ id: string }, { path?: string; user?: string; mode?: string; append?: boolean; no_replace?: boolean }, BodyInit, FileEntry> = { method: "PUT", path: "/api/sandbox/instances/{id}/files/content", scopes: ["sandbox:write"] };
/** Upload the files of a multipart form into a folder */
export const postApiSandboxInstancesIdFilesUpload: Operation<{ id: string }, { path?: string; user?: string }, BodyInit, FileList> = { method: "POST", path: "/api/sandbox/instances/{id}/files/upload", scopes: ["sandbox:write"] };
/** Download a folder as a tar archive */
export const getApiSandboxInstancesIdFilesTar: Operation<{ id: string }, { path?: string; user?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/files/tar", scopes: ["sandbox:read"] };
/** Unpack a tar archive into a folder */
export const postApiSandboxInstancesIdFilesTar: Operation<{ id: string }, { path?: string; user?: string; changed_since_ms?: number }, BodyInit, Count> = { method: "POST", path: "/api/sandbox/instances/{id}/files/tar", scopes: ["sandbox:write"] };
/** Download a folder as a ZIP archive, at most 100,000 entries */
export const getApiSandboxInstancesIdFilesZip: Operation<{ id: string }, { path?: string; user?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/files/zip", scopes: ["sandbox:read"] };
/** Get the attributes of a file */
export const getApiSandboxInstancesIdFilesStat: Operation<{ id: string }, { path?: string; user?: string; follow?: boolean; passive?: boolean }, undefined, FileEntry> = { method: "GET", path: "/api/sandbox/instances/{id}/files/stat", scopes: ["sandbox:read"] };
/** Watch a folder for changes */
export const getApiSandboxInstancesIdFilesWatch: Operation<{ id: string }, { path?: string; user?: string; recursive?: boolean; stream?: string; passive?: boolean }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/files/watch", scopes: ["sandbox:read"] };
/** Create a folder */
export const postApiSandboxInstancesIdFilesMkdir: Operation<{ id: string }, undefined, FileMkdir, FileEntry> = { method: "POST", path: "/api/sandbox/instances/{id}/files/mkdir", scopes: ["sandbox:write"] };
/** Rename or move a file or folder */
export const postApiSandboxInstancesIdFilesRename: Operation<{ id: string }, undefined, FileMove, FileEntry> = { method: "POST", path: "/api/sandbox/instances/{id}/files/rename", scopes: ["sandbox:write"] };
/** Copy */
export const postApiSandboxInstancesIdFilesCopy: Operation<{ id: string }, undefined, FileMove, FileEntry> = { method: "POST", path: "/api/sandbox/instances/{id}/files/copy", scopes: ["sandbox:write"] };
/** Delete a file or folder, like DELETE */
export const postApiSandboxInstancesIdFilesRemove: Operation<{ id: string }, undefined, FileRemove, Count> = { method: "POST", path: "/api/sandbox/instances/{id}/files/remove", scopes: ["sandbox:write"] };
/** Read a file into JSON */
export const postApiSandboxInstancesIdFilesRead: Operation<{ id: string }, undefined, FileRead, FileContent> = { method: "POST", path: "/api/sandbox/instances/{id}/files/read", scopes: ["sandbox:read"] };
/** Download named paths of a folder as a tar archive */
export const postApiSandboxInstancesIdFilesPack: Operation<{ id: string }, undefined, FilePack, unknown> = { method: "POST", path: "/api/sandbox/instances/{id}/files/pack", scopes: ["sandbox:read"] };
/** Write a file from JSON */
export const postApiSandboxInstancesIdFilesWrite: Operation<{ id: string }, undefined, FileWrite, FileEntry> = { method: "POST", path: "/api/sandbox/instances/{id}/files/write", scopes: ["sandbox:write"] };
/** Open a terminal */
export const postApiSandboxInstancesIdTerminal: Operation<{ id: string }, undefined, Terminal, TerminalSession> = { method: "POST", path: "/api/sandbox/instances/{id}/terminal", scopes: ["sandbox:write"] };
/** Attach to a terminal by WebSocket */
export const getApiSandboxTerminalSessionBrowser: Operation<{ session: string }, { since?: string; read_only?: boolean; takeover?: boolean; ticket?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/terminal/{session}/browser", scopes: ["sandbox:write"] };
/** Attach to a process by WebSocket */
export const getApiSandboxInstancesIdProcessesProcessAttach: Operation<{ id: string; process: string }, { since?: string; read_only?: boolean; takeover?: boolean; ticket?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/processes/{process}/attach", scopes: ["sandbox:write"] };
/** List the project's templates and shared templates */
export const getApiSandboxTemplates: Operation<undefined, { page?: string; limit?: number }, undefined, TemplateList> = { method: "GET", path: "/api/sandbox/templates", scopes: ["sandbox:read"] };
/** Create a template from a registry's image or another template */
export const postApiSandboxTemplates: Operation<undefined, undefined, TemplateCreate, Template> = { method: "POST", path: "/api/sandbox/templates", scopes: ["template:write"] };
/** Add the default templates that are missing */
export const postApiSandboxTemplatesSeed: Operation<undefined, undefined, undefined, TemplatesSeeded> = { method: "POST", path: "/api/sandbox/templates/seed", scopes: ["template:write"] };
/** Create a template from the request's body */
export const postApiSandboxTemplatesImport: Operation<undefined, { name?: string; format?: string; description?: string }, BodyInit, Template> = { method: "POST", path: "/api/sandbox/templates/import", scopes: ["template:write"] };
/** Get a template by name or id */
export const getApiSandboxTemplatesTemplate: Operation<{ template: string }, undefined, undefined, Template> = { method: "GET", path: "/api/sandbox/templates/{template}", scopes: ["sandbox:read"] };
/** Change the settings that a template gives its sandboxes */
export const patchApiSandboxTemplatesTemplate: Operation<{ template: string }, undefined, TemplateChange, Template> = { method: "PATCH", path: "/api/sandbox/templates/{template}", scopes: ["template:write"] };
/** Delete an unused template */
export const deleteApiSandboxTemplatesTemplate: Operation<{ template: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/templates/{template}", scopes: ["template:write"] };
/** List the project's keys, including revoked keys */
export const getApiSandboxKeys: Operation<undefined, undefined, undefined, KeyList> = { method: "GET", path: "/api/sandbox/keys", scopes: ["key:write"] };
/** Create a key */
export const postApiSandboxKeys: Operation<undefined, undefined, KeyCreate, KeyMade> = { method: "POST", path: "/api/sandbox/keys", scopes: ["key:write"] };
/** Revoke a key immediately */
export const deleteApiSandboxKeysKey: Operation<{ key: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/keys/{key}", scopes: ["key:write"] };
/** Replace the text of a key */
export const postApiSandboxKeysKeyRotate: Operation<{ key: string }, undefined, KeyRotate, KeyMade> = { method: "POST", path: "/api/sandbox/keys/{key}/rotate", scopes: ["key:write"] };
/** List projects; callers that are not platform admins see their own project */
export const getV1Projects: Operation<undefined, { page?: string; limit?: number }, undefined, ProjectList> = { method: "GET", path: "/v1/projects", scopes: ["sandbox:read"] };
/** Create a project */
export const postV1Projects: Operation<undefined, undefined, ProjectCreate, Project> = { method: "POST", path: "/v1/projects", scopes: ["admin"] };
/** Get a project; 'me' is the caller's own */
export const getV1ProjectsProject: Operation<{ project: string }, undefined, undefined, Project> = { method: "GET", path: "/v1/projects/{project}", scopes: ["sandbox:read"] };
/** Change a project */
export const patchV1ProjectsProject: Operation<{ project: string }, undefined, ProjectChange, Project> = { method: "PATCH", path: "/v1/projects/{project}", scopes: ["project:write"] };
/** Delete a project and everything that it owns */
export const deleteV1ProjectsProject: Operation<{ project: string }, { force?: boolean }, undefined, void> = { method: "DELETE", path: "/v1/projects/{project}", scopes: ["admin"] };
/** Get the storage that a project uses, and its limit */
export const getV1ProjectsProjectStorage: Operation<{ project: string }, undefined, undefined, ProjectStorage> = { method: "GET", path: "/v1/projects/{project}/storage", scopes: ["sandbox:read"] };
/** Encrypt all stored environments with a new key */
export const postApiSandboxSecretsRotate: Operation<undefined, undefined, undefined, SecretRotation> = { method: "POST", path: "/api/sandbox/secrets/rotate", scopes: ["admin"] };
/** Run a block of code */
export const postV1SandboxExecute: Operation<undefined, undefined, GatewayExecute, GatewayResult> = { method: "POST", path: "/v1/sandbox/execute", scopes: ["sandbox:write"] };
/** Run a shell command */
export const postV1SandboxBash: Operation<undefined, undefined, GatewayBash, GatewayResult> = { method: "POST", path: "/v1/sandbox/bash", scopes: ["sandbox:write"] };
/** Read lines of a text file, in pages */
export const postV1SandboxRead: Operation<undefined, undefined, GatewayRead, FileContent> = { method: "POST", path: "/v1/sandbox/read", scopes: ["sandbox:write"] };
/** Read bytes of a file as base64, in pages */
export const postV1SandboxReadBinary: Operation<undefined, undefined, GatewayReadBinary, FileContent> = { method: "POST", path: "/v1/sandbox/read_binary", scopes: ["sandbox:write"] };
/** Write a file */
export const postV1SandboxWrite: Operation<undefined, undefined, GatewayWrite, FileEntry> = { method: "POST", path: "/v1/sandbox/write", scopes: ["sandbox:write"] };
/** Search the contents of files */
export const postV1SandboxGrep: Operation<undefined, undefined, GatewayGrep, GatewayMatches> = { method: "POST", path: "/v1/sandbox/grep", scopes: ["sandbox:write"] };
/** Find files by a pattern of their paths */
export const postV1SandboxGlob: Operation<undefined, undefined, GatewayGlob, GatewayPaths> = { method: "POST", path: "/v1/sandbox/glob", scopes: ["sandbox:write"] };
/** Write many files into a session's workspace */
export const postV1SandboxSessionsTenantSessionCopy: Operation<{ tenant: string; session: string }, undefined, GatewayCopy, Count> = { method: "POST", path: "/v1/sandbox/sessions/{tenant}/{session}/copy", scopes: ["sandbox:write"] };
/** List the project's sessions */
export const getV1SandboxSessions: Operation<undefined, undefined, undefined, SessionList> = { method: "GET", path: "/v1/sandbox/sessions", scopes: ["admin"] };
/** Delete a session and its sandbox */
export const deleteV1SandboxSessionsTenantSession: Operation<{ tenant: string; session: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/sandbox/sessions/{tenant}/{session}", scopes: ["admin"] };
/** List the agent tools and their schemas */
export const getV1Tools: Operation<undefined, { config?: string; workspace?: string; ephemeral?: boolean }, undefined, ToolList> = { method: "GET", path: "/v1/tools", scopes: ["sandbox:read"] };
/** Call a tool in a sandbox */
export const postV1ToolsName: Operation<{ name: string }, undefined, ToolCall, ToolResult> = { method: "POST", path: "/v1/tools/{name}", scopes: ["sandbox:write"] };
/** List the hosts that a sandbox asks for */
export const getApiSandboxInstancesIdEgressRequests: Operation<{ id: string }, { all?: boolean; page?: string; limit?: number }, undefined, ApprovalList> = { method: "GET", path: "/api/sandbox/instances/{id}/egress/requests", scopes: ["sandbox:read"] };
/** Allow a host that a sandbox asks for, immediately */
export const postApiSandboxInstancesIdEgressRequestsRequestAllow: Operation<{ id: string; request: string }, undefined, ApprovalDecision, Approval> = { method: "POST", path: "/api/sandbox/instances/{id}/egress/requests/{request}/allow", scopes: ["sandbox:write"] };
/** Refuse a host that a sandbox asks for */
export const postApiSandboxInstancesIdEgressRequestsRequestDeny: Operation<{ id: string; request: string }, undefined, ApprovalDecision, Approval> = { method: "POST", path: "/api/sandbox/instances/{id}/egress/requests/{request}/deny", scopes: ["sandbox:write"] };
/** Allow one more host, and keep the other rules */
export const postApiSandboxInstancesIdEgressAllow: Operation<{ id: string }, undefined, EgressAllow, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/egress/allow", scopes: ["sandbox:write"] };
/** Ask whether the rules of a sandbox would allow a connection */
export const getApiSandboxInstancesIdEgressCheck: Operation<{ id: string }, { host?: string; port?: number }, undefined, EgressCheck> = { method: "GET", path: "/api/sandbox/instances/{id}/egress/check", scopes: ["sandbox:read"] };
/** List presets of network rules */
export const getApiSandboxEgressPresets: Operation<undefined, undefined, undefined, EgressPresetList> = { method: "GET", path: "/api/sandbox/egress/presets", scopes: ["sandbox:read"] };
/** List tool calls that need approval */
export const getV1Approvals: Operation<undefined, { state?: string; page?: string; limit?: number }, undefined, ApprovalList> = { method: "GET", path: "/v1/approvals", scopes: ["sandbox:read"] };
/** Get a tool call that needs approval */
export const getV1ApprovalsApproval: Operation<{ approval: string }, undefined, undefined, Approval> = { method: "GET", path: "/v1/approvals/{approval}", scopes: ["sandbox:read"] };
/** Approve a tool call, with another key than the one that made it */
export const postV1ApprovalsApprovalApprove: Operation<{ approval: string }, undefined, ApprovalDecision, Approval> = { method: "POST", path: "/v1/approvals/{approval}/approve", scopes: ["sandbox:write"] };
/** Refuse a tool call */
export const postV1ApprovalsApprovalRefuse: Operation<{ approval: string }, undefined, ApprovalDecision, Approval> = { method: "POST", path: "/v1/approvals/{approval}/refuse", scopes: ["sandbox:write"] };
/** List the consents to credentials */
export const getV1Consents: Operation<undefined, { sandbox?: string; conversation?: string; credential?: string }, undefined, ConsentList> = { method: "GET", path: "/v1/consents", scopes: ["sandbox:read"] };
/** End a conversation's use of a credential, immediately */
export const postV1ConversationsConversationCredentialsCredentialRevoke: Operation<{ conversation: string; credential: string }, undefined, undefined, ConsentsRevoked> = { method: "POST", path: "/v1/conversations/{conversation}/credentials/{credential}/revoke", scopes: ["sandbox:write"] };
/** End a sandbox's use of a credential, immediately */
export const postApiSandboxInstancesIdCredentialsCredentialRevoke: Operation<{ id: string; credential: string }, undefined, undefined, ConsentsRevoked> = { method: "POST", path: "/api/sandbox/instances/{id}/credentials/{credential}/revoke", scopes: ["sandbox:write"] };
/** List the skills that load_skill can load */
export const getV1Skills: Operation<undefined, undefined, undefined, SkillList> = { method: "GET", path: "/v1/skills", scopes: ["sandbox:read"] };
/** Store a skill; a skill of the same name is replaced */
export const putV1SkillsSkill: Operation<{ skill: string }, undefined, SkillPut, Skill> = { method: "PUT", path: "/v1/skills/{skill}", scopes: ["template:write"] };
/** Delete a skill */
export const deleteV1SkillsSkill: Operation<{ skill: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/skills/{skill}", scopes: ["template:write"] };
/** Check that the process is alive */
export const getHealthz: Operation<undefined, undefined, undefined, Health> = { method: "GET", path: "/healthz", scopes: [] };
/** Check that the server can make sandboxes: the last check created one for each kind of network */
export const getReadyz: Operation<undefined, undefined, undefined, Readiness> = { method: "GET", path: "/readyz", scopes: [] };
/** Get version, readiness, nodes, configuration and metrics of the server */
export const getV1Server: Operation<undefined, undefined, undefined, Server> = { method: "GET", path: "/v1/server", scopes: ["admin"] };
/** List the providers of the server */
export const getV1Providers: Operation<undefined, undefined, undefined, Providers> = { method: "GET", path: "/v1/providers", scopes: ["sandbox:read"] };
/** Add a provider to every server on this store */
export const postV1Providers: Operation<undefined, undefined, ProviderAdd, ProviderAdded> = { method: "POST", path: "/v1/providers", scopes: ["admin"] };
/** List the kinds of providers and their options */
export const getV1ProvidersKinds: Operation<undefined, undefined, undefined, ProviderKinds> = { method: "GET", path: "/v1/providers/kinds", scopes: ["sandbox:read"] };
/** Change settings and secrets of a provider on every server on this store */
export const patchV1ProvidersName: Operation<{ name: string }, undefined, ProviderSet, void> = { method: "PATCH", path: "/v1/providers/{name}", scopes: ["admin"] };
/** Remove a provider that was added at run time; 409 while it has sandboxes */
export const deleteV1ProvidersName: Operation<{ name: string }, { drain?: boolean }, undefined, ProviderRemoved> = { method: "DELETE", path: "/v1/providers/{name}", scopes: ["admin"] };
/** Get the rules that choose providers */
export const getV1Routing: Operation<undefined, undefined, undefined, Routing> = { method: "GET", path: "/v1/routing", scopes: ["admin"] };
/** Set the rules that choose providers, for every server on this store */
export const putV1Routing: Operation<undefined, undefined, RoutingPut, Routing> = { method: "PUT", path: "/v1/routing", scopes: ["admin"] };
/** Return to the rules of the configuration */
export const deleteV1Routing: Operation<undefined, undefined, undefined, Routing> = { method: "DELETE", path: "/v1/routing", scopes: ["admin"] };
/** Make a sandbox with a provider and end it */
export const postV1ProvidersNameCheck: Operation<{ name: string }, undefined, undefined, ProviderCheck> = { method: "POST", path: "/v1/providers/{name}/check", scopes: ["admin"] };
/** Get the warm sandbox of a key; it is started or created if needed */
export const postV1LeasesAcquire: Operation<undefined, undefined, LeaseAcquire, LeaseAcquired> = { method: "POST", path: "/v1/leases/acquire", scopes: ["sandbox:write"] };
/** List leases by key */
export const getV1Leases: Operation<undefined, { prefix?: string; page?: string; limit?: number }, undefined, LeaseList> = { method: "GET", path: "/v1/leases", scopes: ["sandbox:read"] };
/** Delete all leases whose keys begin with a prefix, and their sandboxes */
export const deleteV1Leases: Operation<undefined, { prefix?: string }, undefined, LeasesDeleted> = { method: "DELETE", path: "/v1/leases", scopes: ["sandbox:write"] };
/** Get a lease */
export const getV1LeasesKey: Operation<{ key: string }, undefined, undefined, Lease> = { method: "GET", path: "/v1/leases/{key}", scopes: ["sandbox:read"] };
/** Delete a lease and its sandbox */
export const deleteV1LeasesKey: Operation<{ key: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/leases/{key}", scopes: ["sandbox:write"] };
/** Suspend the idle timeout of a lease's sandbox */
export const postV1LeasesKeyKeepalive: Operation<{ key: string }, undefined, LeaseKeepAlive, Lease> = { method: "POST", path: "/v1/leases/{key}/keepalive", scopes: ["sandbox:write"] };
/** End the use of a lease; its sandbox stays warm */
export const postV1LeasesKeyRelease: Operation<{ key: string }, undefined, undefined, Lease> = { method: "POST", path: "/v1/leases/{key}/release", scopes: ["sandbox:write"] };
/** End the use of a lease and freeze its sandbox until the next acquire */
export const postV1LeasesKeyPause: Operation<{ key: string }, undefined, undefined, Lease> = { method: "POST", path: "/v1/leases/{key}/pause", scopes: ["sandbox:write"] };
/** Run a command in a lease's sandbox; the sandbox is created if needed */
export const postV1LeasesKeyExec: Operation<{ key: string }, { stream?: string }, Exec, Result> = { method: "POST", path: "/v1/leases/{key}/exec", scopes: ["sandbox:write"] };
/** Run a block of code in a lease's sandbox; the sandbox is created if needed */
export const postV1LeasesKeyCode: Operation<{ key: string }, { stream?: string }, Code, Result> = { method: "POST", path: "/v1/leases/{key}/code", scopes: ["sandbox:write"] };
/** List a project's members */
export const getV1ProjectsProjectMembers: Operation<{ project: string }, undefined, undefined, MemberList> = { method: "GET", path: "/v1/projects/{project}/members", scopes: ["sandbox:read"] };
/** Add a member */
export const postV1ProjectsProjectMembers: Operation<{ project: string }, undefined, MemberAdd, Member> = { method: "POST", path: "/v1/projects/{project}/members", scopes: ["project:write"] };
/** Change a member's role; the scopes of the member's keys follow it */
export const patchV1ProjectsProjectMembersUser: Operation<{ project: string; user: string }, undefined, MemberChange, Member> = { method: "PATCH", path: "/v1/projects/{project}/members/{user}", scopes: ["project:write"] };
/** Remove a member and revoke the member's keys */
export const deleteV1ProjectsProjectMembersUser: Operation<{ project: string; user: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/projects/{project}/members/{user}", scopes: ["project:write"] };
/** Get the project's settings */
export const getApiSandboxSettings: Operation<undefined, undefined, undefined, Settings> = { method: "GET", path: "/api/sandbox/settings", scopes: ["sandbox:read"] };
/** Change the project's settings */
export const putApiSandboxSettings: Operation<undefined, undefined, SettingsPut, Settings> = { method: "PUT", path: "/api/sandbox/settings", scopes: ["project:write"] };
/** Get the default and maximum limits of the project's sandboxes */
export const getApiSandboxResourceConfig: Operation<undefined, undefined, undefined, ResourceConfig> = { method: "GET", path: "/api/sandbox/resource-config", scopes: ["sandbox:read"] };
/** Set the project's default limits */
export const putApiSandboxResourceConfig: Operation<undefined, undefined, ResourceConfigPut, ResourceConfig> = { method: "PUT", path: "/api/sandbox/resource-config", scopes: ["project:write"] };
/** List reusable sandbox configs */
export const getAccountsMeSandboxes: Operation<undefined, undefined, undefined, SandboxConfigList> = { method: "GET", path: "/accounts/me/sandboxes", scopes: ["sandbox:read"] };
/** Create a sandbox config */
export const postAccountsMeSandboxes: Operation<undefined, undefined, SandboxConfigCreate, SandboxConfigRecord> = { method: "POST", path: "/accounts/me/sandboxes", scopes: ["sandbox:write"] };
/** Get a sandbox config by id or name */
export const getAccountsMeSandboxesConfig: Operation<{ config: string }, undefined, undefined, SandboxConfigRecord> = { method: "GET", path: "/accounts/me/sandboxes/{config}", scopes: ["sandbox:read"] };
/** Change a sandbox config */
export const patchAccountsMeSandboxesConfig: Operation<{ config: string }, undefined, SandboxConfigChange, SandboxConfigRecord> = { method: "PATCH", path: "/accounts/me/sandboxes/{config}", scopes: ["sandbox:write"] };
/** Delete a sandbox config */
export const deleteAccountsMeSandboxesConfig: Operation<{ config: string }, undefined, undefined, void> = { method: "DELETE", path: "/accounts/me/sandboxes/{config}", scopes: ["sandbox:write"] };
/** Get the caller: project, key, scopes and role */
export const getAccountsMe: Operation<undefined, undefined, undefined, Me> = { method: "GET", path: "/accounts/me", scopes: [] };
/** Get the ways to sign in */
export const getV1SignIn: Operation<undefined, undefined, undefined, SignInWays> = { method: "GET", path: "/v1/sign-in", scopes: [] };
/** Make the one-time link of the first user, while no user exists */
export const postV1SignInSetup: Operation<undefined, undefined, undefined, SetupLink> = { method: "POST", path: "/v1/sign-in/setup", scopes: ["admin"] };
/** Get the session of the cookie */
export const getV1Session: Operation<undefined, undefined, undefined, LoginSession> = { method: "GET", path: "/v1/session", scopes: [] };
/** Sign in: answers with a session and sets its cookie */
export const postV1Session: Operation<undefined, undefined, SignInOffer, LoginSession> = { method: "POST", path: "/v1/session", scopes: [] };
/** Sign out */
export const deleteV1Session: Operation<undefined, undefined, undefined, void> = { method: "DELETE", path: "/v1/session", scopes: [] };
/** List the caller's sessions in browsers */
export const getV1Sessions: Operation<undefined, undefined, undefined, LoginSessionList> = { method: "GET", path: "/v1/sessions", scopes: [] };
/** End one of the caller's sessions */
export const deleteV1SessionsSession: Operation<{ session: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/sessions/{session}", scopes: [] };
/** Go to the provider of OpenID Connect */
export const getV1SignInOidc: Operation<undefined, { return_to?: string }, undefined, unknown> = { method: "GET", path: "/v1/sign-in/oidc", scopes: [] };
/** The provider's answer: sets the session's cookie and opens the console */
export const getV1SignInOidcCallback: Operation<undefined, { code?: string; state?: string; iss?: string; error?: string }, undefined, unknown> = { method: "GET", path: "/v1/sign-in/oidc/callback", scopes: [] };
/** List the session's organisations; all with the scope admin */
export const getV1Organizations: Operation<undefined, undefined, undefined, OrganizationList> = { method: "GET", path: "/v1/organizations", scopes: [] };
/** Make an organisation */
export const postV1Organizations: Operation<undefined, undefined, OrganizationCreate, Organization> = { method: "POST", path: "/v1/organizations", scopes: ["admin"] };
/** Get an organisation */
export const getV1OrganizationsOrganization: Operation<{ organization: string }, undefined, undefined, Organization> = { method: "GET", path: "/v1/organizations/{organization}", scopes: [] };
/** Rename an organisation, as its owner */
export const patchV1OrganizationsOrganization: Operation<{ organization: string }, undefined, OrganizationChange, Organization> = { method: "PATCH", path: "/v1/organizations/{organization}", scopes: ["project:write"] };
/** Delete an organisation without projects */
export const deleteV1OrganizationsOrganization: Operation<{ organization: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/organizations/{organization}", scopes: ["admin"] };
/** List an organisation's members */
export const getV1OrganizationsOrganizationMembers: Operation<{ organization: string }, undefined, undefined, OrganizationMemberList> = { method: "GET", path: "/v1/organizations/{organization}/members", scopes: [] };
/** Add a member to an organisation, or change the role */
export const putV1OrganizationsOrganizationMembers: Operation<{ organization: string }, undefined, OrganizationMemberPut, OrganizationMember> = { method: "PUT", path: "/v1/organizations/{organization}/members", scopes: ["project:write"] };
/** Remove a member from an organisation */
export const deleteV1OrganizationsOrganizationMembersUser: Operation<{ organization: string; user: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/organizations/{organization}/members/{user}", scopes: ["project:write"] };
/** List the users of the server */
export const getV1Users: Operation<undefined, { page?: string; limit?: number }, undefined, UserList> = { method: "GET", path: "/v1/users", scopes: ["admin"] };
/** Make a user */
export const postV1Users: Operation<undefined, undefined, UserCreate, UserMade> = { method: "POST", path: "/v1/users", scopes: ["admin"] };
/** Get a user by id or address; without the scope admin oneself */
export const getV1UsersUser: Operation<{ user: string }, undefined, undefined, User> = { method: "GET", path: "/v1/users/{user}", scopes: [] };
/** Rename, disable or promote a user */
export const patchV1UsersUser: Operation<{ user: string }, undefined, UserChange, User> = { method: "PATCH", path: "/v1/users/{user}", scopes: ["admin"] };
/** Remove a user with its memberships, and revoke the keys of these */
export const deleteV1UsersUser: Operation<{ user: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/users/{user}", scopes: ["admin"] };
/** Make a link with which the user sets a password, once */
export const postV1UsersUserLink: Operation<{ user: string }, undefined, undefined, UserMade> = { method: "POST", path: "/v1/users/{user}/link", scopes: ["admin"] };
/** Set a password; ends the user's other sessions */
export const postV1UsersUserPassword: Operation<{ user: string }, undefined, PasswordChange, void> = { method: "POST", path: "/v1/users/{user}/password", scopes: [] };
/** List a user's sessions in browsers */
export const getV1UsersUserSessions: Operation<{ user: string }, undefined, undefined, LoginSessionList> = { method: "GET", path: "/v1/users/{user}/sessions", scopes: ["admin"] };
/** End all sessions of a user */
export const deleteV1UsersUserSessions: Operation<{ user: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/users/{user}/sessions", scopes: ["admin"] };
/** List a project's open invitations */
export const getV1ProjectsProjectInvitations: Operation<{ project: string }, undefined, undefined, InvitationList> = { method: "GET", path: "/v1/projects/{project}/invitations", scopes: ["project:write"] };
/** Invite a person by a link; a newer link replaces an older one */
export const postV1ProjectsProjectInvitations: Operation<{ project: string }, undefined, InvitationCreate, InvitationMade> = { method: "POST", path: "/v1/projects/{project}/invitations", scopes: ["project:write"] };
/** Withdraw an invitation */
export const deleteV1ProjectsProjectInvitationsInvitation: Operation<{ project: string; invitation: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/projects/{project}/invitations/{invitation}", scopes: ["project:write"] };
/** Run a command in a sandbox that is made for it and ends with it */
export const postV1EphemeralExec: Operation<undefined, { stream?: string }, EphemeralExec, Result> = { method: "POST", path: "/v1/ephemeral/exec", scopes: ["sandbox:write"] };
/** Run a block of code in a sandbox that is made for it and ends with it */
export const postV1EphemeralCode: Operation<undefined, { stream?: string }, EphemeralCode, Result> = { method: "POST", path: "/v1/ephemeral/code", scopes: ["sandbox:write"] };
/** List events, oldest first, or follow them */
export const getV1Events: Operation<undefined, { after?: number; last?: number; with?: "object"; limit?: number; sandbox?: string; kind?: string; stream?: string }, undefined, EventList> = { method: "GET", path: "/v1/events", scopes: ["sandbox:read"] };
/** List the events of a sandbox */
export const getApiSandboxInstancesIdEvents: Operation<{ id: string }, { after?: number; limit?: number }, undefined, EventList> = { method: "GET", path: "/api/sandbox/instances/{id}/events", scopes: ["sandbox:read"] };
/** List what was called in sandboxes, oldest first, or follow it */
export const getV1Activity: Operation<undefined, { after?: number; last?: number; kind?: "command" | "code" | "tool" | "file"; format?: "json" | "csv"; limit?: number; user?: string; key?: string; conversation?: string; stream?: string; sandbox?: string }, undefined, ActivityList> = { method: "GET", path: "/v1/activity", scopes: ["sandbox:read"] };
/** List what was called in a sandbox, or follow it */
export const getApiSandboxInstancesIdActivity: Operation<{ id: string }, { after?: number; last?: number; kind?: "command" | "code" | "tool" | "file"; format?: "json" | "csv"; limit?: number; user?: string; key?: string; conversation?: string; stream?: string }, undefined, ActivityList> = { method: "GET", path: "/api/sandbox/instances/{id}/activity", scopes: ["sandbox:read"] };
/** List what the network rules of a sandbox decided */
export const getApiSandboxInstancesIdEgressLog: Operation<{ id: string }, { after?: number; last?: number; decision?: "denied" | "allowed" | "watched"; code?: "ok" | "host-not-allowed" | "address-denied" | "range-refused" | "bad-request" | "limit" | "upstream-unreachable" | "rule-denied" | "host-mismatch" | "credential-expired" | "upstream-untrusted" | "client-distrusts" | "credential-host" | "upstream-proxy-unreachable" | "upstream-proxy-login" | "upstream-proxy-refused" | "source-address-missing" | "direct-refused" | "quota"; protocol?: "tls" | "http" | "dns" | "tcp" | "udp" | "other"; host?: string; limit?: number }, undefined, NetworkDecisionList> = { method: "GET", path: "/api/sandbox/instances/{id}/egress/log", scopes: ["sandbox:read"] };
/** Lists the audit: of the project, of an organisation, or of the server */
export const getV1Audit: Operation<undefined, { after?: number; result?: "ok" | "refused" | "failed" | "interrupted"; all?: boolean; organization?: string; user?: string; key?: string; target?: string; request?: string; action?: string; since?: string | null; until?: string | null; before?: number; limit?: number }, undefined, AuditList> = { method: "GET", path: "/v1/audit", scopes: [] };
/** Exports the audit as JSON lines that verify without the server */
export const getV1AuditExport: Operation<undefined, { after?: number; result?: "ok" | "refused" | "failed" | "interrupted"; all?: boolean; organization?: string; user?: string; key?: string; target?: string; request?: string; action?: string; since?: string | null; until?: string | null; from?: number }, undefined, unknown> = { method: "GET", path: "/v1/audit/export", scopes: [] };
/** The key that signs the audit, and the newest checkpoint */
export const getV1AuditKey: Operation<undefined, undefined, undefined, AuditKey> = { method: "GET", path: "/v1/audit/key", scopes: [] };
/** List the project's webhooks */
export const getV1Webhooks: Operation<undefined, undefined, undefined, WebhookList> = { method: "GET", path: "/v1/webhooks", scopes: ["sandbox:write"] };
/** Create a webhook */
export const postV1Webhooks: Operation<undefined, undefined, WebhookCreate, WebhookMade> = { method: "POST", path: "/v1/webhooks", scopes: ["sandbox:write"] };
/** Get a webhook */
export const getV1WebhooksWebhook: Operation<{ webhook: string }, undefined, undefined, Webhook> = { method: "GET", path: "/v1/webhooks/{webhook}", scopes: ["sandbox:write"] };
/** Change a webhook */
export const patchV1WebhooksWebhook: Operation<{ webhook: string }, undefined, WebhookChange, Webhook> = { method: "PATCH", path: "/v1/webhooks/{webhook}", scopes: ["sandbox:write"] };
/** Delete a webhook and its deliveries */
export const deleteV1WebhooksWebhook: Operation<{ webhook: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/webhooks/{webhook}", scopes: ["sandbox:write"] };
/** Send a test event once and report the receiver's answer */
export const postV1WebhooksWebhookTest: Operation<{ webhook: string }, undefined, undefined, WebhookTest> = { method: "POST", path: "/v1/webhooks/{webhook}/test", scopes: ["sandbox:write"] };
/** List the deliveries of a webhook */
export const getV1WebhooksWebhookDeliveries: Operation<{ webhook: string }, { state?: string; before?: number; limit?: number }, undefined, DeliveryList> = { method: "GET", path: "/v1/webhooks/{webhook}/deliveries", scopes: ["sandbox:write"] };
/** Retry the oldest 1000 dead deliveries of a webhook, with all attempts */
export const postV1WebhooksWebhookDeliveriesRetry: Operation<{ webhook: string }, undefined, undefined, DeliveriesRetried> = { method: "POST", path: "/v1/webhooks/{webhook}/deliveries/retry", scopes: ["sandbox:write"] };
/** Retry a delivery, with all attempts */
export const postV1WebhooksWebhookDeliveriesDeliveryRetry: Operation<{ webhook: string; delivery: string }, undefined, undefined, unknown> = { method: "POST", path: "/v1/webhooks/{webhook}/deliveries/{delivery}/retry", scopes: ["sandbox:write"] };
/** List the credentials of the project and of the caller's user */
export const getV1Credentials: Operation<undefined, undefined, undefined, CredentialList> = { method: "GET", path: "/v1/credentials", scopes: ["sandbox:read"] };
/** Store a credential of the project or of the caller's user */
export const postV1Credentials: Operation<undefined, undefined, CredentialCreate, Credential> = { method: "POST", path: "/v1/credentials", scopes: ["sandbox:write"] };
/** Get a credential, without its values */
export const getV1CredentialsCredential: Operation<{ credential: string }, undefined, undefined, Credential> = { method: "GET", path: "/v1/credentials/{credential}", scopes: ["sandbox:read"] };
/** Change a credential */
export const patchV1CredentialsCredential: Operation<{ credential: string }, undefined, CredentialChange, Credential> = { method: "PATCH", path: "/v1/credentials/{credential}", scopes: ["sandbox:write"] };
/** Delete a credential */
export const deleteV1CredentialsCredential: Operation<{ credential: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/credentials/{credential}", scopes: ["sandbox:write"] };
/** List the connects of the project and of the caller's user */
export const getV1Connects: Operation<undefined, undefined, undefined, ConnectList> = { method: "GET", path: "/v1/connects", scopes: ["sandbox:read"] };
/** Begin a login at an OAuth service, which makes a credential */
export const postV1Connects: Operation<undefined, undefined, ConnectCreate, Connect> = { method: "POST", path: "/v1/connects", scopes: ["sandbox:write"] };
/** The service's answer: the browser comes back with a code */
export const getV1ConnectsCallback: Operation<undefined, { code?: string; state?: string; iss?: string; error?: string }, undefined, unknown> = { method: "GET", path: "/v1/connects/callback", scopes: [] };
/** Get a connect */
export const getV1ConnectsConnect: Operation<{ connect: string }, undefined, undefined, Connect> = { method: "GET", path: "/v1/connects/{connect}", scopes: ["sandbox:read"] };
/** Revoke the tokens at the service, and delete connect and credential */
export const deleteV1ConnectsConnect: Operation<{ connect: string }, { force?: boolean }, undefined, void> = { method: "DELETE", path: "/v1/connects/{connect}", scopes: ["sandbox:write"] };
/** List the services whose hosts and OAuth servers are known */
export const getV1CredentialPresets: Operation<undefined, undefined, undefined, CredentialPresetList> = { method: "GET", path: "/v1/credential-presets", scopes: ["sandbox:read"] };
/** List the background jobs of a conversation */
export const getV1Jobs: Operation<undefined, { conversation?: string; sandbox?: string; status?: "running" | "completed" | "failed" | "stopped"; before?: number; limit?: number }, undefined, JobList> = { method: "GET", path: "/v1/jobs", scopes: ["sandbox:read"] };
/** Get the state of a background job */
export const getV1JobsJob: Operation<{ job: string }, { conversation?: string }, undefined, Job> = { method: "GET", path: "/v1/jobs/{job}", scopes: ["sandbox:read"] };
/** Get the output of a background job: the last bytes, or from an offset */
export const getV1JobsJobLogs: Operation<{ job: string }, { conversation?: string; since_stdout?: number; since_stderr?: number; tail?: number }, undefined, JobLogs> = { method: "GET", path: "/v1/jobs/{job}/logs", scopes: ["sandbox:read"] };
/** Stop a background job and all its processes */
export const postV1JobsJobStop: Operation<{ job: string }, { conversation?: string }, undefined, Job> = { method: "POST", path: "/v1/jobs/{job}/stop", scopes: ["sandbox:write"] };
/** List the chat services that can report the ends of jobs */
export const getV1Channels: Operation<undefined, undefined, undefined, ChannelList> = { method: "GET", path: "/v1/channels", scopes: ["sandbox:write"] };
/** Set the token of a chat service */
export const putV1ChannelsName: Operation<{ name: string }, undefined, ChannelPut, Channel> = { method: "PUT", path: "/v1/channels/{name}", scopes: ["sandbox:write"] };
/** Delete a channel */
export const deleteV1ChannelsName: Operation<{ name: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/channels/{name}", scopes: ["sandbox:write"] };
/** List messages about jobs: delivered, waiting and dead */
export const getV1JobDeliveries: Operation<undefined, { state?: string; before?: number; limit?: number }, undefined, JobDeliveryList> = { method: "GET", path: "/v1/job-deliveries", scopes: ["sandbox:write"] };
/** Send a message again */
export const postV1JobDeliveriesJobRetry: Operation<{ job: string }, undefined, undefined, unknown> = { method: "POST", path: "/v1/job-deliveries/{job}/retry", scopes: ["sandbox:write"] };
/** Get usage and cost in groups; an admin that names no project gets all projects */
export const getV1Usage: Operation<undefined, { from?: string; to?: string; group_by?: "project" | "key" | "sandbox" | "run" | "reason" | "day" | "template" | "user" | "total" | "conversation" | "label"; format?: "json" | "csv"; key?: string; sandbox?: string; run?: string; conversation?: string; label?: string; page?: string; limit?: number }, undefined, Usage> = { method: "GET", path: "/v1/usage", scopes: ["sandbox:read"] };
/** Get what the project deposited and spent */
export const getV1Balance: Operation<undefined, undefined, undefined, Balance> = { method: "GET", path: "/v1/balance", scopes: ["sandbox:read"] };
/** Book a deposit; each id is booked once */
export const postV1BalanceDeposits: Operation<undefined, undefined, DepositCreate, Deposit> = { method: "POST", path: "/v1/balance/deposits", scopes: ["admin"] };
/** List the project's budgets */
export const getV1Budgets: Operation<undefined, undefined, undefined, BudgetList> = { method: "GET", path: "/v1/budgets", scopes: ["sandbox:read"] };
/** Create a budget; it warns, then stops sandboxes and refuses new ones, or refuses the calls of its run or conversation */
export const postV1Budgets: Operation<undefined, undefined, BudgetCreate, Budget> = { method: "POST", path: "/v1/budgets", scopes: ["project:write"] };
/** Change a budget's limit or warning */
export const patchV1BudgetsBudget: Operation<{ budget: string }, undefined, BudgetUpdate, Budget> = { method: "PATCH", path: "/v1/budgets/{budget}", scopes: ["project:write"] };
/** Delete a budget */
export const deleteV1BudgetsBudget: Operation<{ budget: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/budgets/{budget}", scopes: ["project:write"] };
/** List the pools of the project's templates and of shared templates */
export const getApiSandboxPools: Operation<undefined, undefined, undefined, PoolList> = { method: "GET", path: "/api/sandbox/pools", scopes: ["sandbox:read"] };
/** Set the size of a template's pool */
export const putApiSandboxPoolsTemplate: Operation<{ template: string }, undefined, PoolSize, Pool> = { method: "PUT", path: "/api/sandbox/pools/{template}", scopes: ["template:write"] };
/** List volumes */
export const getApiSandboxVolumes: Operation<undefined, undefined, undefined, VolumeList> = { method: "GET", path: "/api/sandbox/volumes", scopes: ["sandbox:read"] };
/** Create a volume */
export const postApiSandboxVolumes: Operation<undefined, undefined, VolumeCreate, Volume> = { method: "POST", path: "/api/sandbox/volumes", scopes: ["sandbox:write"] };
/** Get a volume by name or id, with its used space */
export const getApiSandboxVolumesVolume: Operation<{ volume: string }, undefined, undefined, VolumeUsage> = { method: "GET", path: "/api/sandbox/volumes/{volume}", scopes: ["sandbox:read"] };
/** Raise the size limit of a volume */
export const patchApiSandboxVolumesVolume: Operation<{ volume: string }, undefined, VolumeGrow, Volume> = { method: "PATCH", path: "/api/sandbox/volumes/{volume}", scopes: ["sandbox:write"] };
/** Delete a volume and its files; no sandbox may have it attached */
export const deleteApiSandboxVolumesVolume: Operation<{ volume: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/volumes/{volume}", scopes: ["sandbox:write"] };
/** List the volumes of a sandbox */
export const getApiSandboxInstancesIdVolume: Operation<{ id: string }, undefined, undefined, VolumeMountList> = { method: "GET", path: "/api/sandbox/instances/{id}/volume", scopes: ["sandbox:read"] };
/** Attach a volume to a running or stopped sandbox */
export const postApiSandboxInstancesIdVolume: Operation<{ id: string }, undefined, VolumeAttach, VolumeMountList> = { method: "POST", path: "/api/sandbox/instances/{id}/volume", scopes: ["sandbox:write"] };
/** Detach a volume from a sandbox */
export const deleteApiSandboxInstancesIdVolume: Operation<{ id: string }, { volume?: string; force?: boolean }, undefined, VolumeMountList> = { method: "DELETE", path: "/api/sandbox/instances/{id}/volume", scopes: ["sandbox:write"] };
/** List a folder of a volume */
export const getApiSandboxVolumesVolumeFiles: Operation<{ volume: string }, { path?: string; user?: string; depth?: number; limit?: number; after?: string; passive?: boolean }, undefined, FileList> = { method: "GET", path: "/api/sandbox/volumes/{volume}/files", scopes: ["sandbox:read"] };
/** Delete a file or folder of a volume */
export const deleteApiSandboxVolumesVolumeFiles: Operation<{ volume: string }, { path?: string; user?: string; recursive?: boolean }, undefined, Count> = { method: "DELETE", path: "/api/sandbox/volumes/{volume}/files", scopes: ["sandbox:write"] };
/** Download a file of a volume; supports Range */
export const getApiSandboxVolumesVolumeFilesContent: Operation<{ volume: string }, { path?: string; user?: string; offset?: number; length?: number; passive?: boolean }, undefined, unknown> = { method: "GET", path: "/api/sandbox/volumes/{volume}/files/content", scopes: ["sandbox:read"] };
/** Upload a file into a volume; missing folders are created */
export const putApiSandboxVolumesVolumeFilesContent: Operation<{ volume: string }, { path?: string; user?: string; mode?: string; append?: boolean; no_replace?: boolean }, BodyInit, FileEntry> = { method: "PUT", path: "/api/sandbox/volumes/{volume}/files/content", scopes: ["sandbox:write"] };
/** Download a folder of a volume as a tar archive */
export const getApiSandboxVolumesVolumeFilesTar: Operation<{ volume: string }, { path?: string; user?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/volumes/{volume}/files/tar", scopes: ["sandbox:read"] };
/** Unpack a tar archive into a volume */
export const postApiSandboxVolumesVolumeFilesTar: Operation<{ volume: string }, { path?: string; user?: string; changed_since_ms?: number }, BodyInit, Count> = { method: "POST", path: "/api/sandbox/volumes/{volume}/files/tar", scopes: ["sandbox:write"] };
/** Get the attributes of a file of a volume */
export const getApiSandboxVolumesVolumeFilesStat: Operation<{ volume: string }, { path?: string; user?: string; follow?: boolean; passive?: boolean }, undefined, FileEntry> = { method: "GET", path: "/api/sandbox/volumes/{volume}/files/stat", scopes: ["sandbox:read"] };
/** Create a folder in a volume */
export const postApiSandboxVolumesVolumeFilesMkdir: Operation<{ volume: string }, undefined, FileMkdir, FileEntry> = { method: "POST", path: "/api/sandbox/volumes/{volume}/files/mkdir", scopes: ["sandbox:write"] };
/** Rename or move a file or folder within a volume */
export const postApiSandboxVolumesVolumeFilesRename: Operation<{ volume: string }, undefined, FileMove, FileEntry> = { method: "POST", path: "/api/sandbox/volumes/{volume}/files/rename", scopes: ["sandbox:write"] };
/** List a folder of a lease's sandbox; the sandbox is created if needed */
export const getV1LeasesKeyFiles: Operation<{ key: string }, { path?: string; user?: string; depth?: number; limit?: number; after?: string; passive?: boolean }, undefined, FileList> = { method: "GET", path: "/v1/leases/{key}/files", scopes: ["sandbox:write"] };
/** Delete a file or folder of a lease's sandbox */
export const deleteV1LeasesKeyFiles: Operation<{ key: string }, { path?: string; user?: string; recursive?: boolean }, undefined, Count> = { method: "DELETE", path: "/v1/leases/{key}/files", scopes: ["sandbox:write"] };
/** Download a file of a lease's sandbox; supports Range */
export const getV1LeasesKeyFilesContent: Operation<{ key: string }, { path?: string; user?: string; offset?: number; length?: number; passive?: boolean }, undefined, unknown> = { method: "GET", path: "/v1/leases/{key}/files/content", scopes: ["sandbox:write"] };
/** Upload a file into a lease's sandbox; missing folders are created */
export const putV1LeasesKeyFilesContent: Operation<{ key: string }, { path?: string; user?: string; mode?: string; append?: boolean; no_replace?: boolean }, BodyInit, FileEntry> = { method: "PUT", path: "/v1/leases/{key}/files/content", scopes: ["sandbox:write"] };
/** Download a folder of a lease's sandbox as a tar archive */
export const getV1LeasesKeyFilesTar: Operation<{ key: string }, { path?: string; user?: string }, undefined, unknown> = { method: "GET", path: "/v1/leases/{key}/files/tar", scopes: ["sandbox:write"] };
/** Unpack a tar archive in a lease's sandbox */
export const postV1LeasesKeyFilesTar: Operation<{ key: string }, { path?: string; user?: string; changed_since_ms?: number }, BodyInit, Count> = { method: "POST", path: "/v1/leases/{key}/files/tar", scopes: ["sandbox:write"] };
/** Get the attributes of a file of a lease's sandbox */
export const getV1LeasesKeyFilesStat: Operation<{ key: string }, { path?: string; user?: string; follow?: boolean; passive?: boolean }, undefined, FileEntry> = { method: "GET", path: "/v1/leases/{key}/files/stat", scopes: ["sandbox:write"] };
/** Create a folder in a lease's sandbox */
export const postV1LeasesKeyFilesMkdir: Operation<{ key: string }, undefined, FileMkdir, FileEntry> = { method: "POST", path: "/v1/leases/{key}/files/mkdir", scopes: ["sandbox:write"] };
/** Rename or move a file or folder of a lease's sandbox */
export const postV1LeasesKeyFilesRename: Operation<{ key: string }, undefined, FileMove, FileEntry> = { method: "POST", path: "/v1/leases/{key}/files/rename", scopes: ["sandbox:write"] };
/** Read a file of a lease's sandbox into JSON */
export const postV1LeasesKeyFilesRead: Operation<{ key: string }, undefined, FileRead, FileContent> = { method: "POST", path: "/v1/leases/{key}/files/read", scopes: ["sandbox:write"] };
/** Download named paths of a folder of a lease's sandbox as a tar archive */
export const postV1LeasesKeyFilesPack: Operation<{ key: string }, undefined, FilePack, unknown> = { method: "POST", path: "/v1/leases/{key}/files/pack", scopes: ["sandbox:write"] };
/** Write a file of a lease's sandbox from JSON */
export const postV1LeasesKeyFilesWrite: Operation<{ key: string }, undefined, FileWrite, FileEntry> = { method: "POST", path: "/v1/leases/{key}/files/write", scopes: ["sandbox:write"] };
/** List the changes of a sandbox against its template or a snapshot */
export const getApiSandboxInstancesIdChanges: Operation<{ id: string }, { base?: string; path?: string; page?: string; limit?: number }, undefined, ChangeList> = { method: "GET", path: "/api/sandbox/instances/{id}/changes", scopes: ["sandbox:read"] };
/** The same as a patch */
export const getApiSandboxInstancesIdDiff: Operation<{ id: string }, { base?: string; path?: string; page?: string; limit?: number; format?: "json" | "patch" }, undefined, ChangeList> = { method: "GET", path: "/api/sandbox/instances/{id}/diff", scopes: ["sandbox:read"] };
/** Accept the changes of a sandbox: take a snapshot */
export const postApiSandboxInstancesIdChangesAccept: Operation<{ id: string }, undefined, SnapshotCreate, Snapshot> = { method: "POST", path: "/api/sandbox/instances/{id}/changes/accept", scopes: ["sandbox:write"] };
/** Revert paths of a sandbox to their content in the base */
export const postApiSandboxInstancesIdChangesRevert: Operation<{ id: string }, undefined, Revert, RevertResult> = { method: "POST", path: "/api/sandbox/instances/{id}/changes/revert", scopes: ["sandbox:write"] };
/** List the changes of a snapshot against the previous snapshot or its template */
export const getApiSandboxSnapshotsIdChanges: Operation<{ id: string }, { base?: string; path?: string; page?: string; limit?: number }, undefined, ChangeList> = { method: "GET", path: "/api/sandbox/snapshots/{id}/changes", scopes: ["sandbox:read"] };
/** The same as a patch */
export const getApiSandboxSnapshotsIdDiff: Operation<{ id: string }, { base?: string; path?: string; page?: string; limit?: number; format?: "json" | "patch" }, undefined, ChangeList> = { method: "GET", path: "/api/sandbox/snapshots/{id}/diff", scopes: ["sandbox:read"] };
/** List the open windows of a sandbox */
export const getApiSandboxInstancesIdWindows: Operation<{ id: string }, undefined, undefined, WindowList> = { method: "GET", path: "/api/sandbox/instances/{id}/windows", scopes: ["sandbox:read"] };
/** Get a window */
export const getApiSandboxInstancesIdWindowsWindow: Operation<{ id: string; window: string }, undefined, undefined, Window> = { method: "GET", path: "/api/sandbox/instances/{id}/windows/{window}", scopes: ["sandbox:read"] };
/** Change a window's size or idle timeout */
export const patchApiSandboxInstancesIdWindowsWindow: Operation<{ id: string; window: string }, undefined, WindowChange, Window> = { method: "PATCH", path: "/api/sandbox/instances/{id}/windows/{window}", scopes: ["sandbox:write"] };
/** Close a window and end its processes */
export const deleteApiSandboxInstancesIdWindowsWindow: Operation<{ id: string; window: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}/windows/{window}", scopes: ["sandbox:write"] };
/** List the viewers of a window */
export const getApiSandboxInstancesIdWindowsWindowViewers: Operation<{ id: string; window: string }, undefined, undefined, ViewerList> = { method: "GET", path: "/api/sandbox/instances/{id}/windows/{window}/viewers", scopes: ["sandbox:read"] };
/** Get a window's screen and cursor */
export const getApiSandboxInstancesIdWindowsWindowScreen: Operation<{ id: string; window: string }, { form?: "text" | "ansi" | "cells"; passive?: boolean }, undefined, Screen> = { method: "GET", path: "/api/sandbox/instances/{id}/windows/{window}/screen", scopes: ["sandbox:read"] };
/** Type into a window, wait, and get the screen; running programs are not interrupted */
export const postApiSandboxInstancesIdWindowsWindowKeys: Operation<{ id: string; window: string }, undefined, WindowKeys, Screen> = { method: "POST", path: "/api/sandbox/instances/{id}/windows/{window}/keys", scopes: ["sandbox:write"] };
/** Run a command in a window; the window is created if needed */
export const postApiSandboxInstancesIdWindowsWindowRun: Operation<{ id: string; window: string }, undefined, WindowRun, WindowResult> = { method: "POST", path: "/api/sandbox/instances/{id}/windows/{window}/run", scopes: ["sandbox:write"] };
/** List workspaces */
export const getV1Workspaces: Operation<undefined, undefined, undefined, WorkspaceList> = { method: "GET", path: "/v1/workspaces", scopes: ["sandbox:read"] };
/** Get a workspace */
export const getV1WorkspacesWorkspace: Operation<{ workspace: string }, undefined, undefined, Workspace> = { method: "GET", path: "/v1/workspaces/{workspace}", scopes: ["sandbox:read"] };
/** Delete a workspace with its files and the sandbox that is reserved for it; no other sandbox may have it */
export const deleteV1WorkspacesWorkspace: Operation<{ workspace: string }, undefined, undefined, void> = { method: "DELETE", path: "/v1/workspaces/{workspace}", scopes: ["sandbox:write"] };
/** List the contexts of a sandbox */
export const getApiSandboxInstancesIdCodeContexts: Operation<{ id: string }, undefined, undefined, CodeContextList> = { method: "GET", path: "/api/sandbox/instances/{id}/code/contexts", scopes: ["sandbox:read"] };
/** Start an interpreter that keeps its state */
export const postApiSandboxInstancesIdCodeContexts: Operation<{ id: string }, undefined, CodeContextCreate, CodeContext> = { method: "POST", path: "/api/sandbox/instances/{id}/code/contexts", scopes: ["sandbox:write"] };
/** Get a context */
export const getApiSandboxInstancesIdCodeContextsContext: Operation<{ id: string; context: string }, undefined, undefined, CodeContext> = { method: "GET", path: "/api/sandbox/instances/{id}/code/contexts/{context}", scopes: ["sandbox:read"] };
/** Delete a context and end everything that runs in it */
export const deleteApiSandboxInstancesIdCodeContextsContext: Operation<{ id: string; context: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}/code/contexts/{context}", scopes: ["sandbox:write"] };
/** Restart a context; its state is lost */
export const postApiSandboxInstancesIdCodeContextsContextRestart: Operation<{ id: string; context: string }, undefined, undefined, CodeContext> = { method: "POST", path: "/api/sandbox/instances/{id}/code/contexts/{context}/restart", scopes: ["sandbox:write"] };
/** Interrupt the running block of code; the state is kept */
export const postApiSandboxInstancesIdCodeContextsContextInterrupt: Operation<{ id: string; context: string }, undefined, undefined, void> = { method: "POST", path: "/api/sandbox/instances/{id}/code/contexts/{context}/interrupt", scopes: ["sandbox:write"] };
/** List the project's recordings */
export const getApiSandboxRecordings: Operation<undefined, { sandbox?: string }, undefined, RecordingList> = { method: "GET", path: "/api/sandbox/recordings", scopes: ["sandbox:read"] };
/** Download a recording as an asciicast file */
export const getApiSandboxRecordingsRecording: Operation<{ recording: string }, undefined, undefined, unknown> = { method: "GET", path: "/api/sandbox/recordings/{recording}", scopes: ["sandbox:read"] };
/** Delete a recording */
export const deleteApiSandboxRecordingsRecording: Operation<{ recording: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/recordings/{recording}", scopes: ["sandbox:write"] };
/** Download the file of a link; supports Range */
export const getApiSandboxInstancesIdFilesLink: Operation<{ id: string }, { path?: string; user?: string; expires?: number; signature?: string }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/files/link", scopes: [] };
/** Make a link by which a file can be downloaded without a key */
export const postApiSandboxInstancesIdFilesLink: Operation<{ id: string }, undefined, FileLinkCreate, FileLink> = { method: "POST", path: "/api/sandbox/instances/{id}/files/link", scopes: ["sandbox:write"] };
/** Search names and contents of files */
export const getApiSandboxInstancesIdFilesSearch: Operation<{ id: string }, { q?: string; path?: string; glob?: string; user?: string; in?: "both" | "names" | "content"; limit?: number; regex?: boolean; match_case?: boolean }, undefined, FileSearch> = { method: "GET", path: "/api/sandbox/instances/{id}/files/search", scopes: ["sandbox:read"] };
/** List the TCP ports that programs listen on; neither wakes a sandbox nor counts as its use */
export const getApiSandboxInstancesIdPorts: Operation<{ id: string }, { changed_from?: string }, undefined, ListeningPortList> = { method: "GET", path: "/api/sandbox/instances/{id}/ports", scopes: ["sandbox:read"] };
/** List the services of a sandbox */
export const getApiSandboxInstancesIdServices: Operation<{ id: string }, undefined, undefined, ServiceList> = { method: "GET", path: "/api/sandbox/instances/{id}/services", scopes: ["sandbox:read"] };
/** Get the state of a service */
export const getApiSandboxInstancesIdServicesService: Operation<{ id: string; service: string }, undefined, undefined, Service> = { method: "GET", path: "/api/sandbox/instances/{id}/services/{service}", scopes: ["sandbox:read"] };
/** Create or change a service; an unchanged service continues undisturbed */
export const putApiSandboxInstancesIdServicesService: Operation<{ id: string; service: string }, undefined, ServiceRequest, Service> = { method: "PUT", path: "/api/sandbox/instances/{id}/services/{service}", scopes: ["sandbox:write"] };
/** Stop a service and delete it */
export const deleteApiSandboxInstancesIdServicesService: Operation<{ id: string; service: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}/services/{service}", scopes: ["sandbox:write"] };
/** Get the output of a background job: the last bytes, or from an offset */
export const getApiSandboxInstancesIdServicesServiceLogs: Operation<{ id: string; service: string }, { since_stdout?: number; since_stderr?: number; tail?: number }, undefined, ServiceLog> = { method: "GET", path: "/api/sandbox/instances/{id}/services/{service}/logs", scopes: ["sandbox:read"] };
/** Start a service that was stopped or has ended */
export const postApiSandboxInstancesIdServicesServiceStart: Operation<{ id: string; service: string }, undefined, undefined, Service> = { method: "POST", path: "/api/sandbox/instances/{id}/services/{service}/start", scopes: ["sandbox:write"] };
/** Stop a service; it stays stopped when the sandbox starts again */
export const postApiSandboxInstancesIdServicesServiceStop: Operation<{ id: string; service: string }, undefined, undefined, Service> = { method: "POST", path: "/api/sandbox/instances/{id}/services/{service}/stop", scopes: ["sandbox:write"] };
/** Stop a service and start it again */
export const postApiSandboxInstancesIdServicesServiceRestart: Operation<{ id: string; service: string }, undefined, undefined, Service> = { method: "POST", path: "/api/sandbox/instances/{id}/services/{service}/restart", scopes: ["sandbox:write"] };
/** Change the limits of a sandbox; a running sandbox gets them immediately */
export const postApiSandboxInstancesIdResize: Operation<{ id: string }, undefined, SandboxResize, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/resize", scopes: ["sandbox:write"] };
/** Change a sandbox's variables; processes that start later get them */
export const postApiSandboxInstancesIdEnv: Operation<{ id: string }, undefined, SandboxEnvironment, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/env", scopes: ["sandbox:write"] };
/** Get the limits and the use of the caller's project, key and organisation */
export const getV1Quotas: Operation<undefined, undefined, undefined, QuotaList> = { method: "GET", path: "/v1/quotas", scopes: ["sandbox:read"] };
/** Get the limits and the use of a project, a key or an organisation */
export const getV1QuotasScopeSubject: Operation<{ scope: string; subject: string }, undefined, undefined, QuotaList> = { method: "GET", path: "/v1/quotas/{scope}/{subject}", scopes: ["admin"] };
/** Set limits of a project, a key or an organisation */
export const patchV1QuotasScopeSubject: Operation<{ scope: string; subject: string }, undefined, QuotaChange, QuotaList> = { method: "PATCH", path: "/v1/quotas/{scope}/{subject}", scopes: ["admin"] };
/** List deleted items that can be restored */
export const getApiSandboxTrash: Operation<undefined, { all?: boolean }, undefined, TrashList> = { method: "GET", path: "/api/sandbox/trash", scopes: ["sandbox:read"] };
/** Restore an orphaned sandbox and create a row for it */
export const postApiSandboxTrashIdRecover: Operation<{ id: string }, undefined, undefined, void> = { method: "POST", path: "/api/sandbox/trash/{id}/recover", scopes: ["admin"] };
/** Restore a sandbox that was deleted with keep=true; it is stopped afterwards */
export const postApiSandboxInstancesIdUndelete: Operation<{ id: string }, undefined, undefined, Sandbox> = { method: "POST", path: "/api/sandbox/instances/{id}/undelete", scopes: ["sandbox:write"] };
/** Stop all sandboxes of all projects; their files are kept */
export const postApiSandboxStopAll: Operation<undefined, { for_good?: boolean }, undefined, StoppedAll> = { method: "POST", path: "/api/sandbox/stop-all", scopes: ["admin"] };
/** List builds, newest first */
export const getApiSandboxTemplatesBuilds: Operation<undefined, { name?: string; page?: string; limit?: number }, undefined, BuildList> = { method: "GET", path: "/api/sandbox/templates/builds", scopes: ["sandbox:read"] };
/** Build a template from steps; the reply does not wait for the build */
export const postApiSandboxTemplatesBuilds: Operation<undefined, undefined, BuildCreate, Build> = { method: "POST", path: "/api/sandbox/templates/builds", scopes: ["template:write"] };
/** Get a build */
export const getApiSandboxTemplatesBuildsBuild: Operation<{ build: string }, undefined, undefined, Build> = { method: "GET", path: "/api/sandbox/templates/builds/{build}", scopes: ["sandbox:read"] };
/** Cancel a build and delete it with its log */
export const deleteApiSandboxTemplatesBuildsBuild: Operation<{ build: string }, undefined, undefined, void> = { method: "DELETE", path: "/api/sandbox/templates/builds/{build}", scopes: ["template:write"] };
/** Get the log of a build, or follow it */
export const getApiSandboxTemplatesBuildsBuildLogs: Operation<{ build: string }, { since?: number; follow?: boolean; stream?: string }, undefined, BuildLogs> = { method: "GET", path: "/api/sandbox/templates/builds/{build}/logs", scopes: ["sandbox:read"] };
/** Cancel a build */
export const postApiSandboxTemplatesBuildsBuildCancel: Operation<{ build: string }, undefined, undefined, Build> = { method: "POST", path: "/api/sandbox/templates/builds/{build}/cancel", scopes: ["template:write"] };
/** Check whether files for copy steps exist */
export const getApiSandboxTemplatesBuildsFilesHash: Operation<{ hash: string }, undefined, undefined, BuildFiles> = { method: "GET", path: "/api/sandbox/templates/builds/files/{hash}", scopes: ["sandbox:read"] };
/** Upload files for copy steps as tar, tar.gz or tar.zst, under a digest of their content */
export const putApiSandboxTemplatesBuildsFilesHash: Operation<{ hash: string }, undefined, undefined, BuildFiles> = { method: "PUT", path: "/api/sandbox/templates/builds/files/{hash}", scopes: ["template:write"] };
/** Get the preview settings of a sandbox */
export const getApiSandboxInstancesIdPreview: Operation<{ id: string }, undefined, undefined, Preview> = { method: "GET", path: "/api/sandbox/instances/{id}/preview", scopes: ["sandbox:read"] };
/** Change the preview settings of a sandbox, or revoke all links */
export const patchApiSandboxInstancesIdPreview: Operation<{ id: string }, undefined, PreviewChange, Preview> = { method: "PATCH", path: "/api/sandbox/instances/{id}/preview", scopes: ["sandbox:write"] };
/** Create a link to a port of a sandbox */
export const postApiSandboxInstancesIdPreviewTokens: Operation<{ id: string }, undefined, PreviewLink, PreviewLinkMade> = { method: "POST", path: "/api/sandbox/instances/{id}/preview-tokens", scopes: ["sandbox:write"] };
/** Clone a repository into a sandbox */
export const postApiSandboxInstancesIdGitClone: Operation<{ id: string }, undefined, GitClone, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/clone", scopes: ["sandbox:write"] };
/** Get the state of a repository */
export const getApiSandboxInstancesIdGitStatus: Operation<{ id: string }, { path?: string }, undefined, GitStatus> = { method: "GET", path: "/api/sandbox/instances/{id}/git/status", scopes: ["sandbox:read"] };
/** Get changes as a patch; the header Atoll-Truncated marks a shortened patch */
export const getApiSandboxInstancesIdGitDiff: Operation<{ id: string }, { path?: string; from?: string; to?: string; file?: string[]; staged?: boolean }, undefined, unknown> = { method: "GET", path: "/api/sandbox/instances/{id}/git/diff", scopes: ["sandbox:read"] };
/** Commits, newest first */
export const getApiSandboxInstancesIdGitLog: Operation<{ id: string }, { path?: string; limit?: number }, undefined, GitLog> = { method: "GET", path: "/api/sandbox/instances/{id}/git/log", scopes: ["sandbox:read"] };
/** Stage files */
export const postApiSandboxInstancesIdGitAdd: Operation<{ id: string }, undefined, GitAdd, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/add", scopes: ["sandbox:write"] };
/** Commit staged files */
export const postApiSandboxInstancesIdGitCommit: Operation<{ id: string }, undefined, GitCommitRequest, GitHash> = { method: "POST", path: "/api/sandbox/instances/{id}/git/commit", scopes: ["sandbox:write"] };
/** List branches */
export const getApiSandboxInstancesIdGitBranches: Operation<{ id: string }, { path?: string }, undefined, GitBranches> = { method: "GET", path: "/api/sandbox/instances/{id}/git/branches", scopes: ["sandbox:read"] };
/** Create a branch */
export const postApiSandboxInstancesIdGitBranches: Operation<{ id: string }, undefined, GitBranch, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/branches", scopes: ["sandbox:write"] };
/** Delete a branch, merged or unmerged */
export const deleteApiSandboxInstancesIdGitBranches: Operation<{ id: string }, { path?: string; name?: string }, undefined, void> = { method: "DELETE", path: "/api/sandbox/instances/{id}/git/branches", scopes: ["sandbox:write"] };
/** Check out a branch or commit */
export const postApiSandboxInstancesIdGitCheckout: Operation<{ id: string }, undefined, GitCheckout, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/checkout", scopes: ["sandbox:write"] };
/** Push a branch */
export const postApiSandboxInstancesIdGitPush: Operation<{ id: string }, undefined, GitPush, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/push", scopes: ["sandbox:write"] };
/** Pull and merge a branch */
export const postApiSandboxInstancesIdGitPull: Operation<{ id: string }, undefined, GitPull, void> = { method: "POST", path: "/api/sandbox/instances/{id}/git/pull", scopes: ["sandbox:write"] };
