import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openStatement, signStatement } from '../../src/audit/archive/archive-format.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 1)))
const publicKey = toPublicKey(signer.publicKey, 'The key')
const HASH = 'ab'.repeat(32)
const CHAIN = { chain: 'a', sequence: 3, hash: HASH }
const CONTENT = {
  ...{ number: 1, previous: null, time: '2026-01-01T00:00:00.000Z', before: '2026-01-01', by: 'x' },
  ...{ rows: 3, checkpoints: 0, checkpoints_until: '', bytes: 10, digest: HASH, chains: [CHAIN] },
}
const signed = signStatement(CONTENT, signer)

/** Signed by us, and no statement of an archive. */
const open = (change: object) => {
  const statement = JSON.stringify({ ...JSON.parse(signed.statement), ...change })
  return openStatement({ statement, signature: signer.sign(statement) }, publicKey)
}

describe('the statement of an archive', () => {
  it('is opened with the public key of the log', () => {
    expect(openStatement(signed, publicKey)).toMatchObject(CONTENT)
    expect(open({})).toMatchObject(CONTENT)
  })

  it.each([
    { kind: 'tabbat-audit-extract' },
    { version: 0 },
    { number: -1 },
    { rows: 1.5 },
    { bytes: '10' },
    { digest: HASH.slice(1) },
    { digest: undefined },
    { chains: {} },
    { chains: [CHAIN, { ...CHAIN, chain: 1 }] },
    { chains: [{ ...CHAIN, sequence: -1 }] },
    { chains: [{ ...CHAIN, hash: '' }] },
  ])('is none with %j, although the signature is right', (change) => {
    expect(open(change)).toBeUndefined()
  })

  it.each([undefined, 7, '', signed.signature.slice(4)])('is none with the signature %j', (signature) => {
    expect(openStatement({ statement: signed.statement, signature }, publicKey)).toBeUndefined()
  })
})
