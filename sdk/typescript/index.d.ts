// SPDX-License-Identifier: Apache-2.0
import type * as types from './types.js';

export type { types };

/** Address of the server and key. Default: ATOLL_API_URL and ATOLL_API_KEY. */
export interface ConnectionOptions {
  apiUrl?: string;
  apiKey?: string;
  /** Project of the calls, for an admin key. */
  project?: string;
  /** Time limit of a call (60 s); of a stream, between two pieces. */
  timeoutMs?: number;
  /** How often a call is repeated that may be repeated (2). */
  retries?: number;
  fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  query?: Record<string, string | number | boolean | null | undefined>;
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Makes a POST safe to be sent again, where the API takes it: creates and acquires. */
  idempotencyKey?: string;
}

export type Bytes = string | Uint8Array | ArrayBuffer | Blob;
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<string | Uint8Array>;

// ---- commands ----

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  /** A text, or true to keep the input open for sendStdin. */
  stdin?: string | true;
  /** Time limit; the command is killed afterwards and timedOut is true. */
  timeoutMs?: number;
  tty?: boolean;
  rows?: number;
  columns?: number;
  label?: string;
  /** Conversation of the job; only it can query the job. origin: where the end is reported. */
  conversation?: string;
  origin?: types.JobOrigin;
  /** Bytes kept of each stream in the result (16 MiB); the callbacks get all of it. */
  outputLimitBytes?: number;
  onStdout?: (text: string, bytes: Uint8Array) => unknown;
  onStderr?: (text: string, bytes: Uint8Array) => unknown;
  /** A folder: its files that the command makes or changes are kept as artifacts. */
  artifacts?: string;
  onArtifact?: (artifact: types.StoredArtifact) => unknown;
  /** Records the output as asciicast; of a command in the background to its end. */
  record?: boolean;
  /** Kills the command. */
  signal?: AbortSignal;
  background?: boolean;
}

export interface CommandResult {
  /** Exit code 0 and in time. */
  ok: boolean;
  exitCode: number;
  signal: string | null;
  timedOut: boolean;
  /** Why it ended: oom is a kill for memory, disk a full one, canceled a caller's signal. */
  cause: 'exit' | 'signal' | 'timeout' | 'oom' | 'file_size' | 'disk' | 'process_limit' | 'canceled' | 'sandbox_ended';
  durationMs: number;
  process: number;
  stdout: string;
  stderr: string;
  /** Output is missing in stdout or stderr: more than outputLimitBytes, or no longer kept by the server. */
  truncated: boolean;
  artifacts: types.StoredArtifact[];
  /** What network rules refused in the sandbox while it ran. */
  network: types.NetworkRefusal[];
  /** With record: the id of the recording, at /api/sandbox/recordings a moment later. */
  recording?: string;
}

export class CommandHandle {
  /** Its number in the sandbox. */
  readonly process: number;
  readonly pid: number;
  /** Id of the job of a command in the background, for new Atoll().jobs. */
  readonly resultId?: string;
  /** Of a command in the background with record: the id of its recording, which is listed when it has ended. */
  readonly recording?: string;
  /** Output so far, if wait() was called or a callback was given. */
  readonly stdout: string;
  readonly stderr: string;
  wait(): Promise<CommandResult>;
  /** False when it had ended. */
  kill(signal?: string): Promise<boolean>;
  sendStdin(data: Bytes, options?: { end?: boolean }): Promise<void>;
  closeStdin(): Promise<void>;
  info(): Promise<types.Process>;
}

export interface Program {
  cmd: string;
  args?: string[];
}

/** The names of a config and of a workspace, settings of the sandbox, and members of the call, as in the API. */
export interface EphemeralOptions {
  config?: string;
  workspace?: string;
  sandbox?: types.SandboxSpecification;
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  stdin?: string;
  timeout_ms?: number;
  outputLimitBytes?: number;
  artifacts?: string;
  signal?: AbortSignal;
}

type Background = { background: true };
type FollowOptions = Pick<RunOptions, 'onStdout' | 'onStderr' | 'outputLimitBytes' | 'signal'>;

