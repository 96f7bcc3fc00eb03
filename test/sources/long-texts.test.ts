import { describe, expect, it } from 'vitest'
import { toSampleReply } from '../../src/sources/vendor-file/sample-reply.ts'
import { ask, FILES, PERSON } from '../fuzz/targets/vendor.ts'

const LENGTH = 100_000
const runs = (...signs: readonly string[]) => signs.map((sign) => `${sign.repeat(LENGTH)}x`).join('')

/** What takes hours, if the time grows with the square of the length. */
const LONG: Readonly<Record<string, unknown>> = {
  'runs of signs': runs('!', '.', ' ', '-', '(', '_', '*', '0', '\t'),
  'runs of signs at the end': `not found ${runs('.', ' !')}`,
  'characters that become many': '\ufdfa'.repeat(LENGTH),
  'a list of phones that are none': Array.from({ length: 4000 }, () => `234${'('.repeat(480)}`),
  'numbers with gaps': '0 '.repeat(LENGTH),
  words: 'not a '.repeat(LENGTH),
  'a list of lists': Array.from({ length: 20_000 }, () => [['x']]),
}

type Path = readonly string[]

const toPaths = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, part]) => toPaths(part, [...path, name]))
    : [path]

/** A copy with another value at the path. */
function replace(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by
  const fields = value as Readonly<Record<string, unknown>>
  return { ...fields, [name]: replace(fields[name], rest, by) }
}

const ENVELOPE = [
  'message',
  'detail',
  'description',
  'reason',
  'error',
  'status',
  'success',
  'code',
  'verified',
]

/** A standstill of seconds ends the process of the test: see test/run/watchdog.ts. */
describe.each([...FILES])('an answer of %s with', (name, file) => {
  it.each(Object.entries(LONG))('%s is read without a standstill', async (_what, long) => {
    let asked = 0
    for (const kind of ['nin', 'bvn'] as const)
      for (const outcome of ['found', 'not_found'] as const) {
        const reply = file.operations[kind] && toSampleReply(file, kind, outcome, PERSON)
        if (!reply) continue
        for (const path of [...toPaths(reply.body), ...ENVELOPE.map((field) => [field])]) {
          await ask(name, file, kind, { ...reply, body: replace(reply.body, path, long) })
          asked += 1
        }
      }
    expect(asked).toBeGreaterThan(10)
  })
})
