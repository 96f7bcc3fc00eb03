import { describe, expect, it } from 'vitest'
import type { PersonDetails } from '../../../src/contract/person.ts'
import { type HttpReply, SourceError } from '../../../src/sources/source.ts'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { createFileSource } from '../../../src/sources/vendor-file/create-source.ts'
import type { VendorFile, VendorRule } from '../../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../../src/sources/vendors.ts'
import { CASES, type Case } from './cases.ts'

const FILES = [...SHIPPED_VENDORS.values()].flatMap(({ name, loaded }) =>
  loaded ? [[name, loaded.file] as const] : [],
)
const NUMBERS = { nin: '12345678901', virtual_nin: 'AB012345678910YZ', bvn: '12345678901' } as const
const NAMES: PersonDetails = { first_name: 'Ada', last_name: 'Obi', date_of_birth: '1990-01-05' }

/** The settings of a vendor, all with some value. */
const toSettings = ({ settings = {} }: VendorFile) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { type, default: value = 'x' }]) => [
      name,
      type === 'pattern' ? new RegExp(value, 'i') : type === 'switch' ? 'off' : value,
    ]),
  )

/** The outcome of a case, or the reason and problem of its failure. */
async function read(
  name: string,
  file: VendorFile,
  { operation, reply, hasNames, settings }: Case,
): Promise<string> {
  const isToken = (path: string) => path === file.authentication?.token?.request.path
  const send = async ({ path }: { readonly path: string }): Promise<HttpReply> =>
    isToken(path) ? { status: 200, body: toToken(file) } : reply
  const source = createFileSource(name, file, { ...toSettings(file), ...settings }, { send })
  const call = { signal: new AbortController().signal, reference: 'ver_test' }
  const query = { phone: '8031234567', details: hasNames ? NAMES : undefined }
  try {
    const answer =
      operation === 'bvn'
        ? await source.findBvn?.({ bvn: NUMBERS.bvn, ...query }, call)
        : await source.findNin?.({ nin: NUMBERS[operation], ...query }, call)
    if (answer?.found) return 'found'
    return answer?.watchlisted ? 'watch_listed' : answer?.namesDiffer ? 'names_differ' : 'not_found'
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return `${error.reason}/${error.problem}`
  }
}

/** {"responseBody": {"accessToken": "t"}} */
const toToken = ({ authentication }: VendorFile) =>
  (authentication?.token?.token_at ?? '')
    .split('.')
    .reduceRight<unknown>((inner, part) => ({ [part]: inner }), 't')

type Mutant = readonly [what: string, file: VendorFile]

/** The file without one of its rules, or with the opposite meaning of one. */
function* listMutants(file: VendorFile): Generator<Mutant> {
  for (const [list, rules] of Object.entries(file.rules))
    for (const [index, rule] of rules.entries()) {
      const withRules = (changed: VendorRule[]) => ({ ...file, rules: { ...file.rules, [list]: changed } })
      yield [`without rules.${list}[${index}] (${rule.name})`, withRules(rules.toSpliced(index, 1))]
      const then = rule.then === 'not_found' ? 'found' : 'not_found'
      yield [
        `with ${then} for rules.${list}[${index}] (${rule.name})`,
        withRules(rules.with(index, { ...rule, then })),
      ]
    }
}

describe.each(FILES)('vendors/%s.json', (name, file) => {
  const cases = CASES[name] ?? []

  it('is a valid file', () => {
    expect(checkVendorFile(file)).toEqual({ file })
  })

  it('reads the answers of the documents as what they mean', async () => {
    for (const each of cases) expect(await read(name, file, each), JSON.stringify(each)).toBe(each.expected)
  })

  it('has no rule that could be removed or reversed without being noticed', async () => {
    const unnoticed: string[] = []
    for (const [what, mutant] of listMutants(file)) {
      const results = await Promise.all(
        cases.map(async (each) => (await read(name, mutant, each)) === each.expected),
      )
      if (results.every((isSame) => isSame)) unnoticed.push(what)
    }
    expect(unnoticed).toEqual([])
  })
})