export interface Commands {
  run(command: string | Program, options: RunOptions & Background): Promise<CommandHandle>;
  run(command: (Program & RunOptions) & Background): Promise<CommandHandle>;
  run(command: string | (Program & RunOptions), options?: RunOptions): Promise<CommandResult>;
  list(): Promise<types.Process[]>;
  connect(process: number, options?: FollowOptions): Promise<CommandHandle>;
  kill(process: number, signal?: string): Promise<boolean>;
}

export type CodeLanguage = types.Code['language'];

/** The exception that ended a block. */
export type CodeError = Required<types.CodeError>;

export interface CodeResult extends CommandResult {
  /** The value of the last expression as text. */
  text?: string;
  /** What the block shows, in all its forms: text, html, png (base64), chart and others. Empty without a context. */
  results: types.CodeResult[];
  /** Null if the block raised nothing, and without a context. */
  error: CodeError | null;
  /** Number of the block in its context. */
  executionCount: number | null;
  /** Id of the context. */
  context: string | null;
  /** The interpreter has ended and its variables are lost. */
  contextEnded: boolean;
}

export interface CodeCallbacks {
  onResult?: (result: types.CodeResult) => unknown;
  onError?: (error: CodeError) => unknown;
}

/** Options of a block in a context. The block is interrupted when `signal` is aborted or `timeoutMs` has passed. */
export interface CodeOptions
  extends CodeCallbacks,
    Pick<RunOptions, 'env' | 'timeoutMs' | 'onStdout' | 'onStderr' | 'outputLimitBytes' | 'artifacts' | 'onArtifact' | 'record' | 'signal'> {
  /** Python, or the language of the given context, unless given. */
  language?: CodeLanguage;
  /** An id, or an answer of contexts.create. By default the language's own context. */
  context?: string | types.CodeContext;
}

/** Options of a block in a process of its own, which keeps no variables. */
export interface CodeAloneOptions extends RunOptions, CodeCallbacks {
  language?: CodeLanguage;
  context: null;
}

/** Interpreters of a sandbox that keep variables, functions and folder between blocks. */
export interface CodeContexts {
  create(options?: types.CodeContextCreate): Promise<types.CodeContext>;
  list(): Promise<types.CodeContext[]>;
  get(context: string | types.CodeContext): Promise<types.CodeContext>;
  /** Interrupts the block that runs, as Ctrl-C does. Variables are kept. */
  interrupt(context: string | types.CodeContext): Promise<types.CodeContext>;
  /** Starts the interpreter again. Its variables are lost; its id stays. */
  restart(context: string | types.CodeContext): Promise<types.CodeContext>;
  /** Ends the interpreter and deletes the context. */
  remove(context: string | types.CodeContext): Promise<void>;
}

export interface Code {
  readonly contexts: CodeContexts;
  /** Runs a block; variables are kept from block to block unless `context` is null. An exception is `error` of the answer. */
  run(code: string, options?: CodeOptions): Promise<CodeResult>;
  run(code: string, options: CodeAloneOptions & Background): Promise<CommandHandle>;
  run(code: string, options: CodeAloneOptions): Promise<CodeResult>;
}

// ---- files ----

export interface UserOption {
  /** Who does it; else the template's user. */
  user?: string;
}
export interface TransferOptions extends UserOption {
  signal?: AbortSignal;
  timeoutMs?: number;
}
export interface ReadOptions extends TransferOptions {
  offset?: number;
  length?: number;
}
export interface WriteOptions extends TransferOptions {
  /** Octal, of a new file. */
  mode?: string;
  append?: boolean;
  noReplace?: boolean;
}
export interface FileChange {
  event: 'created' | 'modified' | 'removed' | 'renamed' | 'chmodded' | 'lost';
  path?: string;
  is_directory?: boolean;
}

