import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { say, sayJson, toTable, warn } from '../app/terminal.ts'
import { importLists, requireSettings, rollBack, syncVendor } from '../catalogue/change.ts'
import { toPlainChange } from '../catalogue/diff.ts'
import type { CatalogueDeps, Outcome } from '../catalogue/versions.ts'
import { loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { UserError } from '../errors.ts'
import type { VendorName } from '../sources/vendors.ts'
import { toChangeRows } from './catalogue-show.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'

export type ImportOptions = { dryRun?: true; force?: true; json?: true }
export type SyncOptions = ImportOptions

export const AUTHOR = 'command line'

export const toDesk = ({ store, audit }: CommandContext): CatalogueDeps => ({
  table: store.catalogue,
  reviews: store.reviews,
  audit,
  switches: store.sources,
})

const toWish = ({ force, dryRun }: ImportOptions) => ({
  author: AUTHOR,
  force: force === true,
  dryRun: dryRun === true,
})

export async function runSync(name: VendorName, options: SyncOptions): Promise<void> {
  // Before there is a database, where there is none yet.
  requireSettings(loadConfig(), name)
  report(
    await withCommandContext((office) => syncVendor(office.config, toDesk(office), name, toWish(options))),
    options.json,
  )
}

export async function runImport(file: string, options: ImportOptions): Promise<void> {
  const content = await readJson(file)
  report(
    await withCommandContext((office) => importLists(toDesk(office), content, toWish(options))),
    options.json,
  )
}

async function readJson(file: string): Promise<unknown> {
  const given = file === '-' ? text(process.stdin) : readFile(file, 'utf8')
  const json = await given.catch((error: NodeJS.ErrnoException) => {
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
  report(await withCommandContext((office) => rollBack(toDesk(office), target, AUTHOR), EXISTING), json)
}

export function report({ outcome, id, changes, doubts }: Outcome, json: true | undefined): void {
  if (json) {
    const database = toDatabaseText(loadConfig())
    sayJson({ database }, { outcome, version: id, changes: changes.map(toPlainChange), doubts })
    return
  }
  if (changes.length > 0) say(`${toTable(toChangeRows(changes))}\n`)
  for (const doubt of doubts) warn(doubt)
  if (outcome === 'unchanged') say(`Nothing has changed; version ${id} stays in force.`)
  else if (outcome === 'changed') say(`Version ${id} is in force; running servers switch within 5 seconds.`)
  else say(`This was only a look; version ${id} stays in force.`)
}
