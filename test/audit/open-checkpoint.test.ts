import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseLine } from '../../src/audit/checkpoint-file.ts'
import { isSameHead, openCheckpoint, type SignedHead, toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { UserError } from '../../src/errors.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 1)))
const publicKey = toPublicKey(signer.publicKey, 'The key')
const TIME = '2026-11-17T08:00:00.000Z'
const HEAD: SignedHead = { chain: 'a', sequence: 2, hash: 'ab'.repeat(32), from: 1, root: 'cd'.repeat(32) }
const toCheckpoint = (content: unknown, time = TIME) => {
  const body = typeof content === 'string' ? content : JSON.stringify(content)
  return { time, body, signature: signer.sign(body) }
}
const open = (content: unknown) => openCheckpoint(toCheckpoint(content), publicKey)
const statement = (head: object = {}) => ({ version: 1, time: TIME, heads: [{ ...HEAD, ...head }] })

describe('a checkpoint', () => {
  it('is opened with the public key of the log', () => {
    expect(open(statement())).toEqual({ heads: [HEAD] })
    expect(open({ ...statement(), heads: [] })).toEqual({ heads: [] })
  })

  it('with any changed bit of its signature or body is refused', () => {
    const { body, signature } = toCheckpoint(statement())
    const wrong = { wrong: expect.stringMatching(/^has no valid signature/) }
    const bytes = Buffer.from(signature, 'base64')
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
      expect(openCheckpoint({ time: TIME, body, signature: changed.toString('base64') }, publicKey)).toEqual(
        wrong,
      )
    }
    for (const index of [0, 10, body.length - 1]) {
      const changed = `${body.slice(0, index)}x${body.slice(index + 1)}`
      expect(openCheckpoint({ time: TIME, body: changed, signature }, publicKey)).toEqual(wrong)
    }
    for (const other of [`${signature} `, signature.replace(/=+$/, ''), '', null, 7])
      expect(openCheckpoint({ time: TIME, body, signature: other }, publicKey)).toEqual(wrong)
    for (const other of [null, undefined, 7])
      expect(openCheckpoint({ time: TIME, body: other, signature }, publicKey)).toEqual(wrong)
    const another = toPublicKey(createSigner(createSecretKey(Buffer.alloc(32, 2))).publicKey, 'The key')
    expect(openCheckpoint({ time: TIME, body, signature }, another)).toEqual(wrong)
  })

  it('stored under another time is refused', () => {
    const stored = { ...toCheckpoint(statement()), time: '2026-11-17T08:00:00.001Z' }
    expect(openCheckpoint(stored, publicKey)).toEqual({
      wrong: 'is stored under another time than the signed one',
    })
  })

  it.each<[string, unknown]>([
    ['no JSON', 'text'],
    ['no object', 'null'],
    ['version 2', { ...statement(), version: 2 }],
    ['no heads', { version: 1, time: TIME }],
    ['no head', { version: 1, time: TIME, heads: [null] }],
    ['no chain', statement({ chain: 7 })],
    ['a short hash', statement({ hash: 'ab' })],
    ['a hash in capitals', statement({ hash: 'AB'.repeat(32) })],
    ['a long root', statement({ root: `${HEAD.root}0` })],
    ['a fraction', statement({ sequence: 2.5 })],
    ['a text as a number', statement({ sequence: '2' })],
    ['a negative number', statement({ from: -1 })],
    ['a beginning at its end', statement({ from: 2 })],
  ])('that is signed with %s cannot be read', (_what, content) => {
    expect(open(content)).toEqual({ wrong: 'is signed, but has a format that this version cannot read' })
  })

  it('may begin at the first row', () => {
    expect(open(statement({ from: 0, sequence: 1 }))).toMatchObject({ heads: [{ from: 0, sequence: 1 }] })
  })

  it('states the same about a chain if all of it is the same', () => {
    expect(isSameHead({ ...HEAD }, HEAD)).toBe(true)
    expect(isSameHead(undefined, HEAD)).toBe(false)
    for (const change of [{ sequence: 3 }, { hash: '' }, { from: 0 }, { root: '' }])
      expect(isSameHead({ ...HEAD, ...change }, HEAD), JSON.stringify(change)).toBe(false)
  })
})

describe('a public key', () => {
  const refusal = new UserError(
    'It is not the public key of an audit log. Print it with: tabbat audit public-key',
  )
  const pem = (key: ReturnType<typeof generateKeyPairSync>['publicKey']) =>
    (key as never as { export: (options: object) => string }).export({ type: 'spki', format: 'pem' })

  it.each([
    ['nothing', ''],
    ['half of it', signer.publicKey.slice(0, 60)],
    ['another kind of key', pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey as never)],
    [
      'a private key',
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ],
  ])('is refused if it is %s', (_what, text) => {
    expect(() => toPublicKey(text, 'It')).toThrow(refusal)
  })
})

describe('a line of a file of checkpoints', () => {
  const CHECKPOINT = { time: TIME, body: '{}', signature: 'x' }
  const line = JSON.stringify(CHECKPOINT)
  const data = { reference: 'audit', status: 'signed', ...CHECKPOINT }
  const event = JSON.stringify({ type: 'audit.checkpoint', timestamp: TIME, data })

  it('is a checkpoint, or an event with one', () => {
    expect(parseLine(line)).toEqual(CHECKPOINT)
    expect(parseLine(event)).toEqual(CHECKPOINT)
  })

  it('may follow an incomplete one without a line break', () => {
    expect(parseLine(line.slice(0, 30) + line)).toEqual(CHECKPOINT)
    expect(parseLine(line.slice(0, 30) + event)).toEqual(CHECKPOINT)
    expect(parseLine(event.slice(0, 60) + event)).toEqual(CHECKPOINT)
  })

  it('of another event is passed over, and any other line is incomplete', () => {
    expect(parseLine('{"type":"source.down","data":{}}')).toBe('other event')
    for (const text of ['', 'x', 'null', '7', '[]', '{}', line.slice(0, -1), '{"time":"a","body":"b"}'])
      expect(parseLine(text), text).toBeUndefined()
    expect(parseLine(JSON.stringify({ ...CHECKPOINT, signature: 7 }))).toBeUndefined()
    expect(parseLine(JSON.stringify({ ...CHECKPOINT, body: null }))).toBeUndefined()
    expect(parseLine(JSON.stringify({ ...CHECKPOINT, time: 7 }))).toBeUndefined()
  })
})