export interface Files {
  read(path: string, options?: ReadOptions & { format?: 'text' }): Promise<string>;
  read(path: string, options: ReadOptions & { format: 'bytes' }): Promise<Uint8Array>;
  read(path: string, options: ReadOptions & { format: 'stream' }): Promise<ReadableStream<Uint8Array>>;
  write(path: string, data: Bytes | ByteStream, options?: WriteOptions): Promise<types.FileEntry>;
  list(path?: string, options?: UserOption & { depth?: number; limit?: number }): Promise<types.FileEntry[]>;
  search(text: string, options?: UserOption & { path?: string; glob?: string; in?: 'names' | 'content' | 'both'; limit?: number; regex?: boolean; match_case?: boolean }): Promise<types.FileSearch>;
  link(path: string, options?: UserOption & { expiresIn?: number }): Promise<types.FileLink>;
  stat(path: string, options?: UserOption & { follow?: boolean }): Promise<types.FileEntry>;
  exists(path: string, options?: UserOption & { follow?: boolean }): Promise<boolean>;
  remove(path: string, options?: UserOption & { recursive?: boolean }): Promise<number>;
  rename(from: string, to: string, options?: UserOption & { parents?: boolean; noReplace?: boolean }): Promise<types.FileEntry>;
  copy(
    from: string,
    to: string,
    options?: UserOption & { recursive?: boolean; parents?: boolean; noReplace?: boolean },
  ): Promise<types.FileEntry>;
  mkdir(path: string, options?: UserOption & { mode?: string; parents?: boolean }): Promise<types.FileEntry>;
  watch(
    path?: string,
    options?: UserOption & { recursive?: boolean; signal?: AbortSignal; onReady?: () => void },
  ): AsyncGenerator<FileChange>;
  upload(local: string, path: string, options?: WriteOptions): Promise<types.FileEntry>;
  download(path: string, local: string, options?: TransferOptions): Promise<void>;
  archive(path?: string, options?: TransferOptions): Promise<ReadableStream<Uint8Array>>;
  extract(path: string, tar: Bytes | ByteStream, options?: TransferOptions): Promise<types.Count>;
}

export type VolumeFiles = Omit<Files, 'copy' | 'watch' | 'search' | 'link'>;

// ---- sandboxes ----

export interface SandboxQuery {
  /** One state, or several, separated by commas. */
  state?: string;
  name?: string;
  /** Part of the name, of the id or of a label as KEY=VALUE. */
  q?: string;
  template?: string;
  label?: string;
  provider?: string;
  isolation?: string;
  region?: string;
  /** Id of a key or of a user; me: the caller. */
  created_by?: string;
  /** "created", "last_activity", "name" or "state"; "-name": descending. */
  sort?: string;
  /** Members of the items, separated by commas. */
  fields?: string;
  /** Also those that builds made for themselves. */
  builds?: boolean;
  limit?: number;
}
/** Progress of the template; the percentage once it is known. */
export interface CreateProgress {
  message: string;
  percent?: number;
}
export type CreateOptions = types.SandboxCreate & {
  signal?: AbortSignal;
  idempotencyKey?: string;
  /** Called while the template is built or imported. */
  onProgress?: (progress: CreateProgress) => unknown;
};

/** Commands that are kept running: restarted when they crash, and when the sandbox is started. */
export interface Services {
  /** Creates or changes a service; one that is already so keeps running. */
  put(name: string, options: types.ServiceRequest): Promise<types.Service>;
  list(): Promise<types.Service[]>;
  get(name: string): Promise<types.Service>;
  /** Gets the end of the output, or the output after `since_stdout` and `since_stderr`. */
  logs(name: string, query?: { since_stdout?: number; since_stderr?: number; tail?: number }): Promise<types.ServiceLog>;
  start(name: string): Promise<types.Service>;
  stop(name: string): Promise<types.Service>;
  restart(name: string): Promise<types.Service>;
  remove(name: string): Promise<void>;
}

export interface KillOptions {
  /** Keep the files in the trash for some time, so that undelete can restore the sandbox. */
  keep?: boolean;
}

