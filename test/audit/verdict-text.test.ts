import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPlace, toVerdictText } from '../../src/audit/verify/verdict-text.ts'
import type { Verdict } from '../../src/audit/verify/verify-audit-log.ts'

const LAST = '2026-11-17T08:00:00.000Z'
const VERDICT = {
  ...{ sound: true, fault: undefined, rows: 1_234_567, chains: 1, checkpoints: 1, unsigned: 0, losses: [] },
  ends: [{ chain: 'node-1', sequence: 1_234_567, hash: 'ab' }],
  file: { checkpoints: 0, unreadable: 0, last: undefined },
  archives: { compared: [], missing: [], notRemoved: 0 },
} as unknown as Verdict
const KEPT = { checkpoints: 2, unreadable: 0, last: LAST }
const toText = (change: object, file?: Parameters<typeof toVerdictText>[1]) =>
  toVerdictText({ ...VERDICT, ...change } as Verdict, file)
const elsewhere = { path: '/usb/checkpoints.log', place: 'elsewhere' } as const

describe('the verdict about a sound log', () => {
  it('says what was compared, and what cannot be seen without checkpoints of another place', () => {
    const { headline, compared, limits } = toText({})
    expect(headline).toBe(
      'No difference was found between the audit log and the checkpoints on this server, but a cut at the end of the log cannot be seen without checkpoints that were kept elsewhere.',
    )
    expect(compared).toEqual([
      'Compared: 1 234 567 rows in 1 chain, 1 checkpoint in the database, no file of checkpoints.',
      'The last row of chain node-1 is row 1234567, hash ab.',
    ])
    expect(limits).toHaveLength(2)
    expect(limits[0]).toMatch(/^Not compared: checkpoints that this server cannot change\./)
  })

  it('with checkpoints of another place holds up to the last of them', () => {
    const { headline, compared, limits } = toText({ file: KEPT }, elsewhere)
    expect(headline).toBe(
      `No difference was found between the audit log and the checkpoints in /usb/checkpoints.log, but a cut after ${LAST} cannot be seen without newer checkpoints.`,
    )
    expect(compared[0]).toContain('2 checkpoints in /usb/checkpoints.log.')
    expect(compared.at(-1)).toBe(`The last checkpoint in /usb/checkpoints.log is of ${LAST}.`)
    expect(limits).toEqual([
      expect.stringMatching(`^This holds up to ${LAST}, the time of the last checkpoint`),
    ])
  })

  it.each([
    ['data folder', 'on this server, but a cut at the end of the log cannot be seen without'],
    [
      'other folder',
      'in /usb/checkpoints.log, but a cut at the end of the log cannot be seen if it was also made',
    ],
  ] as const)('with checkpoints of the %s promises less', (place, text) => {
    const { headline, limits } = toText({ file: KEPT }, { ...elsewhere, place })
    expect(headline).toContain(text)
    expect(limits[0]).toMatch(/^Not compared: checkpoints/)
  })

  it('with a file that has no checkpoint promises as little as without', () => {
    const { headline, compared, limits } = toText(
      { file: { ...KEPT, checkpoints: 0, last: undefined } },
      elsewhere,
    )
    expect(headline).toContain('on this server')
    expect(compared).toHaveLength(2)
    expect(limits).toHaveLength(2)
  })

  it('names lines that were skipped, young rows and losses', () => {
    const loss = { chain: 'node-1', kept: 7, acknowledged: 9, by: 'ada', time: LAST }
    const change = { file: { ...KEPT, unreadable: 1 }, unsigned: 2, losses: [loss] }
    const { compared, limits } = toText(change, elsewhere)
    expect(compared).toContain('Skipped: 1 incomplete line of /usb/checkpoints.log.')
    expect(compared.at(-1)).toBe(
      `Lost and recorded at ${LAST} by ada: rows 8 to 9 of chain node-1, which callers were answered on.`,
    )
    expect(limits[0]).toBe('Newer than the last checkpoint and not covered by a signature: 2 rows.')
  })

  it('says which archives were compared, and which were not', () => {
    const archives = {
      compared: [{ rows: 10 }, { rows: 5 }],
      missing: [
        { rows: 3, number: 1 },
        { rows: 4, number: 2 },
      ],
      notRemoved: 1,
    }
    const { headline, compared, limits } = toText({ archives })
    expect(headline).toContain('the audit log, without 2 archives of it, and the checkpoints')
    expect(compared[0]).toContain(', 15 rows in 2 archives.')
    expect(limits.slice(0, 2)).toEqual([
      'Not compared: 7 rows in 2 archives (number 1, 2). Their ends are signed in the database. To compare them, run: tabbat audit verify --archive FILE',
      'Archived, and not yet removed from the database: 1 row.',
    ])
  })

  it('lists the ends of four chains, and counts the others', () => {
    const ends = ['a', 'b', 'c', 'd', 'e', 'f'].map((chain) => ({ chain, sequence: 1, hash: 'x' }))
    expect(toText({ ends }).compared.slice(4)).toEqual([
      'The last row of chain d is row 1, hash x.',
      '2 more chains were compared.',
    ])
    expect(toText({ ends: ends.slice(0, 4) }).compared).toHaveLength(5)
  })
})

it('the verdict about a faulty log names the first fault, and no control character of it', () => {
  const fault = { chain: 'node\u001b[2J', sequence: 7, reason: 'its hash does not match' }
  const { headline, compared, limits } = toText({ fault, sound: false })
  expect(headline).toBe(
    'The audit log is NOT sound. First fault: chain node?[2J, row 7, its hash does not match.',
  )
  expect(compared).toEqual([expect.stringMatching(/^Sound before the fault: /)])
  expect(limits).toEqual([])
  const nowhere = { chain: null, sequence: null, reason: 'a checkpoint is missing' }
  expect(toText({ fault: nowhere }).headline).toMatch(/First fault: a checkpoint is missing\.$/)
})

it('checkpoints are in the data folder, in another folder of this server, or elsewhere', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'tabbat-place-')))
  const [dataDir, other, away] = ['data', 'other', 'away'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  for (const folder of [dataDir, other, away, join(dataDir, 'inner'), join(root, 'data-2')]) mkdirSync(folder)
  for (const folder of [dataDir, other, away]) writeFileSync(join(folder, 'checkpoints.log'), '')
  symlinkSync(join(dataDir, 'checkpoints.log'), join(away, 'link.log'))
  expect(findPlace(join(dataDir, 'checkpoints.log'), { dataDir })).toBe('data folder')
  expect(findPlace(dataDir, { dataDir })).toBe('data folder')
  expect(findPlace(join(away, 'link.log'), { dataDir })).toBe('data folder')
  expect(findPlace(join(dataDir, 'inner'), { dataDir, checkpointDir: join(dataDir, 'inner') })).toBe(
    'data folder',
  )
  expect(findPlace(join(other, 'checkpoints.log'), { dataDir, checkpointDir: other })).toBe('other folder')
  expect(findPlace(join(root, 'data-2'), { dataDir, checkpointDir: join(root, 'data-2') })).toBe(
    'other folder',
  )
  expect(findPlace(root, { dataDir, checkpointDir: root })).toBe('other folder')
  expect(findPlace(join(away, 'checkpoints.log'), { dataDir, checkpointDir: other })).toBe('elsewhere')
  expect(findPlace(join(away, 'none.log'), { dataDir })).toBe('elsewhere')
  rmSync(root, { recursive: true })
})
