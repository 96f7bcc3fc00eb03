import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { toBlindIndexText } from '../../src/crypto/mac.ts'
import { findUnnamed } from '../../src/people/erase-person.ts'
import { sealStoredResponse } from '../../src/verification/idempotency.ts'
import { ENGINES, newSettings, toNumber, withSealed } from '../registry/sealed-registry.ts'

const ANSWERS = 2500
/** More than one part ends within one time of expiry. */
const toExpiry = (index: number) => 1000 + Math.floor(index / 7)

/** Answers of an older version, each about another person; every hundredth has a subject. */
async function fill({ store, keyring }: SealedStore): Promise<void> {
  const rows = Array.from({ length: ANSWERS }, (_none, index) => {
    const name = randomBytes(32)
    const body = JSON.stringify({ data: { nin_number: toNumber(index) } })
    const sealed = sealStoredResponse(keyring, name, {
      ...{ status: 200, body, outcome: 'verified', reference: `ver_${index}`, released: null },
    })
    return [name, toExpiry(index), sealed, index % 100 === 99 ? randomBytes(32) : null]
  })
  await store.database.transaction((tx) =>
    tx
      .prepare(
        `INSERT INTO idempotency (key_id, operation, name, fingerprint, owner, lease_until, expires_at, sealed, subject)
         VALUES ('a', 'verify_nin', $1, $1, '', 0, $2, $3, $4)`,
      )
      .runAll(rows),
  )
}

/** How many times other work had a turn. */
async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const result = await work().finally(() => {
    isOver = true
  })
  return { result, turns }
}

describe.each(ENGINES)('answers without a subject on %s', (engine) => {
  it('are all read, each once, and let other work run between them', async () => {
    await withSealed(await newSettings(engine), async (sealed) => {
      await fill(sealed)
      const { store, keyring } = sealed
      const find = (isWanted: (subject: string) => boolean) =>
        findUnnamed(store.erasure.listUnnamed, keyring, 'nin', isWanted)
      const { result, turns } = await countTurns(() => find(() => true))
      expect(new Set(result.map(({ subject }) => subject)).size).toBe((ANSWERS * 99) / 100)
      expect(result).toHaveLength((ANSWERS * 99) / 100)
      expect(turns).toBeGreaterThan(ANSWERS / 25)

      const wanted = toBlindIndexText(keyring.subject, 'nin', toNumber(1234))
      expect(await find((subject) => subject === wanted)).toHaveLength(1)
      expect(await findUnnamed(store.erasure.listUnnamed, keyring, 'bvn', () => true)).toEqual([])
    })
  })

  it('of one moment are read together, however many', async () => {
    await withSealed(await newSettings(engine), async (sealed) => {
      await fill(sealed)
      await sealed.store.database.prepare('UPDATE idempotency SET expires_at = 5000').run()
      const { listUnnamed } = sealed.store.erasure
      expect(await findUnnamed(listUnnamed, sealed.keyring, 'nin', () => true)).toHaveLength(
        (ANSWERS * 99) / 100,
      )
    })
  })
})