export class Sandbox {
  private constructor();
  static create(options?: CreateOptions & ConnectionOptions): Promise<Sandbox>;
  /** Says what create would make of the same options, with the source of each value and the price. Makes nothing. */
  static plan(options?: Omit<CreateOptions, 'onProgress' | 'idempotencyKey'> & ConnectionOptions): Promise<types.SandboxPlan>;
  static connect(id: string, options?: ConnectionOptions): Promise<Sandbox>;
  static list(options?: SandboxQuery & ConnectionOptions): Promise<types.Sandbox[]>;
  static kill(id: string, options?: KillOptions & ConnectionOptions): Promise<boolean>;
  /** Restores a sandbox that was deleted with keep, by its id. It is stopped afterwards. */
  static undelete(id: string, options?: ConnectionOptions): Promise<Sandbox>;
  /** Lists the sandboxes that undelete can restore, and until when. */
  static trash(options?: ConnectionOptions): Promise<types.TrashItem[]>;
  readonly id: string;
  readonly name: string;
  /** The state that the last call returned; refresh() gets the current one. */
  readonly info: types.Sandbox;
  readonly commands: Commands;
  readonly files: Files;
  readonly code: Code;
  readonly services: Services;
  kill(options?: KillOptions): Promise<boolean>;
  refresh(): Promise<types.Sandbox>;
  isRunning(): Promise<boolean>;
  /** Changes the name, the labels or the timeouts; with version, only if the sandbox still has it. */
  update(change: types.SandboxUpdate): Promise<types.Sandbox>;
  pause(options?: types.Pause): Promise<types.Sandbox>;
  resume(): Promise<types.Sandbox>;
  start(): Promise<types.Sandbox>;
  stop(): Promise<types.Sandbox>;
  keepAlive(timeoutMs: number): Promise<types.Sandbox>;
  reset(): Promise<types.Sandbox>;
  stats(): Promise<types.Stats>;
  ports(): Promise<types.ListeningPort[]>;
  snapshot(options?: types.SnapshotCreate): Promise<types.Snapshot>;
  fork(options?: types.Fork): Promise<{ sandboxes: Sandbox[]; snapshot: types.Snapshot }>;
  rollback(snapshot: string): Promise<types.Sandbox>;
  activity(query?: {
    kind?: 'command' | 'code' | 'tool' | 'file';
    user?: string;
    key?: string;
    conversation?: string;
    after?: number;
    last?: number;
    limit?: number;
  }): Promise<types.Activity[]>;
  /** Replaces the network rules. */
  setEgress(rules: types.SandboxEgress): Promise<types.Sandbox>;
  /** Allows one more host, at once, and keeps the other rules. */
  allowHost(host: string): Promise<types.Sandbox>;
  /** What the network rules decided: a page, oldest first. {last: 50} gives the newest. */
  egressLog(query?: {
    decision?: 'denied' | 'allowed' | 'watched';
    code?: string;
    protocol?: string;
    host?: string;
    after?: number;
    last?: number;
    limit?: number;
  }): Promise<types.NetworkDecision[]>;
  checkEgress(host: string, port?: number): Promise<types.EgressCheck>;
  /** The hosts that the sandbox asks for. */
  accessRequests(query?: { all?: boolean }): Promise<types.Approval[]>;
  /** An allowed host works when it is tried again. */
  decideAccess(request: string, allow: boolean, note?: string): Promise<types.Approval>;
  changes(query?: { base?: string; path?: string; limit?: number }): Promise<types.Change[]>;
  diff(query?: { base?: string; path?: string }): Promise<string>;
  openTerminal(options?: types.Terminal): Promise<types.TerminalSession>;
  tool(name: string, input: unknown, options?: Omit<types.ToolCall, 'sandboxId' | 'input'>): Promise<types.ToolResult>;
  preview(): Promise<types.Preview>;
  setPreview(change: types.PreviewChange): Promise<types.Preview>;
  previewLink(port: number, options?: Omit<types.PreviewLink, 'port'>): Promise<types.PreviewLinkMade>;
  keepArtifact(path: string, options?: { user?: string; keepSeconds?: number }): Promise<types.StoredArtifact>;
  volumes(): Promise<types.VolumeMount[]>;
  attachVolume(options: types.VolumeAttach): Promise<types.VolumeMountList>;
}

