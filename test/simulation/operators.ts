import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Book } from './book.ts'
import type { Cluster, Server, Settings } from './cluster.ts'
import { ProcessDied } from './disk.ts'
import { type Restored, readSqlite } from './facts.ts'
import { product } from './product.ts'
import { ROOT_KEY, SQLITE_FILE, type Template } from './template.ts'
import { processOf, world } from './world.ts'

/** What an operator does while servers run, at the console or by a command. */
export const DEEDS = ['revoke', 'roll', 'erase', 'rotate', 'back_up'] as const
type Deed = (typeof DEEDS)[number]

/** A backup, and the folder with the root key of its time. */
type BackupFacts = { readonly file: string; readonly folder: string; readonly begunAt: number }

export type Operators = {
  readonly act: (deed: Deed) => Promise<void>
  /** Restores every backup into a SQLite database of its own, as on another machine. Throws if one cannot be restored. */
  readonly restoreAll: () => Promise<readonly Restored[]>
}

type Place = {
  readonly cluster: Cluster
  readonly book: Book
  readonly template: Template
  /** The secrets that callers use now. */
  readonly keys: Map<string, string>
  readonly settings: Settings
  readonly backupDir: string
}

/** How long a rolled key stays valid: longer than a run. */
const OVERLAP_MS = 24 * 3_600_000

export function openOperators({ cluster, book, template, keys, settings, backupDir }: Place): Operators {
  const { random } = world()
  const ids = new Map([...template.keys].map(([name, { id }]) => [name, id]))
  const backups: BackupFacts[] = []

  /** In the console of one server. Undefined: it is not known whether it was done. */
  const onServer = async <T>(work: (desk: Desk) => Promise<T>): Promise<T | undefined> => {
    const servers = cluster.servers()
    if (servers.length === 0) return undefined
    const { process, context } = random.pick(servers)
    const done = processOf.run(process, () => work({ ...context, keyring: context.keyring() }))
    return Promise.race([done, process.died.then(() => undefined)]).catch(() => undefined)
  }
  const caller = () => random.pick([...ids.keys()].filter((name) => !book.revoked.has(name)))

  const deeds: Readonly<Record<Deed, () => Promise<void>>> = {
    revoke: async () => {
      if (book.revoked.size > 0) return
      const name = caller()
      // Whether it is done is known only if it ends well; from now on nothing is expected of the key.
      book.revoked.set(name, Number.POSITIVE_INFINITY)
      const id = ids.get(name) ?? ''
      const done = await onServer((desk) =>
        product()
          .revokeKey(desk, id)
          .then(() => true),
      )
      if (done) {
        book.revokedIds.set(id, world().elapsedMs)
        // It may have been rolled meanwhile: then the caller has another key, which is valid.
        if (ids.get(name) === id) book.revoked.set(name, world().elapsedMs)
      }
      world().note(`${name} is revoked: ${done === true}`)
    },
    roll: async () => {
      const name = caller()
      const rolled = await onServer((desk) => product().rollKey(desk, ids.get(name) ?? '', OVERLAP_MS))
      world().note(`${name} is rolled: ${rolled !== undefined}`)
      if (!rolled) return
      ids.set(name, rolled.row.id)
      keys.set(name, rolled.text)
      if (book.revoked.has(name)) book.revoked.set(name, Number.POSITIVE_INFINITY)
    },
    erase: async () => {
      const known = book.wishes.filter(({ isGuess, number }) => !isGuess && !book.erased.has(number))
      if (known.length === 0) return
      const { number, id } = random.pick(known)
      book.erasing.set(number, world().elapsedMs)
      book.erased.set(number, Number.POSITIVE_INFINITY)
      const done = await onServer((desk) => product().erasePerson(desk, 'nin', number))
      if (done) book.erased.set(number, world().elapsedMs)
      world().note(`${id} is erased: ${done !== undefined}`)
    },
    rotate: () =>
      asCommand(settings, async ({ store, config }) => {
        await product().rotateRoot(config, { store })
        world().note('the root key is rotated')
      }),
    back_up: () =>
      asCommand(settings, async ({ store, rootKeys, config }) => {
        const [file, begunAt] = [join(backupDir, `${backups.length}.backup`), world().elapsedMs]
        const folder = `${file}-restored`
        rmSync(folder, { recursive: true, force: true })
        mkdirSync(folder, { mode: 0o700 })
        const key = join(config.dataDir, ROOT_KEY)
        cpSync(key, join(folder, ROOT_KEY))
        await product().writeBackup({ store, rootKeys }, file, { force: true })
        world().note('a backup is written')
        // Another key may have come meanwhile: which one the backup needs is then not known here.
        if (readFileSync(key, 'utf8') === readFileSync(join(folder, ROOT_KEY), 'utf8'))
          backups.push({ file, folder, begunAt })
      }),
  }
  const restore = async ({ file, folder, begunAt }: BackupFacts): Promise<Restored> => {
    const { TABBAT_DATABASE_URL: _, ...others } = settings
    const config = product().loadConfig({ ...others, TABBAT_DATA_DIR: folder }, '')
    const process = world().createProcess('restore')
    await processOf.run(process, async () => {
      const store = await product().openStore({ dataDir: folder, databaseUrl: undefined })
      await product()
        .restoreBackup(config, store, file)
        .finally(() => store.close())
    })
    world().kill(process)
    const { tables, audit, readable } = readSqlite(join(folder, SQLITE_FILE))
    const bytes = { name: 'a backup', text: readFileSync(file, 'latin1') }
    rmSync(folder, { recursive: true })
    return { begunAt, audit, rows: (table) => tables.get(table) ?? [], readable: [...readable, bytes] }
  }
  return {
    act: (deed) => deeds[deed](),
    restoreAll: async () => {
      const restored: Restored[] = []
      for (const backup of backups) restored.push(await restore(backup))
      return restored
    },
  }
}

type Desk = Omit<Server['context'], 'keyring'> & {
  readonly keyring: ReturnType<Server['context']['keyring']>
}
type Opened = Awaited<ReturnType<ReturnType<typeof product>['openSealedStore']>> & {
  readonly config: ReturnType<ReturnType<typeof product>['loadConfig']>
}

/** A command in a process of its own. It may fail, as a locked database makes it fail; it is not repeated. */
async function asCommand(settings: Settings, work: (opened: Opened) => Promise<void>): Promise<void> {
  const process = world().createProcess('command')
  const run = async () => {
    const config = product().loadConfig(settings, '')
    const opened = await product().openSealedStore(config)
    await work({ ...opened, config }).finally(() => opened.store.close())
  }
  await Promise.race([processOf.run(process, run), process.died]).catch((error: Error) => {
    if (!(error instanceof ProcessDied)) world().note(`a command failed: ${error.name}`)
  })
  world().kill(process)
}
