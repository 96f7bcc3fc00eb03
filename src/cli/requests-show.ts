import { setTimeout as pause } from 'node:timers/promises'
import { toListenerUrl } from '../config/listener-url.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { toCurlCommand } from '../reference/curl-command.ts'
import type { LoggedRequest } from '../requests/line.ts'
import { toRequestView } from '../requests/request-view.ts'
import { type RequestFilter, type RequestPosition, searchRequests } from '../requests/search.ts'
import { toSearchedId } from '../requests/stored-id.ts'
import { createTail } from '../requests/tail.ts'
import { dim, say, strong, toTable } from '../server/terminal.ts'
import { type ReadContext, withStore } from './command-context.ts'
import { readSecret } from './prompt.ts'

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

export async function listRequests({
  limit,
  json,
  ...given
}: FilterOptions & { limit: number }): Promise<void> {
  const options = await readGivenId(given)
  await withStore(async (context) => {
    const views = await toViews(context, await findAll(context, toFilter(context, options), limit))
    if (json) say(JSON.stringify(views))
    else if (views.length === 0) say(noneFound(context))
    else say(toTable([TITLES, ...views.map(toCells)]))
  })
}

/** `-` stands for an id on standard input or at a prompt. */
const readGivenId = async <T extends Pick<FilterOptions, 'id'>>(options: T): Promise<T> =>
  options.id === '-' ? { ...options, id: await readId() } : options

async function readId(): Promise<string> {
  const id = (await readSecret('request_id: ')).trim()
  if (id !== '') return id
  throw new UserError('No request_id was given on standard input.')
}

export async function showRequest(given: string, { json }: { json?: true }): Promise<void> {
  const id = given === '-' ? await readId() : given
  await withStore(async (context) => {
    const filter = id.startsWith('ver_') ? { reference: id } : { id }
    const views = await toViews(context, await findAll(context, toFilter(context, filter), 1000))
    if (json) say(JSON.stringify(views))
    else if (views.length === 0) throw new UserError(noneFound(context))
    else for (const view of views) showView(context, view)
  })
}

const POLL_MS = 1000

export async function tailRequests({ json, ...given }: FilterOptions): Promise<void> {
  const options = await readGivenId(given)
  await withStore(async (context) => {
    const { from: _from, until: _until, ...filter } = toFilter(context, options)
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

function toFilter({ keyring, config: { requestsKeep } }: ReadContext, options: FilterOptions): RequestFilter {
  const { id, reference, key: keyId, mode, operation, status, code, since, until } = options
  const oldest = requestsKeep === 'off' ? 0 : steadyNow() - requestsKeep
  return {
    requestId: id && toSearchedId(keyring['request-id'], id),
    ...{ reference, keyId, mode, operation, status, code },
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
  ...[view.time, toStatus(view), view.code, view.operation, toKey(view)],
  ...[view.duration_ms.toFixed(1), view.request_id],
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