export type LeaseOptions = Omit<types.LeaseAcquire, 'key' | 'idempotency_key'> & {
  signal?: AbortSignal;
  idempotencyKey?: string;
};

/** Calls fn with the key's sandbox. If the sandbox no longer exists, calls it once more with a new one. */
export function withSandbox<T>(
  key: string,
  fn: (sandbox: Sandbox) => T | Promise<T>,
  options?: LeaseOptions & ConnectionOptions,
): Promise<T>;

// ---- a server ----

export interface Leases {
  acquire(key: string, options?: LeaseOptions): Promise<{ lease: types.LeaseAcquired; sandbox: Sandbox }>;
  get(key: string): Promise<types.Lease>;
  list(query?: { prefix?: string; limit?: number; page?: string }): Promise<types.Lease[]>;
  keepAlive(key: string, timeoutMs: number): Promise<types.Lease>;
  release(key: string): Promise<types.Lease>;
  pause(key: string): Promise<types.Lease>;
  delete(key: string): Promise<void>;
  with<T>(key: string, fn: (sandbox: Sandbox) => T | Promise<T>, options?: LeaseOptions): Promise<T>;
}

export interface Collection<Item, Create, Made = Item> {
  list(query?: CallOptions['query']): Promise<Item[]>;
  get(id: string): Promise<Item>;
  create(body: Create): Promise<Made>;
  delete(id: string): Promise<void>;
}

export interface BuildLine {
  line: number;
  at: string;
  step: number;
  level: string;
  stream: string;
  text: string;
}

export interface UsageQuery {
  from?: string;
  to?: string;
  group_by?: string;
  key?: string;
  sandbox?: string;
  run?: string;
  page?: string;
  limit?: number;
}

/** Filters of the audit. */
export interface AuditQuery {
  user?: string;
  key?: string;
  target?: string;
  request?: string;
  /** An action, or its begin and *: "keys.*". */
  action?: string;
  result?: 'ok' | 'refused' | 'failed' | 'interrupted';
  since?: string;
  until?: string;
  /** Rows of all projects and of the server; for its operator. */
  all?: boolean;
  organization?: string;
}

