import { expect, it } from 'vitest'
import { withoutCopies } from '../../src/server/signals.ts'

it('takes a signal that comes twice at once as one, and a later or another one as a second', () => {
  const taken: string[] = []
  let now = 0
  const onSignal = withoutCopies(
    (signal) => taken.push(`${signal} ${now}`),
    () => now,
  )
  for (const [at, signal] of [
    [0, 'SIGINT'],
    [1, 'SIGINT'],
    [499, 'SIGINT'],
    [500, 'SIGINT'],
    [501, 'SIGTERM'],
    [502, 'SIGTERM'],
    [503, 'SIGINT'],
  ] as const) {
    now = at
    onSignal(signal)
  }
  expect(taken).toEqual(['SIGINT 0', 'SIGINT 500', 'SIGTERM 501', 'SIGINT 503'])
})
