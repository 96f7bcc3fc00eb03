import { setTimeout as pause } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { findKeyIds } from '../audit/audit-filter.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { toListenerUrl } from '../http/address.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { requestFilterErrors } from '../operations/request-filter.ts'
import { toCurlCommand } from '../reference/curl-command.ts'
import type { LoggedRequest } from '../requests/block-writer.ts'
import { toSearchedId } from '../requests/request-log.ts'
import {
  createTail,
  type RequestFilter,
  type RequestPosition,
  STATUS_PATTERN,
  searchRequests,
  toRequestView,
} from '../requests/search.ts'
import { dim, say, strong, toTable } from '../server/terminal.ts'
import { isDrawnByChance } from '../telemetry/log.ts'
import { readReference } from './audit-options.ts'
import { type ReadContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { DATE_NOTE, readSince, readUntil } from './options.ts'
import { readSecret } from './prompt.ts'

const SETTINGS = ['TABBAT_REQUESTS_KEEP', 'TABBAT_REQUESTS_MAX']
const NOTE =
  'The log has no personal data. It is written every two seconds: what a crashed process had not written is lost. Requests without a valid key are only counted.'

export function addRequestsCommand(program: Command): void {
  const requests = program
    .command('requests')
    .description('find requests in the request log: by id, key, operation, status, code, time')

  const list = addFilters(requests.command('list'))
    .description('list requests, newest first')
    .option('--since <time>', 'not before a time (2026-11-16T08:00Z) or an age (30m, 6h, 2d)', readSince)
    .option('--until <time>', 'not after a time or an age; with a date, up to its end', readUntil)
    .option('--limit <count>', 'most requests', readLimit, 50)
    .option('--json', 'print a JSON array')
    .action(listRequests)
  addHelp(list, {
    details: `${NOTE} ${DATE_NOTE}`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: EXIT_CODES,
    examples: {
      'requests list --key "loans app" --status refused --since 1h':
        'what one key was refused in the last hour',
      'requests list --code validation_failed --json': 'invalid requests, with the names of their fields',
    },
  })

  const show = requests
    .command('show')
    .description('show all about a request, and the command to send it again')
    .argument('<id>', 'a request_id or a request_reference; - reads it from standard input', readId)
    .option('--json', 'print a JSON array')
    .action(showRequest)
  addHelp(show, {
    details: `${NOTE} Several requests may have the same id, if their caller chose it. A caller's own id that does not look random is read from standard input only, because it may be a number or a name.`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: { 0: 'shown', 1: 'the log has no such request, or it could not be read' },
    examples: {
      'requests show req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62': 'by the X-Request-Id of the response',
      'requests show ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2': 'every request of one verification',
    },
  })

  const tail = addFilters(requests.command('tail'))
    .description('print requests as they are answered, until Ctrl-C')
    .option('--json', 'print a JSON object for each')
    .action(tailRequests)
  addHelp(tail, {
    details: `${NOTE} Requests appear two to four seconds after they were answered. If there are more than 200 at once, the newest are shown.`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: EXIT_CODES,
    examples: {
      'requests tail': 'all requests of all servers of this database',
      'requests tail --status 5xx --json': 'failures, for a program',
    },
  })

  addHelp(requests, {
    examples: {
      'requests show req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62': 'explain one request',
      'requests tail --key a1B2c3D4': 'watch one key',
    },
  })
}

const addFilters = (command: Command): Command =>
  command
    .option('--id <id>', 'with this request_id; - reads it from standard input', readId)
    .option('--reference <reference>', 'of this verification', readReference)
    .option('--key <key>', 'of this key: its id or its name')
    .addOption(new Option('--mode <mode>', 'of keys of this mode').choices(['test', 'live']))
    .option('--operation <name>', 'of this operation, such as verify_nin')
    .option(
      '--status <status>',
      'with this status: 422, 4xx, 5xx, refused (4xx without not_verified), or 0 if the caller did not wait',
      readStatus,
    )
    .option('--code <code>', 'with this code, such as validation_failed')

function readStatus(text: string): string {
  if (new RegExp(STATUS_PATTERN).test(text)) return text
  throw new UserError('A status is a number such as 422, or 4xx, 5xx or refused.')
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new UserError('A limit is a whole number from 1 to 999999.')
}

const NAMED = /^(-|ver_[0-9a-z]{36}|own_[0-9a-f]{32})$/

/** The error does not repeat the text: it may be a NIN or a name. */
function readId(text: string): string {
  if (NAMED.test(text) || isDrawnByChance(text)) return text
  throw new UserError(
    "This does not look like an id that was drawn by chance, so it may be personal. Give a caller's own id on standard input, with - in its place: tabbat requests show -",
  )
}

type FilterOptions = {
  readonly id?: string
  readonly reference?: string
  readonly key?: string
  readonly mode?: string
  readonly operation?: string
  readonly status?: string
  readonly code?: string
  /** In ISO form. */
  readonly since?: string
  readonly until?: string
  readonly json?: true
}

type View = ReturnType<typeof toRequestView>

async function listRequests({ limit, json, ...given }: FilterOptions & { limit: number }): Promise<void> {
  const options = await readGivenId(given)
  await withStore(async (context) => {
    const filter = await readFilter(context, options)
    const views = await toViews(context, await findAll(context, filter, limit))
    if (json) say(JSON.stringify(views))
    else if (views.length === 0) say(noneFound(context))
    else say(toTable([TITLES, ...views.map(toCells)]))
  })
}

/** `-` stands for an id on standard input or at a prompt. */
const readGivenId = async <T extends Pick<FilterOptions, 'id'>>(options: T): Promise<T> =>
  options.id === '-' ? { ...options, id: await readIdFromInput() } : options

async function readIdFromInput(): Promise<string> {
  const id = (await readSecret('request_id: ')).trim()
  if (id !== '') return id
  throw new UserError('No request_id was given on standard input.')
}

async function showRequest(given: string, { json }: { json?: true }): Promise<void> {
  const id = given === '-' ? await readIdFromInput() : given
  await withStore(async (context) => {
    const filter = id.startsWith('ver_') ? { reference: id } : { id }
    const views = await toViews(context, await findAll(context, await readFilter(context, filter), 1000))
    if (json) say(JSON.stringify(views))
    else if (views.length === 0) throw new UserError(noneFound(context))
    else for (const view of views) showView(context, view)
  })
}

const POLL_MS = 1000

async function tailRequests({ json, ...given }: FilterOptions): Promise<void> {
  const options = await readGivenId(given)
  await withStore(async (context) => {
    const { from: _from, until: _until, ...filter } = await readFilter(context, options)
    // Since the command was started: opening the database takes a moment.
    const tail = createTail(context.store.requests, filter, Math.floor(performance.timeOrigin))
    for (;;) {
      const { rows, isCut } = await tail()
      for (const view of await toViews(context, rows)) say(json ? JSON.stringify(view) : toLine(view))
      if (isCut) process.stderr.write('There were more requests than are shown. Use a filter.\n')
      await pause(POLL_MS)
    }
  })
}

/** What no request can have is refused. */
async function readFilter(context: ReadContext, options: FilterOptions): Promise<RequestFilter> {
  const { keyring, store } = context
  const { requestsKeep } = context.config
  const keyNames = await readKeyNames(store.keys)
  const [problem] = Object.values(requestFilterErrors(options, keyNames)).flat()
  if (problem !== undefined)
    throw new UserError(`--${problem}.${problem.startsWith('key ') ? ' See: tabbat keys list' : ''}`)
  const { id, reference, key, mode, operation, status, code, since, until } = options
  const oldest = requestsKeep === 'off' ? 0 : steadyNow() - requestsKeep
  return {
    requestId: id && toSearchedId(keyring['request-id'], id),
    reference,
    keyIds: key === undefined ? undefined : findKeyIds(key.trim(), keyNames),
    mode,
    operation,
    status,
    code,
    from: Math.max(oldest, since === undefined ? 0 : Date.parse(since)),
    until: until === undefined ? undefined : Date.parse(until),
  }
}

async function findAll(
  { store }: ReadContext,
  filter: RequestFilter,
  limit: number,
): Promise<LoggedRequest[]> {
  const found: LoggedRequest[] = []
  let before: RequestPosition | undefined
  do {
    const page = await searchRequests(store.requests, filter, before)
    found.push(...page.rows)
    before = page.next
  } while (before && found.length < limit)
  return found.slice(0, limit)
}

const toViews = async ({ store }: ReadContext, rows: readonly LoggedRequest[]): Promise<View[]> => {
  if (rows.length === 0) return []
  const names = await readKeyNames(store.keys)
  return rows.map((row) => toRequestView(row, names))
}

const noneFound = ({ config }: ReadContext) =>
  config.requestsKeep === 'off'
    ? 'The request log is off (TABBAT_REQUESTS_KEEP).'
    : 'The request log has no such request. It may be older than TABBAT_REQUESTS_KEEP.'

const TITLES = ['time', 'status', 'code', 'operation', 'key', 'ms', 'request id']
const toCells = (view: View) => [
  view.time,
  toStatus(view),
  view.code,
  view.operation,
  toKey(view),
  view.duration_ms.toFixed(1),
  view.request_id,
]

const toLine = (view: View) => toCells(view).join('  ')
const toStatus = ({ status }: View) => (status === 0 ? '–' : String(status))
const toKey = ({ key_id, key_name }: View) => (key_name === null ? key_id : `${key_id} (${key_name})`)

function showView({ config }: ReadContext, view: View): void {
  say(`${strong(view.request_id)}  ${dim(view.time)}`)
  say(`  ${view.method} ${view.operation}, ${view.mode} mode, key ${toKey(view)}`)
  say(
    view.status === 0
      ? '  the caller closed the connection before the response'
      : `  status ${view.status}, code ${view.code}, ${view.duration_ms} ms`,
  )
  if (view.fields.length > 0) say(`  wrong fields: ${view.fields.join(', ')}`)
  if (view.request_reference !== null)
    say(`  reference ${view.request_reference} (tabbat audit show ${view.request_reference})`)
  const command = toCurlCommand(view.operation, config.publicUrl ?? toListenerUrl(config, config))
  if (command !== undefined) say(`\n${command}\n`)
}
