/**
 * What callers were answered on, on the disk of this node: one line for each audit row, written once a second. When a standby
 * that lagged becomes the primary, the database no longer has the last rows; this file shows that, and names their references.
 *
 * Each chain has two files in the folder: `CHAIN.log`, and `CHAIN.old.log`, which it becomes after 50 000 rows.
 */

import { existsSync } from 'node:fs'
import { appendFile, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../crypto/make-folder.ts'
import type { AuditRow } from '../ledger/audit-row.ts'

export type AcknowledgedRow = {
  readonly sequence: number
  /** In hex. */
  readonly hash: string
  readonly reference: string | undefined
}

export type AcknowledgedFile = {
  /** Called when the callers of these rows are answered. */
  readonly add: (rows: readonly AuditRow[]) => void
  /** Writes what was added since the last time. What cannot be written is written with the next call. */
  readonly flush: () => Promise<void>
}

const MAX_ROWS = 50_000
export const ACKNOWLEDGED_FOLDER = 'acknowledged'

export function createAcknowledgedFile(
  dataDir: string,
  chain: string,
  mostRows = MAX_ROWS,
): AcknowledgedFile {
  const folder = join(dataDir, ACKNOWLEDGED_FOLDER)
  const path = join(folder, `${chain}.log`)
  let added: AuditRow[] = []
  let rowsInFile: number | undefined
  let isLineOpen = true
  let writing = Promise.resolve()

  const write = async (rows: readonly AuditRow[]) => {
    await makeFolder(folder)
    rowsInFile ??= countLines(await readFile(path, 'utf8').catch(toEmpty))
    if (rowsInFile >= mostRows && existsSync(path)) {
      await rename(path, join(folder, `${chain}.old.log`))
      rowsInFile = 0
    }
    // A crash or a full disk may have left an incomplete line.
    await appendFile(path, `${isLineOpen ? '\n' : ''}${rows.map(toLine).join('')}`, { mode: 0o600 })
    rowsInFile += rows.length
    isLineOpen = false
  }
  const writeAdded = async () => {
    const rows = added
    added = []
    if (rows.length === 0) return
    await write(rows).catch((error) => {
      isLineOpen = true
      added = [...rows, ...added].slice(-mostRows)
      throw error
    })
  }
  return {
    add: (rows) => {
      for (const row of rows) added.push(row)
    },
    flush: () => {
      writing = writing.catch(() => {}).then(writeAdded)
      return writing
    },
  }
}

const countLines = (text: string) => text.split('\n').length - 1

const toLine = ({ sequence, hash, request_reference: reference }: AuditRow) =>
  `${sequence} ${Buffer.from(hash).toString('hex')} ${reference ?? '-'}\n`

const LINE = /^(\d+) ([0-9a-f]{64}) (-|ver_[0-9a-z]+)$/

/** The acknowledged rows of a chain, in order, each once. An incomplete line after a crash is skipped. */
export async function readAcknowledged(dataDir: string, chain: string): Promise<AcknowledgedRow[]> {
  const rows = new Map<string, AcknowledgedRow>()
  for (const name of [`${chain}.old.log`, `${chain}.log`]) {
    const text = await readFile(join(dataDir, ACKNOWLEDGED_FOLDER, name), 'utf8').catch(toEmpty)
    for (const line of text.split('\n')) {
      const [, sequence, hash = '', reference] = LINE.exec(line) ?? []
      if (sequence)
        rows.set(hash, {
          sequence: Number(sequence),
          hash,
          reference: reference === '-' ? undefined : reference,
        })
    }
  }
  return [...rows.values()]
}

function toEmpty(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}

/** The chains that have files in the folder. */
export async function listAcknowledged(dataDir: string): Promise<string[]> {
  const names = await readdir(join(dataDir, ACKNOWLEDGED_FOLDER)).catch(() => [])
  return [...new Set(names.flatMap((name) => /^([\w-]+)(?:\.old)?\.log$/.exec(name)?.[1] ?? []))]
}

/** Forgets a chain: its loss is recorded in the audit log. */
export async function removeAcknowledged(dataDir: string, chain: string): Promise<void> {
  for (const name of [`${chain}.old.log`, `${chain}.log`])
    await rm(join(dataDir, ACKNOWLEDGED_FOLDER, name), { force: true })
}
