import type { DatabaseSync } from 'node:sqlite'
import type { CheckpointBody } from '../../src/audit/checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { TEXT_COLUMNS } from '../../src/database/row-pages.ts'
import { AUDIT_COLUMNS, type AuditRow } from '../../src/ledger/audit-row.ts'
import type { Random } from './random.ts'
import { CHAINS, RELEASED } from './sample-log.ts'

/** The result of a tampering: whether the checkpoint file is needed to find it, and where it is found, if that is certain. */
type Tampered = { readonly needsFile: boolean; readonly chain?: string; readonly sequence?: number }

export type Tamper = (database: DatabaseSync, random: Random) => Tampered
type Value = string | number | null | Uint8Array

const LIST = AUDIT_COLUMNS.join(', ')
const COPIED = AUDIT_COLUMNS.filter((column) => column !== 'chain' && column !== 'sequence')

const run = (database: DatabaseSync, sql: string, ...values: Value[]) => database.prepare(sql).run(...values)

const rowsOf = (database: DatabaseSync, chain: string, after = 0) =>
  database
    .prepare(`SELECT ${LIST} FROM audit WHERE chain = ? AND sequence > ? ORDER BY sequence`)
    .all(chain, after) as unknown as AuditRow[]

function pickRow(database: DatabaseSync, random: Random): AuditRow {
  return random.pick(rowsOf(database, random.pick(CHAINS)))
}

/** All rows release the same fields. */
const toEntry = <T extends Pick<AuditRow, 'fields_released'>>(row: T): T =>
  row.fields_released === null ? row : { ...row, fields_released: RELEASED }

const insertRow = (database: DatabaseSync, row: AuditRow) =>
  run(
    database,
    `INSERT INTO audit (${LIST}) VALUES (${AUDIT_COLUMNS.map(() => '?').join(', ')})`,
    ...AUDIT_COLUMNS.map((column) => row[column] as Value),
  )

const TEXTS: readonly Value[] = ['', 'x', '0', 'outcome', 'verified', 'live', new Uint8Array([1, 2]), 7.5]

/** A different value. */
function toOther(value: Value, column: string, random: Random): Value {
  if (column === 'sequence') return random.pick([100_000, -3, 0, 2 ** 53 - 1, 1.5, 'x'])
  if (column === 'format') return random.pick([0, 1, 2, 3, 1.5, 'x', -1].filter((other) => other !== value))
  if (column === 'chain') return random.pick(['nobody-1', '', `${value} `])
  if (column.endsWith('hash')) {
    const bytes = Buffer.from(value as Uint8Array)
    const at = random.below(bytes.length)
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << random.below(8)), at)
    return random.pick<Value>([bytes, bytes.subarray(1), bytes.toString('hex'), Buffer.alloc(32), 9])
  }
  const text = typeof value === 'string' ? value : ''
  const at = random.below(text.length + 1)
  const spoilt = random.pick([
    `${text.slice(0, at)}~${text.slice(at + 1)}`,
    `${text.slice(0, at)}${text.slice(at + 1)}\0`,
    `${text} `,
  ])
  const isFixed = column === 'time' || column === 'phase'
  const others = [...TEXTS, spoilt, ...(isFixed || value === null ? [] : [null])]
  return random.pick(others.filter((other) => other !== value))
}

const changeColumn: Tamper = (database, random) => {
  const row = pickRow(database, random)
  const column = random.pick(AUDIT_COLUMNS)
  const value = toOther(row[column] as Value, column, random)
  const { chain, sequence } = row
  run(database, `UPDATE audit SET ${column} = ? WHERE chain = ? AND sequence = ?`, value, chain, sequence)
  // A changed position is found there or earlier; any other change is found at the row itself.
  return column === 'chain' || column === 'sequence'
    ? { needsFile: false }
    : { needsFile: false, chain, sequence }
}

