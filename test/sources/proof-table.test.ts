import { expect, it } from 'vitest'
import { type Proof, toFileHash, toProofStates } from '../../src/sources/proof-table.ts'
import type { VendorFile } from '../../src/sources/vendor-file/schema.ts'
import { describeEngines, ENGINES } from '../engines.ts'
import { useShippedFile } from './shipped-file.ts'

const { file } = useShippedFile('dojah')

const toProof = (values: Partial<Proof> = {}): Proof => ({
  vendor: 'dojah',
  operation: 'nin',
  fileHash: toFileHash(file),
  rules: ['record'],
  fields: ['nin_number', 'personal_info.first_name'],
  host: 'api.dojah.io',
  version: '0.3.0',
  provedBy: 'ada (cli)',
  provedAt: 1_790_000_000_123,
  ...values,
})

const states = (...proofs: Proof[]) => toProofStates('dojah', file, proofs)

describeEngines(ENGINES, (engine) => {
  it('keeps proofs as they were given, oldest first', async () => {
    const store = await (await engine.createPlace()).open()
    const later = toProof({ provedAt: 1_790_000_000_124, rules: [], fields: ['a, "b"'] })
    await store.proofs.add(later)
    await store.proofs.add(toProof())
    await store.proofs.add(toProof({ vendor: 'blusalt' }))
    expect(await store.proofs.list()).toEqual([toProof({ vendor: 'blusalt' }), toProof(), later])
    await store.close()
  })
})

it('all certifications of a file count together, and the last names its author', () => {
  const other = toProof({
    rules: ['no such person'],
    fields: [],
    provedBy: 'bola',
    provedAt: 1_790_000_000_200,
  })
  const [nin, virtualNin] = states(toProof(), other)
  expect(nin).toMatchObject({ provedRules: ['no such person', 'record'], otherRules: [], last: other })
  expect(nin?.provedFields).toEqual(['nin_number', 'personal_info.first_name'])
  expect(nin?.otherFields).toContain('personal_info.last_name')
  expect(virtualNin).toMatchObject({ operation: 'virtual_nin', provedRules: [], last: undefined })
})

it('a proof of an earlier file proves nothing about this one, and is shown as such', () => {
  const earlier = toProof({ fileHash: 'of an earlier file' })
  expect(states(earlier)[0]).toMatchObject({ provedRules: [], last: undefined, earlier })
  expect(states(earlier, toProof())[0]?.earlier).toBeUndefined()
})

it('comments, the day of reading and the order of members do not change the hash; rules do', () => {
  const { rules, ...rest } = file
  const edited: VendorFile = {
    rules,
    ...rest,
    $comment: 'other words',
    documentation: { ...file.documentation, read: '2027-01-01' },
  }
  expect(toFileHash(edited)).toBe(toFileHash(file))
  const reversed = { look_up: rules.look_up?.toReversed() ?? [] }
  expect(toFileHash({ ...file, rules: reversed })).not.toBe(toFileHash(file))
})
