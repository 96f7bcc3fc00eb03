import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Head } from '../../src/audit/audit-chains.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, steadyNow } from '../../src/contract/time.ts'
import { type CommitBatch, packParts } from '../../src/ledger/commit.ts'
import { POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'
import { admitGuess, commitParts } from './commit-parts.ts'

/** Two nodes that write at the same moment. Another session holds a lock until both are where the test wants them. */
describe.skipIf(!hasPostgres())('commits of several nodes on PostgreSQL', () => {
  let store: Store
  let other: Client
  beforeEach(async () => {
    const place = await POSTGRES.createPlace()
    store = await place.open()
    other = new Client({ connectionString: place.options.databaseUrl })
    await other.connect()
  })
  afterEach(async () => {
    await other.end()
    await store.close()
  })

  const countWaiting = async () => {
    const { rows } = await other.query('SELECT COUNT(*)::int AS waiting FROM pg_locks WHERE NOT granted')
    return rows[0]?.waiting
  }

  it('a guess is written if the guesses that refused it are withdrawn before it is decided', async () => {
    const subject = createHash('sha256').update('person').digest()
    const at = steadyNow()
    const limits = { at, since: at - DAY_MS, day: 1, maxByKey: 1, maxByAll: 1 }
    const admit = (keyId: string) =>
      admitGuess(store, { ...limits, id: keyId, subject, keyId, maxPeople: 10 })
    expect(await admit('one')).toBe('admitted')

    await other.query('BEGIN')
    await other.query("SELECT pg_advisory_xact_lock(hashtextextended('subjects:two', 0))")
    const admitting = admit('two')
    await expect.poll(countWaiting).toBe(1)
    await other.query('DELETE FROM attempts')
    await other.query('COMMIT')

    expect(await admitting).toBe('admitted')
    const { rows } = await other.query('SELECT id FROM attempts')
    expect(rows).toEqual([{ id: 'two' }])
  })

  it('the guesses about one person are counted where nobody else was asked about', async () => {
    const at = steadyNow()
    const about = { subject: Buffer.alloc(32, 1), keyId: 'key', maxPeople: 10 }
    const limits = { at, since: at - DAY_MS, day: 1, maxByKey: 1, maxByAll: 1 }
    expect(await admitGuess(store, { ...about, ...limits, id: 'one' })).toBe('admitted')
    expect(await admitGuess(store, { ...about, ...limits, id: 'two' })).toBe('too_many_attempts')
  })

  it('a late refund and a commit of the same key and source do not wait for each other', async () => {
    const money = { name: 'dojah', day: 1, node: 'here', kobo: 100, isCapped: false }
    const spending = [{ ...money, calls: 1, key: { id: 'key', month: '2026-11' } }] as const
    await store.spend.lease({ ...money, capKobo: null }, steadyNow())
    expect(await commitParts(store, [{ spending }])).toEqual([])

    await other.query('BEGIN')
    await other.query('SELECT 1 FROM key_spend_shares FOR UPDATE')
    const refunding = store.spend.refund({ ...spending[0], id: 'refund' })
    await expect.poll(countWaiting).toBe(1)
    const committing = commitParts(store, [{ spending }])
    await expect.poll(countWaiting).toBe(2)
    await other.query('COMMIT')

    expect(await Promise.all([refunding, committing])).toEqual([true, []])
    const { rows } = await other.query('SELECT calls::int, kobo::int FROM key_spend_shares')
    expect(rows).toEqual([{ calls: 1, kobo: 100 }])
  })

  const name = createHash('sha256').update('order-1').digest()
  const toClaim = (operation: string, owner: string) => ({
    claim: {
      keyId: 'key',
      operation,
      name,
      fingerprint: name,
      subject: null,
      owner,
      leaseMs: 1000,
      expiresAt: steadyNow() + DAY_MS,
      paidCalls: 0,
    },
  })

  /** The first commits that store a claim fail. The count is outside transactions. */
  async function failFirst(commits: number, code: string): Promise<() => Promise<number>> {
    await other.query(`CREATE SEQUENCE tries;
      CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') <= ${commits} THEN RAISE EXCEPTION 'taken' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fail_first BEFORE INSERT ON idempotency FOR EACH ROW EXECUTE FUNCTION fail_first()`)
    return async () => Number((await other.query('SELECT last_value FROM tries')).rows[0].last_value)
  }
  const TAKEN = 'TB409'
  const UNIQUE_VIOLATION = '23505'

  it('a commit whose rows others change at the same moment is tried six times', async () => {
    const countTries = await failFirst(5, TAKEN)
    expect(await commitParts(store, [toClaim('a', 'one')])).toEqual([])
    expect(await countTries()).toBe(6)
  })

  it('a commit that others precede six times fails', async () => {
    const countTries = await failFirst(7, TAKEN)
    await expect(commitParts(store, [toClaim('a', 'one')])).rejects.toThrow('taken')
    expect(await countTries()).toBe(6)
  })

  it('a commit whose rows were taken, and are free when they are looked at, is not taken for written', async () => {
    const countTries = await failFirst(2, UNIQUE_VIOLATION)
    expect(await commitParts(store, [toClaim('a', 'one')])).toEqual([])
    expect(await countTries()).toBe(3)
    const { rows } = await other.query('SELECT owner FROM idempotency')
    expect(rows).toEqual([{ owner: 'one' }])
  })

  it('a commit that fails for another reason is not tried again', async () => {
    const countTries = await failFirst(1, 'TB500')
    await expect(commitParts(store, [toClaim('a', 'one')])).rejects.toThrow('taken')
    expect(await countTries()).toBe(1)
  })

  it('rows are not written after a row that a failover has lost', async () => {
    const append = (head: Head, parts?: CommitBatch) =>
      store.audit.append({
        rows: store.audit.packRows(linkEntries('chain', head, [{ phase: 'outcome' }])),
        parts,
      })
    await append(EMPTY_HEAD)
    const lost = { sequence: 1, hash: Buffer.alloc(32, 7) }
    const parts = packParts([toClaim('a', 'one')], steadyNow())
    for (const rest of [undefined, parts]) await expect(append(lost, rest)).rejects.toThrow('the row before')
    const { rows } = await other.query('SELECT sequence::int FROM audit')
    expect(rows).toEqual([{ sequence: 1 }])
    expect((await other.query('SELECT 1 FROM idempotency')).rows).toEqual([])
  })

  it('claims of one Idempotency-Key for several operations do not wait for each other', async () => {
    await other.query('BEGIN')
    await other.query(
      `INSERT INTO idempotency (key_id, operation, name, fingerprint, owner, lease_until, expires_at)
       VALUES ('key', 'c', $1, $1, '', 0, 0)`,
      [name],
    )
    const one = commitParts(
      store,
      ['a', 'c', 'b'].map((operation) => toClaim(operation, 'one')),
    )
    await expect.poll(countWaiting).toBe(1)
    const two = commitParts(
      store,
      ['b', 'a'].map((operation) => toClaim(operation, 'two')),
    )
    await expect.poll(countWaiting).toBe(2)
    await other.query('ROLLBACK')

    expect(await one).toEqual([])
    expect(await two).toEqual([
      [0, 'claimed'],
      [1, 'claimed'],
    ])
  })

  it('results about the same people that are kept for reuse do not wait for each other', async () => {
    const toKept = (person: number) => ({
      kept: {
        subject: Buffer.alloc(32, person),
        sealed: Buffer.from('sealed'),
        expiresAt: steadyNow() + DAY_MS,
      },
    })
    await other.query('BEGIN')
    await other.query("INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, 'x', 0)", [
      Buffer.alloc(32, 3),
    ])
    const one = commitParts(store, [1, 3, 2].map(toKept))
    await expect.poll(countWaiting).toBe(1)
    const two = commitParts(store, [2, 1].map(toKept))
    await expect.poll(countWaiting).toBe(2)
    await other.query('ROLLBACK')

    expect(await Promise.all([one, two])).toEqual([[], []])
  })
})
