import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ChangeKeyRequest, CreateKeyRequest, KeyWithUsage, toOptionField } from '../../src/admin/keys.ts'
import { toChangeFlags, toFlags } from '../../src/cli/keys.ts'
import { KEY_COLUMN_NAMES, type KeyRow, toKeyRow, toKeyValues } from '../../src/keys/key-table.ts'
import { toGrantedText } from '../../src/keys/manage.ts'
import { type AnyOption, listOptions, withDefaults } from '../../src/keys/options.ts'

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
