import type { Database } from '../database/database.ts'
import { defineColumns, type RowOf, text } from '../database/define-table.ts'
import { type Level, NOT_KNOWN, worstOf } from './incident-rules.ts'

const FINDING = defineColumns({
  node: text(),
  /** The check and, after a colon, what it is about. */
  name: text(),
  checkName: text(),
  /** The node, or empty if it is about all nodes. */
  scope: text(),
  level: text<Level>(),
  text: text(),
})
export type FindingRow = RowOf<typeof FINDING>

/** Something that is not fine, as a node sees it. */
export type SeenFinding = Omit<FindingRow, 'node'>

/** What a node has checked, and what it found. */
export type NodeReport = {
  readonly node: string
  /** The checks that were made. What was found of others stays as it was. */
  readonly checks: readonly string[]
  readonly findings: readonly SeenFinding[]
}

/** Writes what a node finds. Returns what all nodes find, by key. */
export async function noteFindings(
  tx: Database,
  report: NodeReport,
  now: number,
): Promise<Map<string, FindingRow>> {
  await forgetGoneNodes(tx, report.node, now)
  await writeFindings(tx, report)
  const rows = await tx.prepare(`SELECT ${FINDING.names} FROM node_findings`).all()
  return toSeen(rows.map(FINDING.decode))
}

/** An incident is about this. */
export const toKey = ({ name, scope }: Pick<SeenFinding, 'name' | 'scope'>) => JSON.stringify([name, scope])

/** A node without a heartbeat for this long is gone, and so is what it found. */
const GONE_MS = 60_000

/** What a node that is gone has found about itself may still hold. No other node checks it. */
async function forgetGoneNodes(tx: Database, node: string, now: number): Promise<void> {
  const gone = await tx
    .prepare(
      `SELECT DISTINCT node FROM node_findings WHERE node <> $1 AND NOT EXISTS (
        SELECT 1 FROM nodes n WHERE n.node = node_findings.node
          AND n.seen_at > CAST($2 AS BIGINT) AND n.seen_at < CAST($3 AS BIGINT))`,
    )
    // One that is seen in the future was seen by a clock that was ahead.
    .all(node, now - GONE_MS, now + GONE_MS)
  for (const name of gone.map((row) => String(row.node))) {
    await tx.prepare(MARK).run(name, NOT_KNOWN)
    await tx.prepare('DELETE FROM node_findings WHERE node = $1').run(name)
  }
  // It reports again.
  await tx.prepare(UNMARK).run(node, NOT_KNOWN)
}

const IS_MARKED = `substr(text, 1, ${NOT_KNOWN.length}) = CAST($2 AS TEXT)`
const MARK = `UPDATE incidents SET text = CAST($2 AS TEXT) || text
  WHERE scope = $1 AND ended_at IS NULL AND NOT ${IS_MARKED}`
const UNMARK = `UPDATE incidents SET text = substr(text, ${NOT_KNOWN.length + 1})
  WHERE scope = $1 AND ended_at IS NULL AND ${IS_MARKED}`

/** Changes of the level are written, and of the text but for its figures: those differ each time. */
async function writeFindings(tx: Database, { node, checks, findings }: NodeReport): Promise<void> {
  const stored = (
    await tx.prepare(`SELECT ${FINDING.names} FROM node_findings WHERE node = $1`).all(node)
  ).map(FINDING.decode)
  const isSame = (one: SeenFinding, other: SeenFinding) =>
    one.name === other.name &&
    one.scope === other.scope &&
    one.level === other.level &&
    withoutFigures(one.text) === withoutFigures(other.text)
  const gone = stored.filter(
    (row) => checks.includes(row.checkName) && !findings.some((finding) => isSame(row, finding)),
  )
  for (const { name } of gone)
    await tx.prepare('DELETE FROM node_findings WHERE node = $1 AND name = $2').run(node, name)
  for (const finding of findings.filter((each) => !stored.some((row) => isSame(row, each))))
    await tx
      .prepare(
        `INSERT INTO node_findings (${FINDING.names}) VALUES (${FINDING.places}) ON CONFLICT DO NOTHING`,
      )
      .run(...FINDING.encode({ ...finding, node }))
}

const withoutFigures = (text: string) => text.replaceAll(/\d+/g, '0')

/** Of several nodes, the one that sees it worst. */
function toSeen(rows: readonly FindingRow[]): Map<string, FindingRow> {
  const seen = new Map<string, FindingRow>()
  for (const row of rows.toSorted((one, other) => (one.node < other.node ? -1 : 1))) {
    const known = seen.get(toKey(row))
    if (!known || worstOf(known.level, row.level) !== known.level) seen.set(toKey(row), row)
  }
  return seen
}
