import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { AUDIT_COLUMNS } from '../../src/ledger/audit-row.ts'
import type { CommitBatch } from '../../src/ledger/commit.ts'
import { packRecords } from '../../src/ledger/encoded-rows.ts'
import { toCommitValues } from '../../src/ledger/postgres-append.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const toHash = () => randomBytes(32).toString('hex')
const toBytes = (hex: string) => Buffer.from(hex, 'hex')

/** More than the records were made for. */
const LONG = 'é'.repeat(1000)

describe.skipIf(!hasPostgres())('records that PostgreSQL reads in binary', () => {
  let client: Client
  beforeAll(async () => {
    client = new Client({ connectionString: await createTestDatabase() })
    await client.connect()
  })
  afterAll(() => client.end())

  const read = async (type: string, value: unknown) =>
    (await client.query(`SELECT * FROM unnest($1::${type}[])`, [value])).rows as Record<string, unknown>[]

  it('are the audit rows: empty, absent, short, long and foreign texts', async () => {
    const texts = [
      '',
      null,
      'a',
      'x'.repeat(64),
      'x'.repeat(65),
      'é'.repeat(40),
      '名前 "\\{},',
      'y'.repeat(5000),
    ]
    const rows = linkEntries(
      'y2026m11-00000000-1',
      { ...EMPTY_HEAD, sequence: 2 ** 40 },
      texts.map((detail) => ({ phase: 'outcome', detail, amount: '100.00' })),
    )
    const { records, chain, previous } = packRecords(rows)
    expect([chain, previous]).toEqual(['y2026m11-00000000-1', { ...EMPTY_HEAD, sequence: 2 ** 40 }])
    const found = await read('audit_entry', records)
    expect(found.map(({ detail }) => detail)).toEqual(texts)
    const expected = rows.map((row) => ({ ...row, sequence: String(row.sequence) }))
    expect(found).toEqual(expected)
    expect(Object.keys(found[0] ?? {})).toEqual(AUDIT_COLUMNS)
  })

  it('are no rows', async () => {
    expect(await read('audit_entry', packRecords([]).records)).toEqual([])
  })

  const guesses = [
    { position: 0, subject: toHash(), keyId: 'key_a', isWrong: true, maxPeople: 2 ** 40 + 7 },
    { position: 1, subject: toHash(), keyId: 'key "b", {é}', isWrong: false, maxPeople: 0 },
  ] as const
  const toBatch = (batch: Partial<CommitBatch>): CommitBatch => ({
    claims: [],
    payments: [],
    shares: [],
    refunds: [],
    keyShares: [],
    completions: [],
    releases: [],
    settled: [],
    kept: [],
    at: 3,
    since: 2,
    day: 1,
    maxByKey: 5,
    maxByAll: 20,
    guesses: [],
    answers: [],
    sealed: new Uint8Array(0),
    ...batch,
  })

  it('are the guesses of a batch, with the wrong ones before each, and a quota for each person once', async () => {
    const [first, second] = guesses
    const again = { ...first, position: 2, isWrong: false }
    const values = toCommitValues(toBatch({ guesses: [first, second, again] }))
    expect(values.slice(0, 5)).toEqual([3, 2, 1, 5, 20])
    expect(values[6]).toBeNull()
    const toFound = ({ subject, keyId, isWrong, maxPeople }: (typeof guesses)[number], before: number) => ({
      subject: toBytes(subject),
      key_id: keyId,
      is_wrong: isWrong,
      quota: String(maxPeople),
      before_all: before,
      before_key: before,
      id: null,
    })
    const expected = [
      toFound(first, 0),
      toFound(second, 0),
      { ...toFound(first, 1), is_wrong: false, quota: null },
    ]
    expect(await read('commit_guess', values[5])).toEqual(expected)
  })

  it('are guesses of keys of any length', async () => {
    for (let length = 40; length < 200; length++) {
      const keyId = 'k'.repeat(length)
      const [value] = toCommitValues(toBatch({ guesses: [{ ...guesses[0], keyId }] })).slice(5)
      const [found] = await read('commit_guess', value)
      expect(found).toMatchObject({
        key_id: keyId,
        is_wrong: true,
        quota: String(2 ** 40 + 7),
        before_key: 0,
      })
    }
  })

  it('are the responses to store, each with its own bytes', async () => {
    const parts = [randomBytes(1), randomBytes(3000), randomBytes(40), randomBytes(1), randomBytes(1)]
    const answers = parts.map(({ length }, position) => ({
      position,
      keyId: position === 2 ? LONG : 'key_a',
      operation: 'verify_nin',
      name: toHash(),
      fingerprint: toHash(),
      subject: toHash(),
      owner: position > 2 ? `${'host'.repeat(position * 20)}:1:00000000` : 'owner',
      expiresAt: Date.now() + position,
      record: position === 1 ? toHash() : undefined,
      size: length,
    }))
    const values = toCommitValues(toBatch({ answers, sealed: Buffer.concat(parts) }))
    expect(values[5]).toBeNull()
    const expected = answers.map(({ name, fingerprint, subject, record, ...answer }, index) => ({
      key_id: answer.keyId,
      operation: answer.operation,
      name: toBytes(name),
      fingerprint: toBytes(fingerprint),
      subject: toBytes(subject),
      owner: answer.owner,
      expires_at: String(answer.expiresAt),
      sealed: parts[index],
      record: record === undefined ? null : toBytes(record),
    }))
    expect(await read('checked_answer', values[6])).toEqual(expected)
  })
})
