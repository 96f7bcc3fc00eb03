import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ChangeKeyRequest, CreateKeyRequest, KeyWithUsage } from '../../src/admin/keys.ts'
import { toChangeFlags, toFlags } from '../../src/cli/key-flags.ts'
import { toGrantedText } from '../../src/keys/key-grants.ts'
import { KEY_COLUMN_NAMES, type KeyRow } from '../../src/keys/key-rows.ts'
import { listOptions } from '../../src/keys/options.ts'

const docs = readFileSync('docs/key-options.md', 'utf8')
const form = readFileSync('console/src/pages/keys/key-form.tsx', 'utf8')

/** A key that has every option. */
const row = {
  ...{ id: 'k3JbvwRd', mode: 'test', name: 'shop', scopes: ['kyc:nin'], lineage: 'k3JbvwRd', createdAt: 0 },
  ...{ allowedIps: ['10.0.0.0/8'], clientCerts: ['sha256:00'], hide: ['religion'], reveal: ['image_url'] },
  ...{ subjectsPerDay: 5, requiresConsent: true, asyncWhenDown: true, requireMatch: 'both' },
  ...{ owner: 'Payments', note: 'a note' },
} as unknown as KeyRow

describe.each(listOptions())('the option %s of a key', (field, { flag, property, change }) => {
  const name = flag.split(' ')[0] ?? ''

  it('has a column, a property of the row, and its value in the audit log', () => {
    expect(KEY_COLUMN_NAMES).toContain(field)
    expect(row).toHaveProperty(property)
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

  it('is in the documentation and in the form of the console', () => {
    expect(docs).toContain(`\`${name}`)
    expect(form).toContain(field)
  })
})
