import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inviteAccount } from '../accounts/accounts.ts'
import { createAdminToken } from '../accounts/admin-tokens.ts'
import { createAuthentication } from '../admin/authentication.ts'
import { auditBy } from '../audit/audit-log.ts'
import { writeRecordedBackup } from '../backup/write-backup.ts'
import type { SealedStore } from '../context/sealed-store.ts'
import { recordSizes } from '../context/storage-report.ts'
import { KEY_EVENTS } from '../contract/event.ts'
import { SCOPES } from '../contract/scope.ts'
import { DAY_MS, HOUR_MS } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { changeKey, createKey, type KeyDeps, type NewKey, revokeKey } from '../keys/manage.ts'
import { erasePerson } from '../people/erase-person.ts'
import { importFile } from '../registry/import/import-file.ts'
import { openInput } from '../registry/import/input.ts'
import type { Reply, Request } from '../rehearsal/callers.ts'
import { toNinPerson } from '../simulator/people.ts'
import { tickRunningClock } from '../telemetry/running-clock.ts'
import { createEndpoint, type EndpointDeps } from '../webhooks/manage.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import {
  type Act,
  createRandom,
  ERASED_PERSON,
  KNOWN_PERSON,
  planMonth,
  type Random,
  SHOP_NAMES,
  SHOPS,
  type ShopName,
  type Span,
  TABLETS_END,
  toSyntheticNumber,
} from './traffic.ts'

type FillOptions = {
  /** A new, empty folder. */
  readonly dataDir: string
  readonly seed: number
  readonly days: number
  /** Where webhooks go. */
  readonly receiver: { readonly url: string; readonly brokenUrl: string }
  readonly onDay: (day: number) => void
}

/** What was made, with the keys that still work. */
export type Filled = {
  readonly from: string
  readonly until: string
  readonly requests: number
  readonly verifications: number
  /** A synthetic person that several shops asked about. */
  readonly person: string
  readonly keys: Partial<Record<ShopName, string>>
}

/**
 * Fills a new data folder with a month of synthetic traffic. The clocks of this process are shifted, so it must do nothing else. All is
 * written by a server of the product, as it answers requests.
 */
export async function fill(options: FillOptions): Promise<Filled> {
  const until = Date.now()
  const span = { from: until - options.days * DAY_MS, until }
  const clock = shiftClock(span.from)
  const random = createRandom(options.seed + 1)
  const server = await openDemoServer({
    dataDir: options.dataDir,
    port: 0,
    isShifted: true,
    settings: { TABBAT_RATE_LIMIT: '30' },
    prepare: (opened) => importRecords(opened, options.dataDir),
    think: async () => clock.run(drawLatency(random)),
  })
  const stage = await openStage(server, clock, options, span)
  const pass = createPass(server, clock, { ...span, onDay: options.onDay })
  for (const { at, act } of planMonth(span, options.seed)) {
    await pass(at)
    await (ACTS[act.kind] as (stage: Stage, act: Act) => Promise<unknown>)(stage, act)
  }
  await pass(until)
  await server.close()
  return {
    from: new Date(span.from).toISOString(),
    until: new Date(until).toISOString(),
    ...stage.counts,
    person: KNOWN_PERSON,
    keys: Object.fromEntries(
      SHOP_NAMES.filter((shop) => shop !== 'website' && shop !== 'tablets').map((shop) => [
        shop,
        stage.keys[shop].text,
      ]),
    ),
  }
}

/** Of a vendor, in milliseconds: mostly below half a second, some above a second. */
const drawLatency = (random: Random) => 120 + 260 * random.next() + 1500 * random.next() ** 12

/** Who makes the changes. */
const AUTHOR = { name: 'ngozi' }

type Stage = {
  readonly server: DemoServer
  readonly clock: ShiftedClock
  readonly options: FillOptions
  readonly deps: EndpointDeps &
    KeyDeps &
    Pick<DemoServer['context'], 'store' | 'rootKeys' | 'config'> & { readonly keyring: Keyring }
  readonly keys: Readonly<Record<ShopName, NewKey>>
  readonly pending: Pending
  readonly counts: { requests: number; verifications: number }
  readonly send: (shop: ShopName, request: Request) => Promise<Reply>
}

async function openStage(
  server: DemoServer,
  clock: ShiftedClock,
  options: FillOptions,
  { from, until }: Span,
): Promise<Stage> {
  const { context } = server
  const { store, rootKeys, config } = context
  const audit = auditBy({ context }, AUTHOR)
  const deps = { store, rootKeys, config, keyring: context.keyring(), audit, allowPrivate: true }
  await createAccounts(server)
  const keys = await createKeys(deps, from + TABLETS_END * (until - from))
  await audit.record([{ phase: 'imported', outcome: 'ok', detail: `nin: ${OWN_RECORDS} records` }])
  const counts = { requests: 0, verifications: 0 }
  const send: Stage['send'] = (shop, request) => {
    counts.requests += 1
    return server.send({ ...request, key: keys[shop].text })
  }
  const stage = { server, clock, options, deps, keys, pending: createPending(server, clock), counts, send }
  const { url, brokenUrl } = options.receiver
  await addKeyEndpoint(stage, 'Shop back end', url)
  await addKeyEndpoint(stage, 'Former CRM', brokenUrl)
  const events = ['source.down', 'source.up', 'spend.near_cap']
  await createEndpoint(deps, { name: 'Operations', url, events, keys: [] })
  return stage
}

