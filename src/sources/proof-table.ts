import { createHash } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import {
  defineColumns,
  defineTable,
  json,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { isLoopback } from '../settings/setting.ts'
import { listFieldPaths, toAnswerMap } from './vendor-file/places.ts'
import { OPERATIONS, type OperationName, type VendorFile } from './vendor-file/schema.ts'

/** One certification of an operation. `fileHash` says of which version of the file. */
const PROOF = defineColumns({
  vendor: text(),
  operation: text<OperationName>(),
  fileHash: text(),
  rules: json<readonly string[]>(),
  fields: json<readonly string[]>(),
  /** The vendor's own, or that of a sandbox. */
  host: text(),
  /** Of Tabbat. */
  version: text(),
  /** An operator. */
  provedBy: text(),
  provedAt: number(),
})
export type Proof = RowOf<typeof PROOF>

/** What operators have proved of vendor files with an account. */
export const proofTable = defineTable({
  reads: (database) => {
    const all = database.prepare(
      `SELECT ${PROOF.names} FROM vendor_proofs ORDER BY vendor, operation, proved_at`,
    )
    return { list: async () => (await all.all()).map(PROOF.decode) }
  },
  writes: (database) => ({
    add: async (proof: Proof) =>
      void (await database
        .prepare(
          `INSERT INTO vendor_proofs (${PROOF.names}) VALUES (${PROOF.places})
           ON CONFLICT (vendor, operation, proved_at) DO NOTHING`,
        )
        .run(...PROOF.encode(proof))),
  }),
})
type ProofTable = TableOf<typeof proofTable>

type ProvedParts = {
  readonly vendor: string
  readonly operation: OperationName
  readonly file_hash: string
  readonly tabbat_version: string
  readonly date: string
  readonly proved: Pick<Proof, 'rules' | 'fields'>
}

type ProofDeps = {
  readonly table: ProofTable
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/**
 * Keeps what a certification has proved. False if that is nothing: a server on this machine is a simulated vendor. `by` is the name of
 * an operator.
 */
export async function keepProof(
  { table, audit }: ProofDeps,
  report: ProvedParts,
  { url, by }: { readonly url: string; readonly by: string },
): Promise<boolean> {
  const { vendor, operation, file_hash: fileHash, tabbat_version: version, proved } = report
  const { host, hostname } = new URL(url)
  if (isLoopback(hostname) || (proved.rules.length === 0 && proved.fields.length === 0)) return false
  const detail = `${vendor} ${operation} at ${host}; rules: ${proved.rules.length}, fields: ${proved.fields.length}; file ${fileHash.slice(0, 12)}; proved by ${by}`
  await audit.record([{ phase: 'vendor_certified', detail }])
  const provedAt = Date.parse(report.date)
  await table.add({ vendor, operation, fileHash, ...proved, host, version, provedBy: by, provedAt })
  return true
}

/** SHA-256 of what a file does: comments, the order of members and the day of reading make no difference. */
export const toFileHash = ({ $schema: _, documentation: __, title: ___, ...file }: VendorFile): string =>
  createHash('sha256')
    .update(JSON.stringify(toCanonical(file)))
    .digest('hex')

function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([name]) => name !== '$comment')
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => [name, toCanonical(inner)])
}

/** How much of an operation of a file is proved. */
export type ProofState = {
  readonly operation: OperationName
  readonly provedRules: readonly string[]
  readonly otherRules: readonly string[]
  readonly provedFields: readonly string[]
  readonly otherFields: readonly string[]
  /** The last certification of this file. */
  readonly last?: Proof | undefined
  /** The last certification of an earlier version of the file, if there is none of this one. */
  readonly earlier?: Proof | undefined
}

/** All certifications of the same content count together. */
export function toProofStates(name: string, file: VendorFile, proofs: readonly Proof[]): ProofState[] {
  const hash = toFileHash(file)
  return OPERATIONS.filter((operation) => file.operations[operation]).map((operation) => {
    const own = proofs.filter((proof) => proof.vendor === name && proof.operation === operation)
    const present = own.filter(({ fileHash }) => fileHash === hash)
    const rules = listRuleNames(file, operation)
    const fields = listFieldPaths(file, operation).map(({ field }) => field)
    const isRuleProved = (rule: string) => present.some((proof) => proof.rules.includes(rule))
    const isFieldProved = (field: string) => present.some((proof) => proof.fields.includes(field))
    return {
      operation,
      provedRules: rules.filter(isRuleProved),
      otherRules: rules.filter((rule) => !isRuleProved(rule)),
      provedFields: fields.filter(isFieldProved),
      otherFields: fields.filter((field) => !isFieldProved(field)),
      last: present.at(-1),
      earlier: present.length === 0 ? own.at(-1) : undefined,
    }
  })
}

export const listRuleNames = (file: VendorFile, operation: OperationName): string[] =>
  (file.rules[toAnswerMap(file, operation)?.rules ?? ''] ?? []).map(({ name }) => name)
