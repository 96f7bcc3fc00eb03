import { createSecretKey } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkProof, type Proof, toProofText } from '../../src/audit/check-proof.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { prove } from '../../src/audit/prove.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { createReference } from '../../src/verification/verification-request.ts'
import { createRandom, type Random } from './random.ts'
import { CHAINS, createSampleLog, RELEASED, readLines, type SampleLog } from './sample-log.ts'

const MUTATIONS = 2000

let log: SampleLog
let texts: string[]

beforeAll(async () => {
  log = await createSampleLog()
  texts = []
  for (const reference of log.references) texts.push(await prove(toDeps(), reference))
})
afterAll(() => log.close())

const toDeps = () => ({ store: log.store, signer: log.signer, checkpointDir: log.folder })
const check = (proof: string | Uint8Array, publicKey = log.publicKey) =>
  checkProof(Buffer.from(proof as string), publicKey)
const parse = (text: string) => JSON.parse(text) as Proof

it('every verification can be proved with the public key alone', () => {
  const publicKey = toPublicKey(log.signer.publicKey, 'The key')
  for (const [index, text] of texts.entries())
    expect(check(text, publicKey)).toMatchObject({
      sound: true,
      row: { phase: 'outcome', request_reference: log.references[index], outcome: 'verified' },
    })
})

describe('a row that no checkpoint covers', () => {
  const addRow = async (phase: string) => {
    const reference = createReference()
    const head = (await log.store.audit.head(CHAINS[2])) ?? EMPTY_HEAD
    const rows = linkEntries(CHAINS[2], head, [{ phase, request_reference: reference }])
    await log.store.audit.append({ rows: log.store.audit.packRows(rows) })
    return reference
  }

  it('gets a checkpoint, in the database and in the file', async () => {
    const before = readLines(log.file).length
    const text = await prove(toDeps(), await addRow('outcome'))
    expect(check(text).sound).toBe(true)
    expect(readLines(log.file)).toHaveLength(before + 1)
    expect(await log.store.audit.listCheckpoints()).toHaveLength(before + 1)
  })

  it('may be an intent that has no outcome', async () => {
    const reference = await addRow('intent')
    expect(parse(await prove(toDeps(), reference)).row).toMatchObject({ phase: 'intent' })
  })

  it('gets no checkpoint in a database that is older than the checkpoint file', async () => {
    const reference = await addRow('outcome')
    const heads = [{ chain: CHAINS[2], sequence: 900, hash: '0'.repeat(64), from: 0, root: '0'.repeat(64) }]
    const body = JSON.stringify({ version: 1, time: '2026-01-01T00:00:00.000Z', heads })
    const checkpointDir = mkdtempSync(join(tmpdir(), 'tabbat-audit-'))
    writeFileSync(
      join(checkpointDir, CHECKPOINT_FILE),
      `${JSON.stringify({ time: '', body, signature: '' })}\n`,
    )
    await expect(prove({ ...toDeps(), checkpointDir }, reference)).rejects.toThrow('shorter than')
  })
})

it('an unknown reference is refused without repeating it', async () => {
  await expect(prove(toDeps(), '12345678901')).rejects.toThrow(/^The audit log has no row[^0-9]*$/)
})

/** Adds, removes or changes one byte. */
function mutateBytes(text: string, random: Random): Uint8Array {
  const bytes = [...Buffer.from(text)]
  const at = random.below(bytes.length)
  const byte = bytes[at] ?? 0
  const other = random.pick([byte ^ (1 << random.below(8)), byte ^ 0x20, 0x20, 0x0a, random.below(256)])
  const way = random.below(4)
  if (way === 0) bytes.splice(at, 1)
  else if (way === 1) bytes.splice(at, 0, other)
  else bytes[at] = other === byte ? byte ^ 1 : other
  return Buffer.from(bytes)
}

type Node = Record<string, unknown>

/** Every field of a proof: the object or array, and the name in it. */
function listFields(node: Node): (readonly [Node, string])[] {
  return Object.entries(node).flatMap(([name, value]) => [
    [node, name] as const,
    ...(typeof value === 'object' && value !== null ? listFields(value as Node) : []),
  ])
}