const addKeyEndpoint = ({ deps, keys }: Pick<Stage, 'deps' | 'keys'>, name: string, url: string) =>
  createEndpoint(deps, { name, url, events: KEY_EVENTS, keys: [keys.checkout.row.id, keys.loans.row.id] })

type Acts = {
  readonly [Kind in Act['kind']]: (stage: Stage, act: Extract<Act, { kind: Kind }>) => Promise<unknown>
}

const ACTS: Acts = {
  visit: async ({ clock, keys, pending, counts, send }, { visit }) => {
    const { shop, isRepeated, ...request } = visit
    const reply = await send(shop, request)
    counts.verifications += 1
    if (isRepeated) {
      clock.run(3000)
      await send(shop, request)
    }
    if (reply.status === 202) await pending.add(keys[shop].text, reply)
  },
  lookup: ({ send }, { shop, path }) => send(shop, { path }),
  batch: async ({ keys, pending, counts, send }, { shop, rows, isCancelled }) => {
    const reply = await send(shop, { path: '/api/v2/kyc/batches', body: rows })
    counts.verifications += rows.length
    if (isCancelled) await send(shop, { method: 'DELETE', path: String(reply.headers.location) })
    await pending.add(keys[shop].text, reply)
  },
  vendors: ({ server, pending }, works) => {
    server.dojah.fail(works.dojah ? undefined : 'failing')
    server.prembly.fail(works.prembly ? undefined : 'failing')
    return pending.setAnswered(works.dojah || works.prembly)
  },
  told: ({ server }, { down }) => waitUntilTold(server.context, down),
  'change-agents': ({ deps, keys }) =>
    changeKey(deps, keys.agents.row.id, { hide: [...keys.agents.row.hide, 'email'] }),
  'revoke-website': ({ deps, keys }) => revokeKey(deps, keys.website.row.id),
  'add-warehouse': (stage) => addKeyEndpoint(stage, 'Warehouse', stage.options.receiver.brokenUrl),
  erase: ({ deps }) => erasePerson(deps, 'nin', ERASED_PERSON, 'The person asked for it by letter'),
  backup: async ({ deps, options }) => {
    const folder = join(options.dataDir, 'backups')
    makeFolderSync(folder)
    const file = join(folder, `${new Date().toISOString().slice(0, 10)}.backup`)
    await writeRecordedBackup(deps, file, { force: true })
  },
}

const CHECKPOINT_MS = 6 * HOUR_MS

/** Lets time pass. What a server writes from time to time is written before its hour or day ends. */
function createPass(
  { context }: DemoServer,
  clock: ShiftedClock,
  { from, onDay }: { readonly from: number; readonly onDay: (day: number) => void },
): (at: number) => Promise<void> {
  const { latencies, sourceCalls, answers, requests, audit, store, webhooks, queue } = context
  const isNew = (at: number, ms: number) => Math.floor(at / ms) > Math.floor(clock.now() / ms)
  return async (at) => {
    if (isNew(at, HOUR_MS)) {
      await latencies.flush()
      await sourceCalls.flush()
    }
    if (isNew(at, CHECKPOINT_MS)) await audit.checkpoint()
    if (isNew(at, DAY_MS)) {
      await answers.flush()
      await requests?.flush()
      await recordSizes(store, clock.now())
      onDay(Math.floor((at - from) / DAY_MS))
    }
    clock.goTo(at)
    webhooks.wake()
    queue.signals.wake()
  }
}

const PAUSE_MS = 5
const MAX_LOOKS = 2000

type Pending = {
  /** Waits for its end, if a vendor answers. */
  readonly add: (key: string, accepted: Reply) => Promise<void>
  /** False: no vendor answers. Then verifications end by their time limit only, and nobody waits for them. */
  readonly setAnswered: (isAnswered: boolean) => Promise<void>
}

/** Pending verifications and batches, which end later. */
function createPending({ send, context }: DemoServer, clock: ShiftedClock): Pending {
  type Place = { readonly key: string; readonly path: string }
  let waiting: Place[] = []
  let isAnswered = true
  const isOpen = async (place: Place) => {
    const { status, body } = await send(place)
    return status === 202 || /"state":"(running|stopping)"/.test(body)
  }
  const finish = async () => {
    for (let look = 0; isAnswered && waiting[0] && look < MAX_LOOKS; look++) {
      context.queue.signals.wake()
      if (await isOpen(waiting[0])) {
        await pause(PAUSE_MS)
        clock.run(500)
      } else waiting = waiting.slice(1)
    }
  }
  return {
    add: async (key, { headers }) => {
      waiting.push({ key, path: String(headers.location) })
      await finish()
    },
    setAnswered: async (now) => {
      isAnswered = now
      await finish()
    },
  }
}

