import { describe, expect, it } from 'vitest'
import { createRecorder, toAnswersText, toExitCode, toTime } from '../../src/rehearsal/finding.ts'

const record = () => createRecorder({ name: 'vendor-down', title: 'A vendor is down' })

describe('the finding of an exercise', () => {
  it('is as expected if every check is', () => {
    const recorder = record()
    recorder.check('a', 'a', true)
    recorder.check('b', 'b', true)
    expect(recorder.toFinding()).toMatchObject({ name: 'vendor-down', status: 'as_expected', detectMs: null })
  })

  it('differs if one check does', () => {
    const recorder = record()
    recorder.check('a', 'a', true)
    recorder.check('b', 'c', false)
    expect(recorder.toFinding().status).toBe('differed')
  })

  it('that compared nothing could not be run', () => {
    expect(record().toFinding().status).toBe('could_not_run')
  })

  it('has the slowest times of several faults, and their ends', () => {
    const recorder = record()
    recorder.detected(20)
    recorder.detected(300.4)
    recorder.recovered(5)
    const end = recorder.beginFault('first')
    end()
    recorder.beginFault('never ended')
    const { detectMs, recoverMs, faults, tookMs } = recorder.toFinding()
    expect([detectMs, recoverMs]).toEqual([300, 5])
    expect(faults.map(({ label }) => label)).toEqual(['first', 'never ended'])
    for (const { from, to } of faults) expect(to).toBeGreaterThanOrEqual(from)
    for (const { to } of faults) expect(to).toBeLessThanOrEqual(tookMs)
  })
})

describe('the exit code', () => {
  const of = (...statuses: ('as_expected' | 'differed' | 'skipped' | 'could_not_run')[]) =>
    toExitCode(statuses.map((status) => ({ name: status, status })))

  it('is 0 if all that was made was as expected', () => {
    expect(of('as_expected', 'skipped')).toBe(0)
  })

  it('is 1 if something differed, whatever else happened', () => {
    expect(of('as_expected', 'differed')).toBe(1)
    expect(of('could_not_run', 'differed')).toBe(1)
  })

  it('is 2 if an exercise could not be run, or none was', () => {
    expect(of('as_expected', 'could_not_run')).toBe(2)
    expect(of('skipped')).toBe(2)
    expect(of()).toBe(2)
  })

  it('is 2 if an exercise was skipped that was named, although others were as expected', () => {
    const made = { name: 'kill', status: 'as_expected' } as const
    const skipped = { name: 'failover', status: 'skipped' } as const
    expect(toExitCode([made, skipped], ['kill', 'failover'])).toBe(2)
    expect(toExitCode([made, skipped], ['kill'])).toBe(0)
    expect(toExitCode([{ ...made, status: 'differed' }, skipped], ['kill', 'failover'])).toBe(1)
  })
})

it('the text about answers counts each kind, the most frequent first', () => {
  const sample = (status: number, code: string) => ({ at: 0, ms: 1, status, code })
  expect(toAnswersText([])).toBe('no answers')
  expect(
    toAnswersText([
      sample(503, 'audit_unavailable'),
      sample(200, 'verified'),
      sample(200, 'verified'),
      sample(0, 'no_answer'),
    ]),
  ).toBe('2 × 200 verified, 1 × 503 audit_unavailable, 1 × no answer')
})

it.each([
  [320, '320 ms'],
  [4140, '4.1 s'],
  [167_117, '2 min 47 s'],
  [9 * 3_600_000, '9 h'],
  [5 * 86_400_000, '5 days'],
])('%d ms is shown as %s', (ms, text) => {
  expect(toTime(ms)).toBe(text)
})
