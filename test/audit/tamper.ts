import type { DatabaseSync } from 'node:sqlite'
import type { CheckpointBody } from '../../src/audit/checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { AUDIT_COLUMNS, type AuditRow } from '../../src/store/audit-row.ts'
import type { Chance } from './chance.ts'
import { CHAINS } from './sample-log.ts'

/** What a tampering leaves behind: whether it can be found without a file from outside, and where, if that is certain. */
type Tampered = { readonly needsFile: boolean; readonly chain?: string; readonly sequence?: number }

type Tamper = (database: DatabaseSync, chance: Chance) => Tampered
type Value = string | number | null | Uint8Array

const LIST = AUDIT_COLUMNS.join(', ')
const COPIED = AUDIT_COLUMNS.filter((column) => column !== 'chain' && column !== 'sequence')

const run = (database: DatabaseSync, sql: string, ...values: Value[]) => database.prepare(sql).run(...values)

const rowsOf = (database: DatabaseSync, chain: string, after = 0) =>
  database
    .prepare(`SELECT ${LIST} FROM audit WHERE chain = ? AND sequence > ? ORDER BY sequence`)
    .all(chain, after) as unknown as AuditRow[]

function pickRow(database: DatabaseSync, chance: Chance): AuditRow {
  return chance.pick(rowsOf(database, chance.pick(CHAINS)))
}

const insertRow = (database: DatabaseSync, row: AuditRow) =>
  run(
    database,
    `INSERT INTO audit (${LIST}) VALUES (${AUDIT_COLUMNS.map(() => '?').join(', ')})`,
    ...AUDIT_COLUMNS.map((column) => row[column] as Value),
  )

const TEXTS: readonly Value[] = ['', 'x', '0', 'outcome', 'verified', 'live', new Uint8Array([1, 2]), 7.5]

/** Another value than the one that is there. */
function toOther(value: Value, column: string, chance: Chance): Value {
  if (column === 'sequence') return chance.pick([100_000, -3, 0, 2 ** 53 - 1, 1.5, 'x'])
  if (column === 'format') return chance.pick([0, 1, 2, 3, 1.5, 'x', -1].filter((other) => other !== value))
  if (column === 'chain') return chance.pick(['nobody-1', '', `${value} `])
  if (column.endsWith('hash')) {
    const bytes = Buffer.from(value as Uint8Array)
    const at = chance.below(bytes.length)
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << chance.below(8)), at)
    return chance.pick<Value>([bytes, bytes.subarray(1), bytes.toString('hex'), Buffer.alloc(32), 9])
  }
  const text = typeof value === 'string' ? value : ''
  const at = chance.below(text.length + 1)
  const spoilt = chance.pick([
    `${text.slice(0, at)}~${text.slice(at + 1)}`,
    `${text.slice(0, at)}${text.slice(at + 1)}\0`,
    `${text} `,
  ])
  const isFixed = column === 'time' || column === 'phase'
  const others = [...TEXTS, spoilt, ...(isFixed || value === null ? [] : [null])]
  return chance.pick(others.filter((other) => other !== value))
}

const changeColumn: Tamper = (database, chance) => {
  const row = pickRow(database, chance)
  const column = chance.pick(AUDIT_COLUMNS)
  const value = toOther(row[column] as Value, column, chance)
  const { chain, sequence } = row
  run(database, `UPDATE audit SET ${column} = ? WHERE chain = ? AND sequence = ?`, value, chain, sequence)
  // Whatever happens to the place of a row is seen there or before; all else is seen at the row itself.
  return column === 'chain' || column === 'sequence'
    ? { needsFile: false }
    : { needsFile: false, chain, sequence }
}

/** A number larger than JavaScript can hold. */
const changeToHuge: Tamper = (database, chance) => {
  const { chain, sequence } = pickRow(database, chance)
  const column = chance.pick(['sequence', 'hash', 'previous_hash'])
  run(
    database,
    `UPDATE audit SET ${column} = 9000000000000000001 WHERE chain = ? AND sequence = ?`,
    chain,
    sequence,
  )
  return { needsFile: false }
}

/** The changed row gets a hash that fits; those after it are left alone. */
const changeWithHash: Tamper = (database, chance) => {
  const row = pickRow(database, chance)
  const { chain, sequence, previous_hash } = row
  const [forged] = linkEntries(chain, { sequence: sequence - 1, hash: previous_hash }, [
    { ...row, outcome: 'forged' },
  ])
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence = ?', chain, sequence)
  insertRow(database, forged as AuditRow)
  return { needsFile: false, chain }
}

const deleteRow: Tamper = (database, chance) => {
  const { chain, sequence } = pickRow(database, chance)
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence = ?', chain, sequence)
  return { needsFile: false, chain, sequence }
}

