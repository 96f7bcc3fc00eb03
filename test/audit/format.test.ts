import { createSecretKey, hash as digest } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/audit/audit-table.ts'
import { checkProof, PROOF_KIND, type ProofRow, toProofText } from '../../src/audit/check-proof.ts'
import { computeMerkleRoot, toMerklePath } from '../../src/audit/merkle.ts'
import { openCheckpoint, toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { climb, createTree, type ProofStep } from '../../src/audit/verify/merkle-tree.ts'
import {
  createRowHasher,
  FORMAT,
  HASHED_FIELDS,
  toReference,
  ZERO_HASH,
} from '../../src/audit/verify/row-hasher.ts'
import { AUDIT_COLUMNS } from '../../src/ledger/audit-row.ts'

type Vector = {
  readonly seed: string
  readonly public_key: string
  readonly field_policies: Readonly<Record<string, string>>
  readonly rows: readonly (ProofRow & {
    readonly phase: string
    readonly chain: string
    readonly time: string
  })[]
  readonly encoding_of_row_3: string
  readonly root: string
  readonly path_of_row_2: readonly ProofStep[]
  readonly checkpoint: Checkpoint
}

const doc = readFileSync('docs/audit-format.md', 'utf8')
const vector = [...doc.matchAll(/```json\n(.*?)```/gs)]
  .map(([, text]) => JSON.parse(text ?? '') as Vector)
  .find(({ rows }) => rows !== undefined) as Vector
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

async function toRoot(list: readonly Buffer[]): Promise<string> {
  async function* inPages() {
    for (let from = 0; from < list.length; from += 7) yield list.slice(from, from + 7)
  }
  return toHex(await computeMerkleRoot(inPages()))
}

describe('the test vector in docs/audit-format.md', () => {
  const { rows, checkpoint, field_policies: policies } = vector
  const hashes = rows.map(({ hash }) => Buffer.from(hash, 'hex'))

  it('matches the writer', async () => {
    const toNames = (reference: string | null) => policies[reference ?? ''] ?? reference
    const entries = rows.map((row) => ({ ...row, fields_released: toNames(row.fields_released) }))
    const written = linkEntries(rows[0]?.chain ?? '', EMPTY_HEAD, entries)
    expect(written.map(({ fields_released }) => fields_released)).toEqual(
      rows.map(({ fields_released }) => fields_released),
    )
    expect(written.map(({ hash }) => toHex(hash))).toEqual(rows.map(({ hash }) => hash))
    expect(written.map(({ previous_hash }) => toHex(previous_hash))).toEqual(
      rows.map(({ previous_hash }) => previous_hash),
    )
    expect(await toRoot(hashes)).toBe(vector.root)
    expect(toMerklePath(hashes, 1)).toEqual(vector.path_of_row_2)
    const signer = createSigner(createSecretKey(Buffer.from(vector.seed, 'hex')))
    expect(signer.publicKey).toBe(vector.public_key)
    expect(signer.sign(checkpoint.body)).toBe(checkpoint.signature)
  })

  it('matches the verifier', () => {
    const hashRow = createRowHasher()
    let previous = ZERO_HASH
    const tree = createTree()
    for (const row of rows) {
      expect(row.previous_hash).toBe(previous)
      const fields = HASHED_FIELDS.map((field) => row[field])
      previous = hashRow(fields, previous, row.format) as string
      expect(previous).toBe(row.hash)
      tree.add(row.hash)
    }
    expect(tree.root()).toBe(vector.root)
    expect(climb(rows[1]?.hash ?? '', 1, rows.length, vector.path_of_row_2)).toBe(vector.root)
    const publicKey = toPublicKey(vector.public_key, 'The key')
    expect(openCheckpoint(checkpoint, publicKey)).toMatchObject({ heads: [{ sequence: 3, from: 0 }] })
    const [row, path] = [rows[1] as ProofRow, vector.path_of_row_2]
    for (const [id, fields] of Object.entries(policies)) expect(toReference(fields)).toBe(id)
    const released = policies[row.fields_released ?? ''] ?? null
    const text = toProofText({ kind: PROOF_KIND, version: FORMAT, row, released, path, checkpoint })
    expect(checkProof(Buffer.from(text), publicKey)).toMatchObject({ sound: true })
  })

  it('has the encoding of the third row', () => {
    expect(digest('sha256', Buffer.from(vector.encoding_of_row_3, 'hex'), 'hex')).toBe(rows[2]?.hash)
  })
})

it('names the columns of the table in their order', () => {
  const named = [...doc.matchAll(/^\| \d+ \| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(named).toEqual(AUDIT_COLUMNS)
  expect([...HASHED_FIELDS, 'format', 'previous_hash', 'hash']).toEqual(AUDIT_COLUMNS)
})

describe('writer and verifier agree', () => {
  it('on trees and paths of every size', async () => {
    const all = Array.from({ length: 70 }, (_each, index) => Buffer.alloc(32, index + 1))
    for (let count = 1; count <= all.length; count++) {
      const some = all.slice(0, count)
      const root = await toRoot(some)
      const tree = createTree()
      for (const each of some) tree.add(each.toString('hex'))
      expect(tree.root()).toBe(root)
      for (const [index, each] of some.entries()) {
        const path = toMerklePath(some, index)
        expect(climb(each.toString('hex'), index, count, path)).toBe(root)
        expect(climb(each.toString('hex'), index + 1, count, path)).not.toBe(root)
      }
    }
  })

  it('on rows of any text and length', () => {
    const hashRow = createRowHasher()
    for (const text of ['', '\0', '₦', '😀'.repeat(20_000), 'x'.repeat(300_000), 'Adé', null]) {
      const entry: AuditEntry = { phase: 'outcome', detail: text, subject: text, started_at: text }
      const [row] = linkEntries('a', EMPTY_HEAD, [entry])
      const fields = HASHED_FIELDS.map((field) => row?.[field])
      expect(hashRow(fields, ZERO_HASH, row?.format)).toBe(toHex(row?.hash ?? Buffer.alloc(0)))
    }
  })

  it('on the one format there is', () => {
    const hashRow = createRowHasher()
    const fields = HASHED_FIELDS.map((field) => (field === 'sequence' ? 1 : 'x'))
    expect(hashRow(fields, ZERO_HASH, 2)).toMatch(/^[0-9a-f]{64}$/)
    for (const format of [0, 1, 3, -1, 1.5, '2', null, undefined])
      expect(hashRow(fields, ZERO_HASH, format)).toBeUndefined()
  })
})

it('the verifier imports nothing of the writer', () => {
  const checks = '{verify/*,check-proof,open-checkpoint,checkpoint-file,extract/verify-extract}.ts'
  const archives = 'archive/{verify-*,read-archive}.ts'
  // The layout of lines and the reading of the database are shared: a wrong one is no wrong hash.
  const layouts = '{extract/extract-format,archive/archive-format,audit-snapshot,subject-blocks}.ts'
  const files = globSync([checks, archives, layouts].map((pattern) => `src/audit/${pattern}`))
  expect(files.length).toBeGreaterThan(15)
  for (const file of files)
    for (const [, target] of readFileSync(file, 'utf8').matchAll(
      /^import (?!type )[^']* from '(\.[^']+)'/gm,
    )) {
      const imported = join(dirname(file), target ?? '')
      if (imported.startsWith('src/audit/')) expect(files, file).toContain(imported)
    }
})
