import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { importLists, requireSettings, rollBack, syncVendor } from '../catalogue/change.ts'
import { toPlainChange } from '../catalogue/diff.ts'
import type { CatalogueDeps, SaveResult } from '../catalogue/versions.ts'
import { loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toTable, warn } from '../server/terminal.ts'
import type { VendorName } from '../sources/vendors.ts'
import { toChangeRows } from './catalogue-show.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'

export type ImportOptions = { dryRun?: true; force?: true; json?: true }
export type SyncOptions = ImportOptions

export const toCatalogueDeps = ({ store, audit }: CommandContext): CatalogueDeps => ({
  table: store.catalogue,
  reviews: store.reviews,
  audit,
  switches: store.sources,
})

const toChangeOptions = ({ force, dryRun }: ImportOptions) => ({
  author: toCommandAuthor(),
  force: force === true,
  dryRun: dryRun === true,
})

export async function runSync(name: VendorName, options: SyncOptions): Promise<void> {
  // Before a database is created.
  requireSettings(loadConfig(), name)
  report(
    await withCommandContext((context) =>
      syncVendor(context.config, toCatalogueDeps(context), name, toChangeOptions(options)),
    ),
    options.json,
  )
}

export async function runImport(file: string, options: ImportOptions): Promise<void> {
  const content = await readJson(file)
  report(
    await withCommandContext((context) =>
      importLists(toCatalogueDeps(context), content, toChangeOptions(options)),
    ),
    options.json,
  )
}

async function readJson(file: string): Promise<unknown> {
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8')
  const json = await reading.catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`${file} cannot be read (${error.code ?? 'unknown error'}).`)
  })
  try {
    return JSON.parse(json)
  } catch {
    throw new UserError(`${file === '-' ? 'Standard input' : file} is not JSON.`)
  }
}

export async function runRollback(
  target: number | 'shipped' | undefined,
  { json }: { json?: true },
): Promise<void> {
  report(
    await withCommandContext(
      (context) => rollBack(toCatalogueDeps(context), target, toCommandAuthor()),
      EXISTING,
    ),
    json,
  )
}

export function report({ outcome, id, changes, doubts }: SaveResult, json: true | undefined): void {
  if (json) {
    const database = toDatabaseText(loadConfig())
    sayJson({ database }, { outcome, version: id, changes: changes.map(toPlainChange), doubts })
    return
  }
  if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
  for (const doubt of doubts) warn(doubt)
  if (outcome === 'unchanged') say(`Nothing has changed. Version ${id} stays active.`)
  else if (outcome === 'changed')
    say(`Version ${id} is active. Running servers switch to it within 5 seconds.`)
  else say(`Nothing was changed (--dry-run). Version ${id} stays active.`)
}
