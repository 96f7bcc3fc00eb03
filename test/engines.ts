import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { openStore, type Store } from '../src/context/store.ts'
import type { DatabaseOptions } from '../src/database/open-database.ts'
import { createEmptyDatabase, createTestDatabase, hasPostgres } from './postgres.ts'
import { copyTables } from './run/sqlite-template.ts'

/** A fresh database of one kind. `open` may be called more than once: each store is a node. */
export type Place = { readonly options: DatabaseOptions; readonly open: () => Promise<Store> }

export type Engine = {
  readonly name: string
  readonly createPlace: () => Promise<Place>
  /** Without tables, for tests of the migrations. */
  readonly createEmptyPlace: () => Promise<Place>
}

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Deleted after the tests of the file. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-store-'))
  folders.push(folder)
  return folder
}

const toPlace = (options: DatabaseOptions): Place => ({ options, open: () => openStore(options) })

const toSqlite = (name: string, writerThread: boolean): Engine => {
  const toOptions = (dataDir: string) => ({ dataDir, databaseUrl: undefined, writerThread })
  return {
    name,
    createPlace: async () => {
      const dataDir = newFolder()
      await copyTables(dataDir)
      return toPlace(toOptions(dataDir))
    },
    createEmptyPlace: async () => toPlace(toOptions(newFolder())),
  }
}

export const SQLITE = toSqlite('SQLite', false)

export const SQLITE_WITH_WRITER = toSqlite('SQLite with a writer thread', true)

export const POSTGRES: Engine = {
  name: 'PostgreSQL',
  createPlace: async () => toPlace({ dataDir: newFolder(), databaseUrl: await createTestDatabase() }),
  createEmptyPlace: async () => toPlace({ dataDir: newFolder(), databaseUrl: await createEmptyDatabase() }),
}

/** Runs the tests on each engine. Without PostgreSQL, its tests are skipped. */
export function describeEngines(engines: readonly Engine[], tests: (engine: Engine) => void): void {
  for (const engine of engines)
    describe.skipIf(engine === POSTGRES && !hasPostgres())(engine.name, () => tests(engine))
}

export const ENGINES = [SQLITE, SQLITE_WITH_WRITER, POSTGRES] as const
