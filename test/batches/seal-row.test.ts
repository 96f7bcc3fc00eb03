import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSealRow, openRowLabel } from '../../src/batches/seal-row.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { BrokenSeal } from '../../src/crypto/seal.ts'
import { toCaller } from '../../src/keys/caller.ts'
import { withDefaults } from '../../src/keys/options.ts'

it("the caller's own word for a row is bound to the row", () => {
  const keyring = { queue: createSecretKey(randomBytes(32)) } as Keyring
  const key = { ...withDefaults({}), id: 'k3JbvwRd', lineage: 'k3JbvwRd', mode: 'live' as const }
  const caller = toCaller({ ...key, scopes: ['kyc:nin'] })
  const incoming = { caller, requestId: 'req_1', origin: 'https://verify.example', headers: {} }
  const sealRow = createSealRow(keyring, createSecretKey(randomBytes(32)), incoming as never, undefined)
  const toRow = (line: number, reference: string) =>
    sealRow({
      line,
      fields: { operation: 'verify_nin', nin: '41000000001', phone: '08031234567', reference },
    })
  const [first, second] = [toRow(1, 'loan 1'), toRow(2, 'loan 2')]
  expect([openRowLabel(keyring, first as never), openRowLabel(keyring, second as never)]).toEqual([
    'loan 1',
    'loan 2',
  ])
  const moved = { reference: first.reference, label: second.label }
  expect(() => openRowLabel(keyring, moved as never)).toThrow(BrokenSeal)
})