/** For each column of text: values of every kind, in a row where it is null and in one where it is not. */
export function listChanges(database: DatabaseSync): { readonly what: string; readonly tamper: Tamper }[] {
  return TEXT_COLUMNS.flatMap((column) =>
    ['IS NULL', 'IS NOT NULL'].flatMap((condition) => {
      const found = database.prepare(`SELECT ${LIST} FROM audit WHERE ${column} ${condition} LIMIT 1`).get()
      if (!found) return []
      const { chain, sequence, ...row } = found as unknown as AuditRow
      const isFixed = column === 'time' || column === 'phase'
      const value = row[column]
      const spoilt =
        typeof value === 'string' ? [`${value} `, `${value}\0`, `~${value.slice(1)}`, value.slice(0, -1)] : []
      return [...TEXTS, ...spoilt, ...(isFixed ? [] : [null])]
        .filter((other) => other !== value)
        .map((other) => ({
          what: `${column}, which ${condition}, as ${other === null ? 'null' : JSON.stringify(other)}`,
          tamper: () => {
            const sql = `UPDATE audit SET ${column} = ? WHERE chain = ? AND sequence = ?`
            run(database, sql, other, chain, sequence)
            return { needsFile: false, chain, sequence }
          },
        }))
    }),
  )
}

/** A number larger than JavaScript can hold. */
const changeToHuge: Tamper = (database, random) => {
  const { chain, sequence } = pickRow(database, random)
  const column = random.pick(['sequence', 'hash', 'previous_hash'])
  run(
    database,
    `UPDATE audit SET ${column} = 9000000000000000001 WHERE chain = ? AND sequence = ?`,
    chain,
    sequence,
  )
  return { needsFile: false }
}

/** The changed row gets a valid hash; the rows after it are not changed. */
const changeWithHash: Tamper = (database, random) => {
  const row = pickRow(database, random)
  const { chain, sequence, previous_hash } = row
  const [forged] = linkEntries(chain, { sequence: sequence - 1, hash: previous_hash }, [
    { ...toEntry(row), outcome: 'forged' },
  ])
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence = ?', chain, sequence)
  insertRow(database, forged as AuditRow)
  return { needsFile: false, chain }
}

const deleteRow: Tamper = (database, random) => {
  const { chain, sequence } = pickRow(database, random)
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence = ?', chain, sequence)
  return { needsFile: false, chain, sequence }
}

/** Swaps all columns but the position, or all but the position and the hashes. */
const swapRows: Tamper = (database, random) => {
  const one = pickRow(database, random)
  const others = rowsOf(database, one.chain).filter(({ sequence }) => sequence !== one.sequence)
  const other = random.pick(others)
  const columns = random.pick([COPIED, COPIED.filter((column) => !column.endsWith('hash'))])
  const list = columns.map((column) => `${column} = ?`).join(', ')
  const put = (from: AuditRow, to: AuditRow) =>
    run(
      database,
      `UPDATE audit SET ${list} WHERE chain = ? AND sequence = ?`,
      ...columns.map((column) => from[column] as Value),
      to.chain,
      to.sequence,
    )
  put(one, other)
  put(other, one)
  return { needsFile: false, chain: one.chain, sequence: Math.min(one.sequence, other.sequence) }
}

const insertBetween: Tamper = (database, random) => {
  const { chain, sequence, ...row } = random.pick(rowsOf(database, random.pick(CHAINS)).slice(0, -1))
  const move = (sql: string) => run(database, `UPDATE audit SET sequence = ${sql}`, chain, sequence)
  move('-(sequence + 1) WHERE chain = ? AND sequence > ?')
  move('-sequence WHERE chain = ? AND sequence < -?')
  const [forged] = linkEntries(chain, { sequence, hash: row.hash }, [{ ...toEntry(row), outcome: 'forged' }])
  insertRow(database, forged as AuditRow)
  return { needsFile: false, chain }
}

const insertUnknownChain: Tamper = (database, random) => {
  const rows = linkEntries(
    random.pick(['nobody-1', '0', 'zzz']),
    EMPTY_HEAD,
    [1, 2].map(() => ({ phase: 'outcome' })),
  )
  for (const row of rows) insertRow(database, row)
  return { needsFile: false, chain: rows[0]?.chain ?? '', sequence: 1 }
}

