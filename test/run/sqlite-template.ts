import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/context/store.ts'
import { SQLITE_FILE } from '../../src/database/open-database.ts'

let template: Promise<string> | undefined

/** Puts a database with the tables of a store, and no rows, into a folder. To create the tables takes seven times as long. */
export async function copyTables(dataDir: string): Promise<void> {
  template ??= createTemplate()
  copyFileSync(await template, join(dataDir, SQLITE_FILE))
}

/** Once in a process, which runs many test files. It is removed with the folder of the run. */
async function createTemplate(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-template-'))
  const store = await openStore({ dataDir, databaseUrl: undefined })
  await store.close()
  return store.file
}
