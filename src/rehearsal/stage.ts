import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { UserError } from '../errors.ts'
import type { Environment } from '../settings/read-settings.ts'
import type { StandIn } from '../simulator/stand-in.ts'
import { createFileVendor, openStandIn, STAND_INS } from '../simulator/vendors.ts'
import { quietCopy, refuseLiveDatabase, refuseRunningServers } from './copied-database.ts'
import {
  type CopiedData,
  copyRemovals,
  copySqlite,
  createCopyFolders,
  type FoundBackup,
  findBackup,
  readRootKeys,
  requireRoom,
  requireSqlite,
  restoreCopy,
  toFolderError,
} from './copy-data.ts'
import { toCopySettings } from './copy-settings.ts'
import { openPostgresProxy, type PostgresProxy } from './postgres-proxy.ts'
import { createProgram, type Program, readReason, type Server, type Settings } from './program.ts'
import { openReceiver, type Receiver } from './receiver.ts'

type StageOptions = {
  readonly config: Config
  /** The texts of the environment and of .env. */
  readonly given: Environment
  /** A backup or a folder of backups. */
  readonly backup: string | undefined
  /** A database that the operator calls a copy. */
  readonly databaseUrl: string | undefined
  readonly failoverCommand: string | undefined
  readonly keep: boolean
  /** How many copies of the data there will be at a time. */
  readonly copies: number
  readonly say: (line: string) => void
}

/** A server on a copy of the data, with all that it talks to: where the exercises take place. */
export type Stage = {
  readonly data: CopiedData
  readonly program: Program
  readonly settings: Settings
  readonly vendors: ReadonlyMap<string, StandIn>
  readonly receiver: Receiver
  readonly proxy: PostgresProxy | undefined
  /** Made on the copy. */
  readonly key: string
  readonly kind: 'nin' | 'bvn'
  /** Why the exercises of vendors cannot be made; undefined if they can. */
  readonly noVendor: string | undefined
  /** The endpoint of webhooks that the rehearsal made. */
  readonly endpoint: { readonly id: string; readonly secret: string }
  readonly notes: readonly string[]
  /** What was copied, in words. */
  readonly origin: string
  readonly backup: FoundBackup | undefined
  readonly failoverCommand: string | undefined
  readonly config: Config
  /** A folder for what an exercise needs besides. It is deleted at the end. */
  readonly folder: string
  /** The server in use; started if none runs. */
  readonly server: (options?: { readonly maxFileBytes?: number }) => Promise<Server>
  /** Its address, also after it has ended. */
  readonly url: () => string
  /** Runs a command of the program on the copy that prints JSON. */
  readonly runJson: (...args: readonly string[]) => Promise<Readonly<Record<string, unknown>>>
  readonly close: () => Promise<void>
}

/** Calls the functions in the opposite order of their addition, each once, also if one fails. */
type Cleanup = { readonly add: (close: () => unknown) => void; readonly run: () => Promise<void> }

function createCleanup(): Cleanup {
  const closes: (() => unknown)[] = []
  return {
    add: (close) => void closes.push(close),
    run: async () => {
      for (let close = closes.pop(); close; close = closes.pop())
        try {
          await close()
        } catch {
          // The others must still be called.
        }
    },
  }
}

export async function openStage(
  options: StageOptions,
  onCleanup: (run: () => Promise<void>) => void,
): Promise<Stage> {
  const cleanup = createCleanup()
  onCleanup(cleanup.run)
  try {
    return await buildStage(options, cleanup)
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

function createFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'tabbat-rehearsal-'))
  } catch (error) {
    throw toFolderError(tmpdir(), error)
  }
}

