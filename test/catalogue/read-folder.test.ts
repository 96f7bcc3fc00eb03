import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCatalogue } from '../../src/catalogue/catalogue.ts'
import { readFolder } from './read-folder.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'catalogue-'))
  cpSync(new URL('../../src/catalogue/data/', import.meta.url), folder, { recursive: true })
})

afterEach(() => rmSync(folder, { recursive: true }))

const write = (file: string, content: string) => writeFileSync(join(folder, file), content)

/** Replaces one piece of a shipped file's text. */
const replaceText = (file: string, from: string, to: string) => {
  const before = readFileSync(join(folder, file), 'utf8')
  expect(before).toContain(from)
  write(file, before.replace(from, to))
}

const readError = () => {
  try {
    readFolder(folder)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'none'
}

describe('a valid folder', () => {
  it('is read', () => {
    expect(createCatalogue(readFolder(folder)).providers).toEqual(['smile', 'spectranet'])
  })

  it('reads a new internet provider from a new file, with or without a note', () => {
    const bundle = { code: 'a', price: '99.50', description: 'A', duration: '' }
    write(
      'swift.json',
      JSON.stringify({ as_of: '2026-01-01', segment: 'swift', type: 'SWIFT', bundles: [bundle] }),
    )
    const catalogue = createCatalogue(readFolder(folder))
    expect(catalogue.listInternetBundles('SWIFT')).toEqual([{ type: 'SWIFT', amount: '99.50', ...bundle }])
    expect(catalogue.asOf).toContainEqual({ name: 'swift', as_of: '2026-01-01' })
  })
})

describe('an invalid file is refused with a message', () => {
  const date = 'must be a real date such as "2026-02-01"'
  const price = 'must be a price in naira such as "450" or "99.50"'
  const tvCode = 'must be 2 to 40 letters, digits, hyphens or underscores'
  const lower = 'must be lower-case letters, digits and hyphens'

  it.each([
    [
      'a day that does not exist',
      'smile.json',
      '2024-12-07',
      '2024-02-30',
      `/as_of ${date}, not "2024-02-30"`,
    ],
    ['a date in another form', 'gotv.json', '2026-02-01', '1 Feb 2026', `/as_of ${date}, not "1 Feb 2026"`],
    [
      'a month that does not exist',
      'sme.json',
      '2026-11-15',
      '2026-13-01',
      `/as_of ${date}, not "2026-13-01"`,
    ],
    ['a price with a comma', 'smile.json', '"1550"', '"1,550"', `/bundles/3/price ${price}, not "1,550"`],
    [
      'a price with three decimals',
      'dstv.json',
      '"6000"',
      '"6.000"',
      `/products/4/price ${price}, not "6.000"`,
    ],
    ['a price that is a number', 'smile.json', '"450"', '450', '/bundles/0/price must be string'],
    ['a capital in the segment', 'smile.json', '"smile"', '"Smile"', `/segment ${lower}, not "Smile"`],
    [
      'a segment of another file',
      'smile.json',
      '"smile"',
      '"swift"',
      '/segment must equal the name of the file',
    ],
    [
      'a blank label',
      'spectranet.json',
      'Spectranet N1000',
      ' ',
      '/bundles/0/description must not be blank, not " "',
    ],
    [
      'an impossible TV code',
      'gotv.json',
      'GOTVMAX',
      'GOTV MAX',
      `/products/2/code ${tvCode}, not "GOTV MAX"`,
    ],
    [
      'a type of another file',
      'gotv.json',
      '"GOTV"',
      '"DSTV"',
      '/type must equal the name of the file in upper case',
    ],
    [
      'an unknown TV type',
      'gotv.json',
      '"GOTV"',
      '"SKY"',
      '/type must be one of DSTV, GOTV, STARTIMES, SHOWMAX, not "SKY"',
    ],
    ['a misspelt field', 'showmax.json', '"note"', '"notes"', '/notes is not a known field'],
    ['a missing field', 'showmax.json', '"name": "Showmax full", ', '', '/products/0/name is missing'],
    [
      'a repeated bundle',
      'spectranet.json',
      'vt-2000',
      'VT-1000',
      '/bundles/1/code repeats the code "VT-1000" (case does not count)',
    ],
    [
      'a repeated product',
      'gotv.json',
      'GOTVNJ1',
      'gotvnj2',
      '/products/4/code repeats the code "gotvnj2" (case does not count)',
    ],
    [
      'a repeated add-on',
      'dstv.json',
      'FRN15E36',
      'FRN7E36',
      '/add_ons/3/code repeats the code "FRN7E36" (case does not count)',
    ],
    [
      'an add-on of an unknown product',
      'dstv.json',
      '"code": "COMPE36"',
      '"code": "COMPE37"',
      '/add_ons/0/products names "COMPE36", which is not a product of this file',
    ],
    [
      'an SME size the contract does not have',
      'sme.json',
      'SME DATA 3GB',
      'SME DATA 4GB',
      "/bundles/6 must be the contract's 3GB bundle",
    ],
  ])('%s', (_what, file, from, to, sentence) => {
    replaceText(file, from, to)
    expect(readError()).toBe(`${file}: ${sentence}.`)
  })

  it('an SME list that is too short', () => {
    write('sme.json', '{ "as_of": "2026-01-01", "bundles": [] }')
    expect(readError()).toBe("sme.json: /bundles must list the contract's 22 sizes.")
  })

  it('a file that is not an object, not JSON or missing', () => {
    write('dstv.json', '[]')
    write('smile.json', '{ "as_of" ')
    rmSync(join(folder, 'gotv.json'))
    const [smile, dstv, gotv] = readError().split('\n')
    expect(smile).toMatch(/^smile\.json: the file is not JSON: /)
    expect(dstv).toBe('dstv.json: the file must be object.')
    expect(gotv).toBe('gotv.json: the file is missing.')
  })

  it('several invalid files, each with its first problem', () => {
    replaceText('smile.json', '"450"', '"free"')
    replaceText('smile.json', '"750"', '"cheap"')
    replaceText('startimes.json', '"2100"', '""')
    expect(readError()).toBe(
      `smile.json: /bundles/0/price ${price}, not "free".\nstartimes.json: /products/0/price ${price}, not "".`,
    )
  })
})
