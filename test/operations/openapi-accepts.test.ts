import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createValidate } from '../../src/contract/validate.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { openTestApp, type TestApp } from '../app.ts'

const document = JSON.parse(readFileSync('openapi.json', 'utf8'))
const withBody = OPERATIONS.filter(({ inputFrom }) => inputFrom !== 'path')

type Field = { readonly pattern: string; readonly examples: readonly string[] }
type Shape = { readonly properties: Record<string, Field> }

const exampleOf = ({ examples }: Field) => examples[0] ?? ''

/** White space that String.trim removes: ASCII, Unicode and the byte order mark. */
const whiteSpace = fc.string({
  unit: fc.constantFrom(' ', '\t', '\n', '\r', '\u00a0', '\u2003', '\ufeff'),
  maxLength: 80,
})

/** fast-check cannot make texts from a pattern with \p{…}: those fields are names. */
const matching = (pattern: string) =>
  pattern.includes('\\p{')
    ? fc.string({ unit: fc.constantFrom(...'Aminá’-. '), minLength: 1, maxLength: 40 })
    : fc.stringMatching(new RegExp(pattern))

/** Values that are often accepted, and any others. Few random dates exist, so the example is among them. */
const toValue = (field: Field) =>
  fc.oneof(
    {
      weight: 18,
      arbitrary: fc
        .tuple(whiteSpace, fc.oneof(fc.constant(exampleOf(field)), matching(field.pattern)), whiteSpace)
        .map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: whiteSpace },
    { weight: 1, arbitrary: fc.jsonValue() },
  )

describe.each(withBody)('the schema of $operationId', ({ operationId, request }) => {
  const { properties } = request as unknown as Shape
  const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Request`
  const takes = new Ajv2020({ strict: false }).compile(document.components.schemas[name])
  const validate = createValidate(request)
  const bodies = fc
    .tuple(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.record(Object.fromEntries(Object.entries(properties).map(([key, field]) => [key, toValue(field)])), {
        requiredKeys: [...request.required],
      }),
    )
    .map(([unknown, fields]) => ({ ...unknown, ...fields }))

  it('takes every body that the server takes', () => {
    let accepted = 0
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          validate(body)
        } catch {
          return true
        }
        accepted += 1
        return takes(body)
      }),
      { numRuns: 1000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it('still refuses a body without its fields, and values that do not match', () => {
    expect(takes({})).toBe(false)
    for (const key of Object.keys(properties)) {
      const example = Object.fromEntries(
        Object.entries(properties).map(([each, field]) => [each, exampleOf(field)]),
      )
      expect(takes(example)).toBe(true)
      expect(takes({ ...example, [key]: '!' })).toBe(false)
    }
  })
})

describe('the security schemes', () => {
  let server: TestApp
  beforeAll(async () => {
    server = await openTestApp()
  })
  afterAll(() => server.close())

  it('declare both spellings of the key that the server takes', async () => {
    const { key, bareKey } = document.components.securitySchemes
    expect(document.security).toEqual([{ key: [] }, { bareKey: [] }])
    expect(key).toMatchObject({ type: 'http', scheme: 'bearer' })
    expect(bareKey).toMatchObject({ type: 'apiKey', in: 'header', name: 'Authorization' })
    for (const authorization of [`Bearer ${SANDBOX_KEY}`, SANDBOX_KEY]) {
      const answer = await server.app.inject({
        method: 'GET',
        url: '/api/v2/sme-data/list',
        headers: { authorization },
      })
      expect(answer.statusCode).toBe(200)
    }
  })
})
