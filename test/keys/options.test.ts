import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { ChangeKeyRequest, CreateKeyRequest, KeyWithUsage, toOptionField } from '../../src/admin/keys.ts'
import { toChangeFlags, toFlags } from '../../src/cli/keys.ts'
import { KEY_COLUMN_NAMES, type KeyRow, toKeyRow, toKeyValues } from '../../src/keys/key-table.ts'
import { toGrantedText } from '../../src/keys/manage.ts'
import { type AnyOption, KEY_OPTIONS, listOptions, withDefaults } from '../../src/keys/options.ts'

const docs = readFileSync('docs/key-options.md', 'utf8')
const schemas = ['postgres', 'sqlite'].map((name) => readFileSync(`src/database/schema/${name}.sql`, 'utf8'))

const toSample = ({ kind, choices }: AnyOption) => {
  if (kind === 'list' || kind === 'fields') return ['religion']
  if (kind === 'count') return 5
  return kind === 'switch' ? true : (Object.keys(choices ?? {})[0] ?? 'a text')
}
/** A key that has every option. */
const options = Object.fromEntries(listOptions().map(([, each]) => [each.property, toSample(each)]))
const row: KeyRow = {
  ...withDefaults(options),
  id: 'k3JbvwRd',
  mode: 'test',
  name: 'shop',
  hash: Buffer.alloc(32),
  scopes: ['kyc:nin'],
  lineage: 'k3JbvwRd',
  createdAt: 0,
  expiresAt: undefined,
  revokedAt: undefined,
  rolledTo: undefined,
}

describe.each(listOptions())('the option %s of a key', (field, option) => {
  const { flag, property, change, none } = option
  const name = flag.split(' ')[0] ?? ''

  it('has a column in both databases, in which its value and its absence are stored', () => {
    for (const schema of schemas) expect(schema).toMatch(new RegExp(`^  ${field} `, 'm'))
    const [value, nothing] = [row, { ...row, ...withDefaults({}) }].map((key) => {
      const stored = Object.fromEntries(
        toKeyValues(key).map((each, index) => [KEY_COLUMN_NAMES[index], each]),
      )
      return toKeyRow(stored)[property]
    })
    expect([value, nothing]).toEqual([toSample(option), none])
  })

  it('has its value in the audit log', () => {
    expect(toGrantedText(row)).toContain(`"${field}":`)
  })

  it('has flags that set, change and remove it', () => {
    expect(toFlags().map(({ long }) => long)).toContain(name)
    const changes = toChangeFlags().map(({ long }) => long)
    expect(changes).toEqual(expect.arrayContaining([name]))
    if ('off' in change) expect(changes).toContain(name.replace('--', '--no-'))
  })

  it('has a field in the requests and the view of the admin API', () => {
    for (const shape of [CreateKeyRequest, ChangeKeyRequest, KeyWithUsage])
      expect(shape.properties).toHaveProperty(field)
  })

  it('is in the documentation, and has a label in the form of the console', () => {
    expect(docs).toContain(`\`${name}`)
    expect(toOptionField([field, option])).toMatchObject({ field, label: expect.stringMatching(/^[A-Z]/) })
  })
})

describe('the value of an option', () => {
  const { allowed_ips, hide, subjects_per_day, requires_consent, require_match, note } = KEY_OPTIONS

  it.each([
    ['a list', allowed_ips, ['10.0.0.1', '10.0.0.2'], '10.0.0.1,10.0.0.2', ['10.0.0.1', '10.0.0.2']],
    ['no list', allowed_ips, undefined, null, null],
    ['fields', hide, ['religion', 'image_url'], 'religion,image_url', ['religion', 'image_url']],
    ['no fields', hide, [], null, []],
    ['a count', subjects_per_day, 5, 5, 5],
    ['no count', subjects_per_day, undefined, null, 2000],
    ['on', requires_consent, true, 1, true],
    ['off', requires_consent, false, 0, false],
    ['a choice', require_match, 'dob', 'dob', 'dob'],
    ['no choice', require_match, undefined, null, null],
    ['a text', note, 'for the audit', 'for the audit', 'for the audit'],
    ['no text', note, undefined, null, null],
  ] as const)('is stored, read and shown: %s', (_name, option, value, column, view) => {
    const any = option as unknown as AnyOption & { fromColumn: (stored: unknown) => unknown }
    expect(any.toColumn(value)).toEqual(column)
    expect(any.fromColumn(column)).toEqual(value)
    expect(any.show(value)).toEqual(view)
  })

  it('has a kind, by which the console shows its field', () => {
    expect(Object.fromEntries(listOptions().map(([field, { kind }]) => [field, kind]))).toEqual({
      ...{ allowed_ips: 'list', client_certs: 'list', hide: 'fields', reveal: 'fields' },
      ...{ subjects_per_day: 'count', requires_consent: 'switch', async_when_down: 'switch' },
      ...{ require_match: 'choice', owner: 'text', note: 'text' },
    })
  })

  it('that is a number or a switch may come from the database as a text or a large integer', () => {
    expect(subjects_per_day.fromColumn('7')).toBe(7)
    expect([0n, 1n, '0', '1'].map(requires_consent.fromColumn)).toEqual([false, true, false, true])
  })

  it('has limits in the admin API', () => {
    const ajv = new Ajv({ strict: false })
    const accepts = (field: string, value: unknown) =>
      ajv.validate(CreateKeyRequest.properties[field as 'hide'], value)
    const many = (count: number, length = 1) => Array.from({ length: count }, () => 'x'.repeat(length))
    const limits: [string, unknown, unknown][] = [
      ['allowed_ips', many(50, 60), many(51)],
      ['allowed_ips', many(1, 60), many(1, 61)],
      ['client_certs', many(8, 110), many(9)],
      ['client_certs', many(1, 110), many(1, 111)],
      ['hide', many(100, 100), many(101)],
      ['reveal', many(1, 100), many(1, 101)],
      ['subjects_per_day', 1, 0],
      ['subjects_per_day', 100_000_000, 100_000_001],
      ['owner', 'x'.repeat(80), 'x'.repeat(81)],
      ['note', 'x'.repeat(500), 'x'.repeat(501)],
      ['require_match', 'both', 'all'],
    ]
    for (const [field, last, first] of limits)
      expect([field, accepts(field, last), accepts(field, first)]).toEqual([field, true, false])
  })
})
