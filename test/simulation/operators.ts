import { join } from 'node:path'
import type { Book } from './book.ts'
import type { Cluster, Server, Settings } from './cluster.ts'
import { ProcessDied } from './disk.ts'
import { product } from './product.ts'
import type { Template } from './template.ts'
import { processOf, world } from './world.ts'

/** What an operator does while servers run, at the console or by a command. */
export const DEEDS = ['revoke', 'roll', 'erase', 'rotate', 'back_up'] as const
type Deed = (typeof DEEDS)[number]

type BackupFacts = { readonly file: string; readonly begunAt: number; readonly endedAt: number }

export type Operators = {
  readonly act: (deed: Deed) => Promise<void>
  readonly backups: readonly BackupFacts[]
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
      const done = await onServer((desk) =>
        product()
          .revokeKey(desk, ids.get(name) ?? '')
          .then(() => true),
      )
      if (done) book.revoked.set(name, world().elapsedMs)
      world().note(`${name} is revoked: ${done === true}`)
    },
    roll: async () => {
      const name = caller()
      const rolled = await onServer((desk) => product().rollKey(desk, ids.get(name) ?? '', OVERLAP_MS))
      world().note(`${name} is rolled: ${rolled !== undefined}`)
      if (!rolled) return
      ids.set(name, rolled.row.id)
      keys.set(name, rolled.text)
    },
    erase: async () => {
      const known = book.wishes.filter(({ isGuess, number }) => !isGuess && !book.erased.has(number))
      if (known.length === 0) return
      const { number, id } = random.pick(known)
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
      asCommand(settings, async ({ store, rootKeys }) => {
        const [file, begunAt] = [join(backupDir, `${backups.length}.backup`), world().elapsedMs]
        await product().writeBackup({ store, rootKeys }, file, { force: true })
        backups.push({ file, begunAt, endedAt: world().elapsedMs })
        world().note('a backup is written')
      }),
  }
  return { act: (deed) => deeds[deed](), backups }
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