/** All but their places, or all but their places and hashes. */
const swapRows: Tamper = (database, chance) => {
  const one = pickRow(database, chance)
  const others = rowsOf(database, one.chain).filter(({ sequence }) => sequence !== one.sequence)
  const other = chance.pick(others)
  const columns = chance.pick([COPIED, COPIED.filter((column) => !column.endsWith('hash'))])
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

const insertBetween: Tamper = (database, chance) => {
  const { chain, sequence, ...row } = chance.pick(rowsOf(database, chance.pick(CHAINS)).slice(0, -1))
  const move = (sql: string) => run(database, `UPDATE audit SET sequence = ${sql}`, chain, sequence)
  move('-(sequence + 1) WHERE chain = ? AND sequence > ?')
  move('-sequence WHERE chain = ? AND sequence < -?')
  const [forged] = linkEntries(chain, { sequence, hash: row.hash }, [{ ...row, outcome: 'forged' }])
  insertRow(database, forged as AuditRow)
  return { needsFile: false, chain }
}

const insertStranger: Tamper = (database, chance) => {
  const rows = linkEntries(
    chance.pick(['nobody-1', '0', 'zzz']),
    EMPTY_HEAD,
    [1, 2].map(() => ({ phase: 'outcome' })),
  )
  for (const row of rows) insertRow(database, row)
  return { needsFile: false, chain: rows[0]?.chain ?? '', sequence: 1 }
}

const insertAtEnd: Tamper = (database, chance) => {
  const last = rowsOf(database, chance.pick(CHAINS)).at(-1) as AuditRow
  const row = { ...last, sequence: last.sequence + 1 + chance.below(3) }
  insertRow(database, row)
  return { needsFile: false, chain: row.chain, sequence: last.sequence + 1 }
}

/** The checkpoints that would give it away go as well. */
function hideCheckpoints(
  database: DatabaseSync,
  isTelling: (head: CheckpointBody['heads'][number]) => boolean,
): void {
  const all = database.prepare('SELECT body FROM checkpoints').all() as { body: string }[]
  for (const { body } of all)
    if ((JSON.parse(body) as CheckpointBody).heads.some(isTelling))
      run(database, 'DELETE FROM checkpoints WHERE body = ?', body)
}

const truncate: Tamper = (database, chance) => {
  const chain = chance.pick(CHAINS)
  const left = chance.below(rowsOf(database, chain).length)
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence > ?', chain, left)
  const needsFile = chance.below(2) === 1
  if (needsFile) hideCheckpoints(database, (head) => head.chain === chain && head.sequence > left)
  return { needsFile, chain, sequence: left + 1 }
}

const rehash: Tamper = (database, chance) => {
  const first = pickRow(database, chance)
  const { chain, sequence, previous_hash } = first
  const rows = rowsOf(database, chain, sequence - 1)
  const told = rows.map((row) => (row.sequence === sequence ? { ...row, outcome: 'forged' } : row))
  run(database, 'DELETE FROM audit WHERE chain = ? AND sequence >= ?', chain, sequence)
  for (const row of linkEntries(chain, { sequence: sequence - 1, hash: previous_hash }, told))
    insertRow(database, row)
  const needsFile = chance.below(2) === 1
  if (needsFile) hideCheckpoints(database, (head) => head.chain === chain && head.sequence >= sequence)
  return { needsFile, chain }
}

/** As a copy of the database from the time of a checkpoint, or from before the first one. */
const putOldCopyBack: Tamper = (database, chance) => {
  const all = database.prepare('SELECT time, body FROM checkpoints ORDER BY time').all() as {
    time: string
    body: string
  }[]
  const kept = chance.below(all.length) - 1
  const heads = kept < 0 ? [] : (JSON.parse(all[kept]?.body ?? '') as CheckpointBody).heads
  for (const chain of CHAINS) {
    const left = heads.find((head) => head.chain === chain)?.sequence ?? 0
    run(database, 'DELETE FROM audit WHERE chain = ? AND sequence > ?', chain, left)
  }
  run(database, 'DELETE FROM checkpoints WHERE time > ?', all[kept]?.time ?? '')
  return { needsFile: true }
}

const changeCheckpoint: Tamper = (database, chance) => {
  const all = database.prepare('SELECT time, body, signature FROM checkpoints').all()
  const checkpoint = chance.pick(all) as Record<string, string>
  const column = chance.pick(['time', 'body', 'signature'])
  const text = checkpoint[column] ?? ''
  const at = chance.below(text.length)
  const spoilt = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`
  run(
    database,
    `UPDATE checkpoints SET ${column} = ? WHERE signature = ?`,
    spoilt,
    checkpoint.signature as string,
  )
  return { needsFile: false }
}

export const TAMPERINGS = {
  changeColumn,
  changeToHuge,
  changeWithHash,
  deleteRow,
  swapRows,
  insertBetween,
  insertStranger,
  insertAtEnd,
  truncate,
  rehash,
  putOldCopyBack,
  changeCheckpoint,
} as const satisfies Record<string, Tamper>
