import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inviteAccount } from '../accounts/accounts.ts'
import { buildAdminServer } from '../admin/server.ts'
import { type Config, loadConfig } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { openSealedStore, type SealedStore } from '../context/sealed-store.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import type { App } from '../http/app.ts'
import { createAgents, type Reply, type Request, sendRequest } from '../rehearsal/callers.ts'
import { type ApiServer, createApiServer } from '../server/api-server.ts'
import { createContext } from '../server/create-context.ts'
import { refuseOtherMachines } from '../server/loopback-only.ts'
import { dojah } from '../simulator/dojah.ts'
import { prembly } from '../simulator/prembly.ts'
import { openStandIn, type StandIn } from '../simulator/stand-in.ts'
import { toPortError } from './ports.ts'
import { createRandom, drawVisit, type Random, type ShopName } from './traffic.ts'

/** A server on the data of a demonstration, with its simulated vendors. */
export type DemoServer = {
  readonly context: Context
  readonly api: ApiServer
  readonly dojah: StandIn
  readonly prembly: StandIn
  readonly send: (request: Request) => Promise<Reply>
  readonly close: () => Promise<void>
}

type Options = {
  readonly dataDir: string
  readonly port: number
  /** Besides those of every demonstration. */
  readonly settings?: Readonly<Record<string, string>>
  /** Before the server opens the database. */
  readonly prepare?: (opened: SealedStore) => Promise<void>
  /** What a vendor does before it answers. */
  readonly think: () => Promise<void>
  /** The clock of this thread is shifted. */
  readonly isShifted?: boolean
}

/** It uses no setting of the environment and no .env, and this process connects to this machine only from now on. */
export async function openDemoServer(options: Options): Promise<DemoServer> {
  const { dataDir, port, settings = {}, prepare = async () => {}, think, isShifted = false } = options
  refuseOtherMachines()
  const vendors = [await openStandIn(dojah, 0, think), await openStandIn(prembly, 0, think)] as const
  const config = toConfig(dataDir, { ...vendors[0].settings, ...vendors[1].settings, ...settings })
  await markData(config, prepare)
  const context = await createContext(config, undefined, 1, true, !isShifted)
  const api = createApiServer(context)
  const agents = createAgents()
  const close = async () => {
    agents.close()
    await api.close()
    await context.close()
    await Promise.all(vendors.map((vendor) => vendor.close()))
  }
  await api.listen({ host: '127.0.0.1', port }).catch(async (error) => {
    await close()
    throw error
  })
  return {
    context,
    api,
    dojah: vendors[0],
    prembly: vendors[1],
    send: (request) => sendRequest(api.url(), agents, request),
    close,
  }
}

/** Before anything else is written. */
async function markData(config: Config, prepare: (opened: SealedStore) => Promise<void>): Promise<void> {
  const opened = await openSealedStore(config)
  try {
    await opened.store.meta.insert('demo_made_at', new Date().toISOString())
    await prepare(opened)
  } finally {
    await opened.store.close()
  }
}

const toConfig = (dataDir: string, settings: Readonly<Record<string, string>>): Config =>
  loadConfig(
    {
      TABBAT_DATA_DIR: dataDir,
      TABBAT_LOG_LEVEL: 'error',
      TABBAT_NIN_SOURCES: 'registry,dojah,prembly',
      TABBAT_BVN_SOURCES: 'dojah,prembly',
      TABBAT_NOT_FOUND: 'next',
      TABBAT_DOJAH_PRICE: '50',
      TABBAT_DOJAH_DAILY_CAP: '60000',
      TABBAT_PREMBLY_PRICE: '65',
      TABBAT_WEBHOOKS_PRIVATE: 'on',
      TABBAT_BATCH_RATE: '6000',
      TABBAT_PENDING_LIMIT: '1h',
      ...settings,
    },
    // There is no such file: the folder was made for this.
    join(dataDir, '.env'),
  )

/** A server with the console, and customers who come now and then. */
export type LiveDemo = {
  readonly api: string
  readonly admin: string
  /** A one-time link to an account of an owner. */
  readonly link: string
  readonly close: () => Promise<void>
}

type LiveOptions = {
  readonly dataDir: string
  readonly port: number
  readonly adminPort: number
  readonly keys: Partial<Record<ShopName, string>>
}

export async function openLiveDemo(options: LiveOptions): Promise<LiveDemo> {
  // Other customers than those of the month: the live part is not repeated.
  const random = createRandom(Date.now())
  const think = () => pause(120 + 260 * random.next())
  const server = await openDemoServer({ ...options, think }).catch(toPortError)
  const admin = buildAdminServer(server.context, server.api)
  try {
    await admin.listen({ host: '127.0.0.1', port: options.adminPort }).catch(toPortError)
    const { context } = server
    const { token } = await inviteAccount(
      { store: context.store, audit: context.audit, keyring: context.keyring(), by: toCommandAuthor() },
      'owner',
    )
    const stopTraffic = startTraffic(server, options.keys, random)
    return {
      api: server.api.url(),
      admin: admin.url(),
      link: `${admin.url()}/console#/invite/${token}`,
      close: async () => {
        await stopTraffic()
        await close(server, admin)
      },
    }
  } catch (error) {
    await close(server, admin)
    throw error
  }
}

async function close(server: DemoServer, admin: App): Promise<void> {
  server.context.lifecycle.stopping = true
  admin.cutStreams()
  await admin.close()
  await server.close()
}

const SHORTEST_MS = 400
const SPREAD_MS = 1600

/** One customer after the other, until it is stopped. */
function startTraffic(
  { send }: DemoServer,
  keys: Partial<Record<ShopName, string>>,
  random: Random,
): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  // Those whose keys are close to a limit stay as they are.
  const shops = (Object.keys(keys) as ShopName[]).filter((shop) => shop !== 'pharmacy')
  const run = async () => {
    while (!signal.aborted) {
      await pause(SHORTEST_MS + random.below(SPREAD_MS), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const { shop, isRepeated: _, ...request } = drawVisit(random, random.pick(shops))
      await send({ ...request, key: keys[shop] ?? '' })
    }
  }
  const running = run()
  return async () => {
    stopping.abort()
    await running
  }
}