/** The folder and the processes of the stage. They end with this process, also where `close` was not reached. */
function openWorkshop({ keep, say }: StageOptions, cleanup: Cleanup) {
  const folder = createFolder()
  if (keep) say(`The copy is kept in ${folder}.`)
  const program = createProgram(folder)
  const remove = () => {
    program.killAll()
    if (!keep) rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', remove)
  cleanup.add(() => process.off('exit', remove))
  cleanup.add(remove)
  cleanup.add(program.close)
  return { folder, program }
}

async function buildStage(options: StageOptions, cleanup: Cleanup): Promise<Stage> {
  const { config, given, databaseUrl, failoverCommand, say } = options
  if (databaseUrl === undefined && config.databaseUrl === undefined) requireSqlite(config)
  const { folder, program } = openWorkshop(options, cleanup)
  const backup = options.backup === undefined ? undefined : findBackup(options.backup)
  const rootKeys = await readRootKeys(config)
  const receiver = await openReceiver()
  cleanup.add(receiver.close)
  const vendors = await openVendors(config, cleanup)
  const proxy = databaseUrl === undefined ? undefined : await openPostgresProxy(databaseUrl, folder)
  if (proxy) cleanup.add(proxy.close)
  const data = createCopyFolders(folder, databaseUrl)
  const { settings: copied, notes } = toCopySettings(config, given, {
    ...data,
    databaseUrl: proxy?.databaseUrl,
    rootKeys,
    vendors: Object.fromEntries([...vendors].map(([name, standIn]) => [name, standIn.settings])),
  })
  const origin = await fillCopy({ ...options, backup: backup?.file }, data, program, copied)
  say(`Copied: ${origin}.`)
  await quietCopy(data, receiver.copiedUrl)
  const { kind, noVendor } = findKind(config, vendors)
  const settings: Settings = noVendor === undefined ? copied : { ...copied, TABBAT_SANDBOX: 'on' }
  const runJson = createRunJson(program, settings)
  return {
    ...{ data, program, settings, vendors, receiver, proxy, kind, noVendor, origin },
    ...{ backup, config, folder, runJson, failoverCommand },
    ...(await createAccess(runJson, receiver, noVendor)),
    ...createServerHolder(program, settings),
    notes: [
      'Vendors and receivers of webhooks were simulated on this machine.',
      ...(kind === 'nin' && listVendors(config, vendors, 'bvn').length > 0 ? [NO_BVN] : []),
      ...notes,
    ],
    close: cleanup.run,
  }
}

/** The key and the endpoint of the rehearsal, made on the copy. */
async function createAccess(
  runJson: Stage['runJson'],
  { url }: Receiver,
  noVendor: string | undefined,
): Promise<Pick<Stage, 'key' | 'endpoint'>> {
  const { key } = (await runJson(
    ...['keys', 'create', '--name', 'rehearsal', '--mode', noVendor === undefined ? 'live' : 'test'],
    ...['--subjects-per-day', '1000000'],
  )) as { key: string }
  const endpoint = (await runJson(
    ...['webhooks', 'create', '--name', 'rehearsal', '--url', url],
    ...['--event', 'verification.completed,source.down,source.up,audit.checkpoint'],
  )) as { id: string; secret: string }
  return { key, endpoint }
}

function createServerHolder(program: Program, settings: Settings): Pick<Stage, 'server' | 'url'> {
  let running: Server | undefined
  return {
    server: async (how) => {
      if (!running?.isRunning()) running = await program.startServer(settings, how)
      return running
    },
    url: () => running?.url ?? '',
  }
}

/** Fills the copy, and says from where. */
async function fillCopy(
  { config, backup, databaseUrl, copies }: Pick<StageOptions, 'config' | 'backup' | 'databaseUrl' | 'copies'>,
  data: CopiedData,
  program: Program,
  settings: Settings,
): Promise<string> {
  if (databaseUrl !== undefined) {
    await refuseLiveDatabase(config.databaseUrl, databaseUrl)
    await refuseRunningServers(data)
    return `${toDatabaseText({ ...config, databaseUrl })}, which you called a copy`
  }
  if (config.databaseUrl === undefined) {
    requireRoom(config, data.dataDir, copies)
    await copySqlite(config, data)
    return toDatabaseText(config)
  }
  if (backup === undefined)
    throw new UserError(
      'TABBAT_DATABASE_URL may name live data. Name a copy of it with --database-url and confirm with --yes-on-a-copy, or a backup with --backup, which is restored into SQLite.',
    )
  copyRemovals(config, data.checkpointDir)
  return `the backup of ${await restoreCopy(program, settings, backup)}, restored into SQLite`
}

const createRunJson =
  (program: Program, settings: Settings): Stage['runJson'] =>
  async (...args) => {
    const { code, stdout, stderr } = await program.run(settings, ...args, '--json')
    if (code === 0) return JSON.parse(stdout) as Readonly<Record<string, unknown>>
    throw new UserError(`tabbat ${args.slice(0, 2).join(' ')} failed on the copy: ${readReason(stderr)}`)
  }

/** A simulated vendor for each vendor of identity checks in use: as it was written from the documents, else by its file. */
async function openVendors(config: Config, cleanup: Cleanup): Promise<Map<string, StandIn>> {
  const named = new Set([...config.ninSources, ...config.bvnSources])
  const vendors = new Map<string, StandIn>()
  for (const [name, { vendor }] of Object.entries(config.vendors)) {
    if (!named.has(name)) continue
    const { loaded } = vendor
    const written = loaded?.path === undefined ? STAND_INS.find((each) => each.name === name) : undefined
    const script = written ?? (loaded && createFileVendor(name, loaded.file))
    if (!script) continue
    const standIn = await openStandIn(script)
    cleanup.add(standIn.close)
    vendors.set(name, standIn)
  }
  return vendors
}

const NO_BVN = 'The exercises verified NINs. BVNs were not rehearsed: their vendors may be others.'

/** The vendors that can answer for this kind of number. */
export function listVendors(
  { ninSources, bvnSources }: Pick<Config, 'ninSources' | 'bvnSources'>,
  vendors: ReadonlyMap<string, unknown>,
  kind: Stage['kind'],
): string[] {
  const names = kind === 'nin' ? ninSources : bvnSources
  return [...new Set(names)].filter((name) => vendors.has(name))
}

/** The kind of number whose sources lead to a vendor. */
function findKind(config: Config, vendors: ReadonlyMap<string, unknown>): Pick<Stage, 'kind' | 'noVendor'> {
  const { ninSources, bvnSources, notFound } = config
  for (const [kind, names] of [['nin', ninSources] as const, ['bvn', bvnSources] as const]) {
    const isAsked =
      vendors.has(names[0] ?? '') || (notFound === 'next' && names.some((name) => vendors.has(name)))
    if (isAsked) return { kind, noVendor: undefined }
  }
  const reason =
    vendors.size === 0
      ? 'No vendor is configured. Set TABBAT_NIN_SOURCES or TABBAT_BVN_SOURCES.'
      : 'The registry is asked first, and TABBAT_NOT_FOUND=stop ends the search there for a synthetic person.'
  return { kind: 'nin', noVendor: reason }
}
