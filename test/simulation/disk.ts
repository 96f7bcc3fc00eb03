import { copyFileSync, existsSync, statSync, truncateSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { processOf, type SimulatedProcess, world } from './world.ts'

/** The process died while it used the disk. Nothing of it may be seen by anyone. */
export class ProcessDied extends Error {}

/** Of the real SQLite: not a statement of the product. */
const readPragma = DatabaseSync.prototype.prepare

class DiskError extends Error {
  readonly code = 'ERR_SQLITE_ERROR'
  readonly errcode: number
  constructor(errcode: number, message: string) {
    super(message)
    this.errcode = errcode
  }
}

/** What the disk does wrong, for a while. */
type DiskFault = 'full' | 'locked' | undefined

/** At which statement a process dies, and on which side of it. */
type Death = { left: number; readonly side: 'before' | 'after'; readonly only: RegExp }

const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE|COMMIT|WITH)/i
const FULL = 13
const BUSY = 5

type Connection = { readonly path: string; readonly owner: SimulatedProcess | undefined }

class Disk {
  fault: DiskFault
  readonly #connections = new Map<DatabaseSync, Connection>()
  readonly #deaths = new Map<SimulatedProcess, Death>()
  /** How much of a write-ahead log is certainly on the disk. */
  readonly #synced = new Map<string, number>()

  begin(): void {
    this.fault = undefined
    this.#deaths.clear()
    this.#synced.clear()
  }

  opened(path: string, database: DatabaseSync, owner: SimulatedProcess | undefined): void {
    this.#connections.set(database, { path, owner })
    owner?.onDeath.push(() => {
      if (database.isOpen) database.close()
    })
  }

  closed(database: DatabaseSync): void {
    this.#connections.delete(database)
  }

  /** The process dies at the n-th statement from now on that fits. */
  killAt(process: SimulatedProcess, death: Death): void {
    this.#deaths.set(process, death)
  }

  perform<T>(database: DatabaseSync, sql: string, run: () => T): T {
    const owner = processOf.getStore()
    if (owner && !owner.isAlive) throw new ProcessDied()
    const death = owner && this.#deaths.get(owner)
    const isLast = death?.only.test(sql) === true && --death.left <= 0
    if (isLast && death.side === 'before') this.#die(owner, sql)
    if (this.fault && owner) this.#fail(sql)
    const result = run()
    if (sql === 'COMMIT') this.#note(database)
    if (isLast) this.#die(owner, sql)
    return result
  }

  #die(owner: SimulatedProcess | undefined, sql: string): never {
    world().note(`${owner?.name} dies at ${sql.trim().slice(0, 24).replaceAll(/\s+/g, ' ')}`)
    if (owner) world().kill(owner)
    throw new ProcessDied()
  }

  #fail(sql: string): void {
    if (this.fault === 'locked' && sql.startsWith('BEGIN')) throw new DiskError(BUSY, 'database is locked')
    if (this.fault === 'full' && WRITES.test(sql)) throw new DiskError(FULL, 'database or disk is full')
  }

  /** SQLite has waited for the disk, if its settings say so. */
  #note(database: DatabaseSync): void {
    const path = this.#connections.get(database)?.path
    if (path === undefined || !existsSync(`${path}-wal`)) return
    const { synchronous } = readPragma.call(database, 'PRAGMA synchronous').get() as { synchronous: number }
    if (synchronous >= 2) this.#synced.set(path, statSync(`${path}-wal`).size)
  }

  /**
   * The machine loses its power: what SQLite had not waited for may be lost. Copies what is left; the processes must be dead
   * afterwards, and their files are of no use.
   */
  copyAfterPowerCut(from: string, to: string): void {
    copyFileSync(from, to)
    if (!existsSync(`${from}-wal`)) return
    copyFileSync(`${from}-wal`, `${to}-wal`)
    const size = statSync(`${from}-wal`).size
    const kept = this.#synced.get(from) ?? 0
    if (size > kept) truncateSync(`${to}-wal`, kept + world().random.below(size - kept + 1))
  }
}

export const disk = new Disk()