/** An end that is not told now is told when the vendor is needed again. */
const TOLD_WITHIN_MS = { down: 30_000, up: 6000 } as const

/** A server looks at its vendors every two seconds. */
async function waitUntilTold({ store }: DemoServer['context'], isDown: boolean): Promise<void> {
  const until = performance.now() + TOLD_WITHIN_MS[isDown ? 'down' : 'up']
  while (performance.now() < until) {
    const states = await store.events.listStates()
    if (states.some(({ name, state }) => name.startsWith('source:') && state === 'down') === isDown) return
    await pause(100)
  }
}

/** Nobody knows their passwords: the visitor gets a link to an account of their own. */
async function createAccounts({ context }: DemoServer): Promise<void> {
  const { store, audit } = context
  const authentication = createAuthentication(context)
  const deps = { store, audit, keyring: context.keyring(), by: 'set-up (cli)' }
  for (const [name, role] of [
    ['ngozi', 'owner'],
    ['tunde', 'operator'],
  ] as const) {
    const { token } = await inviteAccount(deps, role)
    const password = randomBytes(24).toString('base64url')
    await authentication.accept({ token, name, password }, { address: '127.0.0.1', browser: undefined })
  }
  const token = { name: 'grafana', role: 'viewer', lifetimeMs: 90 * DAY_MS, allowedIps: undefined } as const
  await createAdminToken({ ...deps, by: AUTHOR.name }, token)
}

async function createKeys(deps: KeyDeps, tabletsEndAt: number): Promise<Record<ShopName, NewKey>> {
  const keys: Partial<Record<ShopName, NewKey>> = {}
  for (const shop of SHOP_NAMES) {
    const { name, mode, options } = SHOPS[shop]
    const expiresAt = shop === 'tablets' ? tabletsEndAt : undefined
    keys[shop] = await createKey(deps, { name, mode, scopes: [...SCOPES], expiresAt, ...options })
  }
  return keys as Record<ShopName, NewKey>
}

const OWN_RECORDS = 300

/** Some people whose records the operator has. */
async function importRecords({ store, keyring }: SealedStore, dataDir: string): Promise<void> {
  const file = join(dataDir, 'synthetic-people.ndjson')
  const rejectedPath = `${file}.rejected`
  const people = Array.from({ length: OWN_RECORDS }, (_, place) => toNinPerson(toSyntheticNumber(place)))
  writeFileSync(file, people.map((person) => `${JSON.stringify(person)}\n`).join(''), { mode: 0o600 })
  const input = await openInput(file)
  try {
    await importFile(
      { table: store.registry, keyring },
      input,
      { kind: 'nin', format: 'ndjson', rejectedPath, strict: true },
      { onContinue: () => {}, onProgress: () => {}, onReject: () => {} },
    )
  } finally {
    await input.close()
    for (const path of [file, rejectedPath]) rmSync(path, { force: true })
  }
}

/** The clock of a process that works through past time. It never runs backwards, and never ahead of the real one. */
type ShiftedClock = {
  readonly now: () => number
  /** Like a process that stood still until then. An earlier time changes nothing. */
  readonly goTo: (at: number) => void
  /** Like a process that ran for so long. */
  readonly run: (ms: number) => void
}

/** Shorter than what counts as a standstill of the event loop. */
const STEP_MS = 200

/**
 * From now on, the clocks of this thread show past time, beginning at `from`. It is for a process that does nothing else: the features
 * read the clock of the process, as they do in a server, and timers keep their real durations.
 */
function shiftClock(from: number): ShiftedClock {
  const RealDate = Date
  const realNow = performance.now.bind(performance)
  const realOrigin = performance.timeOrigin
  const firstLag = Math.max(0, RealDate.now() - from)
  /** How far it is behind the real clock. */
  let lag = firstLag
  const now = () => Math.floor(RealDate.now() - lag)
  class ShiftedDate extends RealDate {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(now())
      else super(...(given as [number]))
    }
    static override now(): number {
      return now()
    }
  }
  Object.assign(globalThis, { Date: ShiftedDate })
  Object.defineProperty(performance, 'now', { value: () => realNow() + firstLag - lag })
  Object.defineProperty(performance, 'timeOrigin', { value: realOrigin - firstLag })
  const catchUp = (ms: number) => {
    lag = Math.max(0, lag - Math.max(0, ms))
    tickRunningClock()
  }
  return {
    now,
    goTo: (at) => catchUp(at - now()),
    run: (ms) => {
      for (let left = ms; left > 0; left -= STEP_MS) catchUp(Math.min(left, STEP_MS))
    },
  }
}
