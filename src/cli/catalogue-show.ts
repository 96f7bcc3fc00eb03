import { writeFile } from 'node:fs/promises'
import { CHANGE_WORDS, type Change, diffFiles, summarise, toPlainChange } from '../catalogue/diff.ts'
import { listVersions, readCurrent, readVersion } from '../catalogue/versions.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import type { CatalogueTable } from '../store/catalogue-table.ts'
import { withStore } from './command-context.ts'

type Json = { json?: true }

export const toTime = (at: number) => (at === 0 ? '' : `${new Date(at).toISOString().slice(0, 16)}Z`)

export function showHistory({ json }: Json): Promise<void> {
  return withStore(async ({ store, database }) => {
    const versions = await listVersions(store.catalogue)
    const syncs = await store.catalogue.listSyncs()
    if (json) {
      const plain = versions.map(({ at, ...version }) => ({ ...version, at: toTime(at) || null }))
      const plainSyncs = syncs.map(({ source, startedAt, outcome }) => ({
        source,
        at: toTime(startedAt),
        outcome: outcome ?? null,
      }))
      sayJson({ database }, { versions: plain, syncs: plainSyncs })
      return
    }
    const active = versions.at(-1)?.id
    const rows = versions.map(({ id, at, origin, author }) => [
      `${id}${id === active ? ' (active)' : ''}`,
      toTime(at),
      toPlain(origin),
      author,
    ])
    say(toTable([['version', 'since', 'from', 'by'], ...rows]))
    if (syncs.length === 0) return
    const lastSyncs = syncs.map((sync) => [
      sync.source,
      toTime(sync.startedAt),
      sync.outcome ?? 'in progress',
    ])
    say(`\n${toTable([['vendor', 'last sync', 'outcome'], ...lastSyncs])}`)
  })
}

export function showDiff(from: number | undefined, to: number | undefined, { json }: Json): Promise<void> {
  return withStore(async ({ store }) => {
    const ids = await toPair(store.catalogue, from, to)
    const [before, after] = await Promise.all(ids.map((id) => readVersion(store.catalogue, id)))
    const changes = before && after ? diffFiles(before.files, after.files) : []
    if (json) return say(JSON.stringify(changes.map(toPlainChange)))
    if (changes.length === 0) return say(`Versions ${ids[0]} and ${ids[1]} are equal.`)
    say(toTable(toChangeRows(changes)))
    say(`\nFrom version ${ids[0]} to ${ids[1]}: ${summarise(changes)}.`)
  })
}

async function toPair(
  table: CatalogueTable,
  from: number | undefined,
  to: number | undefined,
): Promise<readonly [number, number]> {
  const versions = await listVersions(table)
  const last = versions.at(-1)?.id ?? 0
  if (from !== undefined) return [from, to ?? last]
  const previous = versions.at(-2)?.id
  if (previous === undefined) throw new UserError('There is only one version: the lists of this release.')
  return [previous, last]
}

export async function exportLists(file: string | undefined, { of: version }: { of?: number }): Promise<void> {
  const { files } = await withStore(({ store }) =>
    version === undefined ? readCurrent(store.catalogue) : readVersion(store.catalogue, version),
  )
  const json = JSON.stringify(files, null, 2)
  if (file === undefined || file === '-') return say(json)
  await writeFile(file, `${json}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new UserError(`${file} exists already. Name another file.`)
    throw new UserError(`${file} cannot be written (${error.code ?? 'unknown error'}).`)
  })
  say(`The lists are in ${file}.`)
}

/** Labels come from vendors: they must not contain control characters, or fill the screen. */
const toPlain = (label: string) => label.replaceAll(/[\p{C}]/gu, ' ').slice(0, 60)

export function toChangeRows(changes: readonly Change[]): string[][] {
  const rows = changes.map(({ kind, list, code, name, priceBefore = '', priceAfter = '' }) => [
    CHANGE_WORDS[kind],
    list,
    toPlain(code),
    priceBefore,
    priceAfter,
    toPlain(name),
  ])
  return [['change', 'list', 'code', 'before', 'after', 'name'], ...rows]
}