const insertAtEnd: Tamper = (database, random) => {
  const last = rowsOf(database, random.pick(CHAINS)).at(-1) as AuditRow
  const row = { ...last, sequence: last.sequence + 1 + random.below(3) }
  insertRow(database, row)
  return { needsFile: false, chain: row.chain, sequence: last.sequence + 1 }
}

/** Deletes the checkpoints that would reveal the change. */
function hideCheckpoints(
  database: DatabaseSync,
  reveals: (head: CheckpointBody['heads'][number]) => boolean,
): void {
  const all = database.prepare('SELECT body FROM checkpoints').all() as { body: string }[]
  for (const { body } of all)
    if ((JSON.parse(body) as CheckpointBody).heads.some(reveals))
      run(database, 'DELETE FROM checkpoints WHERE body = ?', body)
}

const truncate: Tamper = (database, random) => {
  const chain = random.pick(CHAINS)
  const left = random.below(rowsOf(database, chain).length)
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence > ?', chain, left)
  const needsFile = random.below(2) === 1
  if (needsFile) hideCheckpoints(database, (head) => head.chain === chain && head.sequence > left)
  return { needsFile, chain, sequence: left + 1 }
}

const rehash: Tamper = (database, random) => {
  const first = pickRow(database, random)
  const { chain, sequence, previous_hash } = first
  const rows = rowsOf(database, chain, sequence - 1).map(toEntry)
  const forged = rows.map((row) => (row.sequence === sequence ? { ...row, outcome: 'forged' } : row))
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence >= ?', chain, sequence)
  for (const row of linkEntries(chain, { sequence: sequence - 1, hash: previous_hash }, forged))
    insertRow(database, row)
  const needsFile = random.below(2) === 1
  if (needsFile) hideCheckpoints(database, (head) => head.chain === chain && head.sequence >= sequence)
  return { needsFile, chain }
}

/** Restores the state at a checkpoint, or before the first one. */
const restoreOldCopy: Tamper = (database, random) => {
  const all = database.prepare('SELECT time, body FROM checkpoints ORDER BY time').all() as {
    time: string
    body: string
  }[]
  const kept = random.below(all.length) - 1
  const heads = kept < 0 ? [] : (JSON.parse(all[kept]?.body ?? '') as CheckpointBody).heads
  for (const chain of CHAINS) {
    const left = heads.find((head) => head.chain === chain)?.sequence ?? 0
    run(database, 'DELETE FROM audit WHERE chain = ? AND sequence > ?', chain, left)
  }
  run(database, 'DELETE FROM checkpoints WHERE time > ?', all[kept]?.time ?? '')
  return { needsFile: true }
}

const changeCheckpoint: Tamper = (database, random) => {
  const all = database.prepare('SELECT time, body, signature FROM checkpoints').all()
  const checkpoint = random.pick(all) as Record<string, string>
  const column = random.pick(['time', 'body', 'signature'])
  const text = checkpoint[column] ?? ''
  const at = random.below(text.length)
  const spoilt = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`
  run(
    database,
    `UPDATE checkpoints SET ${column} = ? WHERE signature = ?`,
    spoilt,
    checkpoint.signature as string,
  )
  return { needsFile: false }
}

/** The names of the released fields, to which the rows only refer. */
const changePolicy: Tamper = (database, random) => {
  const [policy] = database.prepare('SELECT id, fields FROM field_policies').all() as Record<string, string>[]
  const { id = '', fields = '' } = policy ?? {}
  const at = random.below(fields.length)
  const way = random.below(3)
  if (way === 0) run(database, 'DELETE FROM field_policies')
  else if (way === 1) run(database, 'UPDATE field_policies SET id = ?', `${id.slice(0, -1)}~`)
  else run(database, 'UPDATE field_policies SET fields = ?', `${fields.slice(0, at)}~${fields.slice(at + 1)}`)
  return { needsFile: false }
}

export const TAMPERINGS = {
  changePolicy,
  changeColumn,
  changeToHuge,
  changeWithHash,
  deleteRow,
  swapRows,
  insertBetween,
  insertUnknownChain,
  insertAtEnd,
  truncate,
  rehash,
  restoreOldCopy,
  changeCheckpoint,
} as const satisfies Record<string, Tamper>