function toOther(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return value + random.pick([1, -1, 0.5, 2 ** 32])
  if (typeof value !== 'string') return random.pick(['', 'x', 0, {}])
  const at = random.below(value.length)
  const spoilt = `${value.slice(0, at)}${value[at] === '0' ? '1' : '0'}${value.slice(at + 1)}`
  const others = [spoilt, `${value} `, value.toUpperCase(), null, value.slice(0, -1), '', 1, [value]]
  return random.pick(others.filter((other) => other !== value))
}

/** Adds, removes or changes one field, in the right format. */
function mutateField(text: string, random: Random): string {
  const proof = parse(text) as unknown as Node
  const [node, name] = random.pick(listFields(proof))
  const way = random.below(6)
  if (way === 0 && Array.isArray(node)) node.splice(Number(name), 1)
  else if (way === 0) delete node[name]
  else if (way === 1 && Array.isArray(node)) node.push(node[Number(name)])
  else if (way === 1) node[`${name}_2`] = node[name]
  else node[name] = toOther(node[name], random)
  return toProofText(proof as unknown as Proof)
}

describe(`${MUTATIONS} mutated proofs`, () => {
  it.each([
    ['bytes', mutateBytes],
    ['fields', mutateField],
  ] as const)('none is accepted: %s', (_what, mutate) => {
    for (let seed = 1; seed <= MUTATIONS / 2; seed++) {
      const random = createRandom(seed)
      const text = random.pick(texts)
      const mutated = mutate(text, random)
      expect(Buffer.from(text).equals(Buffer.from(mutated as string)), `seed ${seed}`).toBe(false)
      expect(check(mutated).sound, `seed ${seed}`).toBe(false)
    }
  })
})

describe('a proof is refused', () => {
  const forge = (change: (proof: Proof) => Proof, at = 0) =>
    check(toProofText(change(parse(texts.at(at) ?? ''))))

  it('with a changed row and a recomputed hash', () => {
    const result = forge((proof) => {
      const { sequence, previous_hash } = proof.row
      const [row] = linkEntries(
        String(proof.row.chain),
        { sequence: sequence - 1, hash: Buffer.from(previous_hash, 'hex') },
        [
          {
            ...proof.row,
            fields_released: RELEASED,
            phase: 'outcome',
            time: String(proof.row.time),
            outcome: 'not_verified',
          },
        ],
      )
      const hash = Buffer.from(row?.hash ?? []).toString('hex')
      return { ...proof, row: { ...proof.row, outcome: 'not_verified', hash } }
    })
    expect(result).toEqual({ sound: false, reason: expect.stringContaining('the path does not lead') })
  })

  it('with a row that claims another format', () => {
    const other = 1 as Proof['version']
    for (const change of [
      (proof: Proof) => ({ ...proof, version: other }),
      (proof: Proof) => ({ ...proof, row: { ...proof.row, format: other } }),
    ])
      expect(forge(change)).toEqual({ sound: false, reason: expect.stringContaining('not a proof') })
  })

  it('with other released fields than those that the row refers to', () => {
    const result = forge((proof) => ({ ...proof, released: 'nin_number' }), -1)
    expect(result).toEqual({ sound: false, reason: expect.stringContaining('the released fields') })
  })

  it('with a checkpoint that does not cover the row', () => {
    const other = parse(texts.at(-1) ?? '').checkpoint
    expect(forge((proof) => ({ ...proof, checkpoint: other }))).toEqual({
      sound: false,
      reason: 'the checkpoint does not cover this row',
    })
  })

  it('with a checkpoint signed by another key', () => {
    const otherSigner = createSigner(createSecretKey(Buffer.alloc(32, 1)))
    const result = forge((proof) => ({
      ...proof,
      checkpoint: { ...proof.checkpoint, signature: otherSigner.sign(proof.checkpoint.body) },
    }))
    expect(result).toEqual({ sound: false, reason: expect.stringContaining('no valid signature') })
    expect(check(texts[0] ?? '', toPublicKey(otherSigner.publicKey, 'The key')).sound).toBe(false)
  })

  it.each(['', '{}', 'null', '[]', '"x"', '{"row":{}}', '\ufeff{}'])('when it is %j', (text) => {
    expect(check(text)).toEqual({ sound: false, reason: expect.stringContaining('not a proof') })
  })

  it('when it is formatted in another way', () => {
    const text = texts[0] ?? ''
    expect(check(JSON.stringify(parse(text))).sound).toBe(false)
    expect(check(text.trimEnd()).sound).toBe(false)
    expect(check(text.replace('"kind": "t', '"kind": "\\u0074')).sound).toBe(false)
  })
})