export class Atoll {
  constructor(options?: ConnectionOptions);
  readonly sandboxes: {
    create(options?: CreateOptions): Promise<Sandbox>;
    connect(id: string): Promise<Sandbox>;
    list(query?: SandboxQuery): Promise<types.Sandbox[]>;
    kill(id: string, options?: KillOptions): Promise<boolean>;
    undelete(id: string): Promise<Sandbox>;
    trash(): Promise<types.TrashItem[]>;
  };
  readonly leases: Leases;
  readonly volumes: Collection<types.Volume, types.VolumeCreate> & {
    /** Raises the size limit. */
    update(id: string, change: types.VolumeGrow): Promise<types.Volume>;
    /** The files of a volume, whether or not a sandbox has it attached. */
    files(id: string): VolumeFiles;
  };
  /** Files that calls and sandboxes share by a name; the first use makes a workspace. */
  readonly workspaces: Omit<Collection<types.Workspace, never>, 'create'>;
  /** Calls that name no sandbox: one is made for the call, and ends with it. */
  readonly ephemeral: {
    run(command: string | Program, options?: EphemeralOptions): Promise<types.Result>;
    runCode(code: string, options?: EphemeralOptions & { language?: CodeLanguage; contextId?: string }): Promise<types.Result>;
    /** Without a workspace only bash is offered. */
    tool(name: string, input: object, options?: Pick<EphemeralOptions, 'config' | 'workspace' | 'sandbox' | 'signal'>): Promise<types.ToolResult>;
  };
  readonly builds: Collection<types.Build, types.BuildCreate> & {
    logs(id: string, query?: { since?: number }): Promise<types.BuildLogs>;
    cancel(id: string): Promise<types.Build>;
    /** Uploads files for copy steps: a tar, under a digest of its content. */
    putFiles(hash: string, tar: Bytes): Promise<types.BuildFiles>;
    /** Waits until a build has ended and answers with it: look at status and message. */
    wait(id: string, options?: { timeoutMs?: number; onLog?: (line: BuildLine) => unknown; signal?: AbortSignal }): Promise<types.Build>;
  };
  /** Secrets that network rules use outside of sandboxes. No answer has their values. */
  readonly credentials: Collection<types.Credential, types.CredentialCreate> & {
    /** A further host and a weaker consent take the fields again. */
    update(name: string, change: types.CredentialChange): Promise<types.Credential>;
  };
  /** Logins at OAuth services, whose tokens become credentials. */
  readonly connects: Omit<Collection<types.Connect, types.ConnectCreate>, 'delete'> & {
    /** Revokes the tokens at the service, and deletes the connect and its credential. */
    delete(id: string, options?: { force?: boolean }): Promise<void>;
    /** Lists the services whose hosts and OAuth servers are known. */
    presets(): Promise<types.CredentialPreset[]>;
  };
  /** Tool calls, hosts and credentials that an agent asked for. Another key than the one that asked decides. */
  readonly approvals: {
    list(query?: { state?: string; limit?: number }): Promise<types.Approval[]>;
    get(id: string): Promise<types.Approval>;
    approve(id: string, note?: string): Promise<types.Approval>;
    /** The agent reads the note. */
    refuse(id: string, note?: string): Promise<types.Approval>;
  };
  /** People's consents to the use of credentials in sandboxes. approvals.approve gives one. */
  readonly consents: {
    list(query?: { sandbox?: string; conversation?: string; credential?: string }): Promise<types.Consent[]>;
    /** Ends the use of a credential before the call returns; the answer is the number of consents that ended. */
    revoke(credential: string, of: { conversation: string } | { sandbox: string }): Promise<number>;
  };
  /** What was done, by which caller, with which result. Takes the scope project:write. */
  readonly audit: {
    /** One page, the newest rows first; before of the next page is next of this one. */
    list(query?: AuditQuery & { before?: number; after?: number; limit?: number }): Promise<types.AuditList>;
    /** All rows that match, page by page: the newest first, or with {after: 0} the oldest first. */
    rows(query?: AuditQuery & { before?: number; after?: number; limit?: number }): AsyncIterableIterator<types.AuditRow>;
    /** The public key that signs the chain, and the newest checkpoint. */
    key(): Promise<types.AuditKey>;
    /** The export in pieces: JSON lines for `atoll audit verify`. */
    export(query?: AuditQuery & { from?: number }): AsyncIterableIterator<Uint8Array>;
  };
  /** Limits of projects, keys and organisations, and what is used of each. */
  readonly quotas: {
    /** Those that hold for the caller; a limit of 0 is none. */
    list(): Promise<types.Quota[]>;
    get(scope: 'project' | 'key' | 'organization', id: string): Promise<types.Quota[]>;
    /** Sets the given limits; 0 removes one. */
    update(scope: 'project' | 'key' | 'organization', id: string, limits: types.QuotaChange): Promise<types.Quota[]>;
  };
  /** Spending limits of a project, key, sandbox, run, label or conversation. */
  readonly budgets: {
    /** Those of the project, with what is spent. */
    list(): Promise<types.Budget[]>;
    /** `scope` (project, unless given) says what `subject` is: a run, NAME=VALUE of a label, … */
    create(body: types.BudgetCreate): Promise<types.Budget>;
    update(id: string, change: types.BudgetUpdate): Promise<types.Budget>;
    delete(id: string): Promise<void>;
  };
  readonly webhooks: Collection<types.Webhook, types.WebhookCreate, types.WebhookMade> & {
    update(id: string, change: types.WebhookChange): Promise<types.Webhook>;
    deliveries(id: string, query?: { state?: string; before?: string; limit?: number }): Promise<types.Delivery[]>;
    /** Sends a test event once and returns status, duration and error. */
    test(id: string): Promise<types.WebhookTest>;
    /** Delivers once more. */
    retry(id: string, delivery: string): Promise<unknown>;
    /** Retries the oldest 1000 dead deliveries; returns how many, and how many are left. */
    retryDead(id: string): Promise<types.DeliveriesRetried>;
  };
  /** People who sign in from a browser; for keys with the scope admin. An id or the e-mail address names one. */
  readonly users: Collection<types.User, types.UserCreate, types.UserMade> & {
    /** Renames, disables or promotes a user. */
    update(id: string, change: types.UserChange): Promise<types.User>;
    /** Makes a link with which the user sets a password, once. */
    link(id: string): Promise<types.UserMade>;
    /** Lists a user's sessions in browsers. */
    sessions(id: string): Promise<types.LoginSessionSummary[]>;
    /** Ends all sessions of a user. */
    signOut(id: string): Promise<void>;
  };
  /** Organisations above projects, and their members. */
  readonly organizations: Collection<types.Organization, types.OrganizationCreate> & {
    /** Renames an organisation. */
    update(id: string, change: types.OrganizationChange): Promise<types.Organization>;
    members(id: string): Promise<types.OrganizationMember[]>;
    /** Adds a member, or changes its role: member, admin or owner. */
    setMember(id: string, user: string, role: types.OrganizationMember['role']): Promise<types.OrganizationMember>;
    removeMember(id: string, user: string): Promise<void>;
  };
  readonly templates: Collection<types.Template, types.TemplateCreate> & {
    update(id: string, change: types.TemplateChange): Promise<types.Template>;
  };
  readonly snapshots: Collection<types.Snapshot, types.SnapshotCreate & { sandbox: string }>;
  readonly jobs: {
    list(query?: { conversation?: string; sandbox?: string; status?: string; limit?: number }): Promise<types.JobItem[]>;
    get(id: string, query?: { conversation?: string }): Promise<types.Job>;
    logs(id: string, query?: CallOptions['query']): Promise<types.JobLogs>;
    stop(id: string, query?: { conversation?: string }): Promise<types.Job>;
  };
  tools(): Promise<types.ToolList['tools']>;
  readonly artifacts: Omit<Collection<types.StoredArtifact, never>, 'create'> & {
    bytes(id: string): Promise<Uint8Array>;
    stream(id: string): Promise<ReadableStream<Uint8Array>>;
    url(id: string, expiresInSeconds?: number): Promise<string>;
  };
  withSandbox<T>(key: string, fn: (sandbox: Sandbox) => T | Promise<T>, options?: LeaseOptions): Promise<T>;
  usage(query?: UsageQuery): Promise<types.Usage>;
  balance(): Promise<types.Balance>;
  events(options?: {
    sandbox?: string;
    kind?: string;
    after?: number;
    last?: number;
    signal?: AbortSignal;
  }): AsyncGenerator<types.Event>;
  activity(options?: {
    sandbox?: string;
    kind?: 'command' | 'code' | 'tool' | 'file';
    user?: string;
    key?: string;
    conversation?: string;
    after?: number;
    last?: number;
    signal?: AbortSignal;
  }): AsyncGenerator<types.Activity>;
  request<T = unknown>(method: string, path: string, call?: CallOptions): Promise<T>;
}

// ---- errors ----

export class AtollError extends Error {
  /** The server's name of the error: "not_found", "conflict", …; "connection" if no answer arrived. It does not change. */
  readonly code: string;
  /** Of "not_found": the kind of the object that does not exist, such as "sandbox" or "template". */
  readonly resource?: string;
  readonly hint?: string;
  readonly requestId?: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}
export class InvalidRequestError extends AtollError {}
export class UnauthenticatedError extends AtollError {}
export class ForbiddenError extends AtollError {}
export class NotFoundError extends AtollError {}
export class SandboxNotFoundError extends NotFoundError {}
export class ConflictError extends AtollError {}
export class LimitError extends AtollError {}
export class BudgetError extends AtollError {}
export class UnsupportedError extends AtollError {}
export class UnavailableError extends AtollError {}
export class TimeoutError extends AtollError {}
export class ConnectionError extends AtollError {}
