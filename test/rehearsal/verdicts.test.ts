import { describe, expect, it } from 'vitest'
import { UserError } from '../../src/errors.ts'
import { readBody } from '../../src/rehearsal/callers.ts'
import { checkRepeats, checkRows } from '../../src/rehearsal/crash-exercises.ts'
import { checkFolder, checkRestored, describeRestore } from '../../src/rehearsal/data-exercises.ts'
import { checkFailover } from '../../src/rehearsal/database-exercises.ts'
import { type Exercise, runExercise, startAgain, waitUntil } from '../../src/rehearsal/exercise.ts'
import { NotStarted } from '../../src/rehearsal/program.ts'
import { isSigned } from '../../src/rehearsal/receiver.ts'
import { checkArrival, checkOrder, checkRevoked } from '../../src/rehearsal/service-exercises.ts'
import { listVendors } from '../../src/rehearsal/stage.ts'
import { checkIdempotency, checkStaging } from '../../src/rehearsal/staging-exercises.ts'
import { checkAnswers } from '../../src/rehearsal/vendor-exercises.ts'

type Answer = Parameters<typeof checkRepeats>[1][number]

/** Collects the verdicts of a check. */
function judge(work: (recorder: Parameters<typeof checkFailover>[0]) => void): boolean[] {
  const verdicts: boolean[] = []
  const check = (_expected: string, _seen: string, ok: boolean) => void verdicts.push(ok)
  work({ check, detected: () => {}, recovered: () => {} })
  return verdicts
}

const answer = (name: string, more: Partial<Answer> = {}): Answer => ({
  at: 0,
  ms: 5,
  status: 200,
  code: 'verified',
  reference: `ver_${name}`,
  body: `body of ${name}`,
  isReplay: false,
  question: { number: '00010000001', phone: '08030000001', idempotencyKey: name, consent: name },
  ...more,
})

describe('after a kill, repeats', () => {
  it('are as expected if answered ones are the same and others are verified', () => {
    const first = [answer('a'), answer('b', { status: 0, code: 'no_answer', body: '' })]
    expect(judge((recorder) => checkRepeats(recorder, first, [answer('a'), answer('b')]))).toEqual([
      true,
      true,
    ])
  })

  it('differ if an answer has other bytes', () => {
    const again = [answer('a', { body: 'another body' })]
    expect(judge((recorder) => checkRepeats(recorder, [answer('a')], again))).toEqual([false, true])
  })

  it('differ if one that was cut off fails', () => {
    const first = [answer('a'), answer('b', { status: 0, code: 'no_answer' })]
    const again = [answer('a'), answer('b', { status: 503, code: 'audit_unavailable' })]
    expect(judge((recorder) => checkRepeats(recorder, first, again))).toEqual([true, false])
  })

  it('differ if nothing was answered before: then nothing was compared', () => {
    expect(judge((recorder) => checkRepeats(recorder, [], []))[0]).toBe(false)
  })
})

describe('the rows of the audit log', () => {
  const row = (name: string, outcome = 'verified') => ({ reference: `ver_${name}`, consent: name, outcome })

  it('are as expected if each answer has one', () => {
    expect(judge((recorder) => checkRows(recorder, [answer('a')], [row('a')]))).toEqual([true, true])
  })

  it('differ if an acknowledged verification is missing, or has another outcome', () => {
    expect(judge((recorder) => checkRows(recorder, [answer('a'), answer('b')], [row('a')]))[0]).toBe(false)
    expect(judge((recorder) => checkRows(recorder, [answer('a')], [row('a', 'not_verified')]))[0]).toBe(false)
  })

  it('differ if an Idempotency-Key was executed twice', () => {
    const twice = [row('a'), { ...row('a'), reference: 'ver_other' }]
    expect(judge((recorder) => checkRows(recorder, [answer('a')], twice))).toEqual([true, false])
  })
})

describe('a revoked key', () => {
  const at = (time: number, status: number) =>
    answer('a', { at: time, status, code: status === 200 ? 'verified' : 'unauthenticated' })

  it('is as expected if it is refused from a second after the command on', () => {
    const answers = [at(100, 200), at(5100, 200), at(5900, 401), at(6100, 401)]
    expect(judge((recorder) => checkRevoked(recorder, answers, 5000))).toEqual([true, true])
  })

  it('differs if one answer is given later, or if none was asked for', () => {
    const late = [at(100, 200), at(6100, 401), at(6200, 200)]
    expect(judge((recorder) => checkRevoked(recorder, late, 5000))).toEqual([true, false])
    expect(judge((recorder) => checkRevoked(recorder, [at(100, 200)], 5000))).toEqual([true, false])
  })

  it('differs if it did not work before', () => {
    expect(judge((recorder) => checkRevoked(recorder, [at(100, 401), at(6100, 401)], 5000))[0]).toBe(false)
  })
})

describe('webhooks', () => {
  const row = (id: string, reference: string, state = 'delivered') => ({ id, reference, state })
  const rows = [row('1', 'x'), row('2', 'x'), row('3', 'y')]
  const received = (...ids: string[]) => ids.map((id) => ({ id }))

  it('are as expected if all arrive, in any order of references', () => {
    expect(judge((recorder) => checkArrival(recorder, ['y'], rows, received('3', '1', '2')))).toEqual([true])
    expect(judge((recorder) => checkOrder(recorder, rows, received('3', '1', '2')))).toEqual([true])
  })

  it('differ if one is lost, or an accepted verification has no event', () => {
    expect(judge((recorder) => checkArrival(recorder, [], rows, received('1', '3')))).toEqual([false])
    expect(judge((recorder) => checkArrival(recorder, ['z'], rows, received('1', '2', '3')))).toEqual([false])
  })

  it('differ if those of one reference change their order; a repeated delivery does not count', () => {
    expect(judge((recorder) => checkOrder(recorder, rows, received('2', '1', '3')))).toEqual([false])
    expect(judge((recorder) => checkOrder(recorder, rows, received('1', '2', '1', '3')))).toEqual([true])
  })

  it('differ if no two of one reference were compared: then their order was not shown', () => {
    const judgeOrder = (waiting: typeof rows, ...ids: string[]) =>
      judge((recorder) => checkOrder(recorder, waiting, received(...ids)))
    expect(judgeOrder([])).toEqual([false])
    expect(judgeOrder([row('1', 'x'), row('3', 'y')], '1', '3')).toEqual([false])
    // Of two that waited, one never arrived.
    expect(judgeOrder(rows, '1', '3')).toEqual([false])
  })

  it('are signed by the secret of the endpoint, or not', () => {
    // The example of the specification of Standard Webhooks.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const sent = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: '1614265330',
      signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      body: '{"test": 2432232314}',
    }
    expect(isSigned(sent, secret)).toBe(true)
    expect(isSigned({ ...sent, body: '{"test": 1}' }, secret)).toBe(false)
    expect(isSigned({ ...sent, signature: '' }, secret)).toBe(false)
  })
})

describe('a restore', () => {
  const none = { databaseUrl: undefined }
  const postgres = { databaseUrl: 'postgres://127.0.0.1/tabbat' }

  it.each([
    ['a copy in PostgreSQL', { data: postgres, config: none }],
    ['servers on PostgreSQL, and a backup of theirs', { data: none, config: postgres }],
  ])('with %s says that it was into SQLite', (_what, place) => {
    const { expected, notes } = describeRestore({ backup: undefined, ...place })
    expect(expected).toMatch(/^the backup can be restored into SQLite \(/)
    expect(notes).toEqual([expect.stringContaining('A restore into PostgreSQL was not rehearsed.')])
  })

  it('of SQLite needs no such word', () => {
    expect(describeRestore({ backup: {}, data: none, config: none })).toEqual({
      expected: 'the backup can be restored (yours)',
      notes: [],
    })
  })
})

describe('a folder of backups', () => {
  const judgeFolder = (unreadable: readonly string[]) =>
    judge((recorder) => checkFolder(recorder, { file: '/backups/a.backup', unreadable }))

  it('differs if a backup cannot be read, although another was restored', () => {
    expect(judgeFolder([])).toEqual([])
    expect(judgeFolder(['b.backup'])).toEqual([false])
  })
})

describe('answers while a vendor fails', () => {
  const about = (more: Partial<Answer> = {}) =>
    answer('a', { body: '{"nin":"00010000001","phone":"08030000001"}', ...more })
  const down = about({ status: 503, code: 'source_unavailable' })
  const judgeAnswers = (during: readonly Answer[], alone?: readonly string[]) =>
    judge((recorder) => checkAnswers(recorder, 'dojah', { during, answers: during, alone }))

  it('come from the vendors of this kind of number: one of NINs and one of BVNs are each alone', () => {
    const vendors = new Map([
      ['dojah', {}],
      ['prembly', {}],
    ])
    const one = { ninSources: ['registry', 'dojah'], bvnSources: ['prembly', 'dojah'] }
    expect(listVendors(one, vendors, 'nin')).toEqual(['dojah'])
    expect(listVendors(one, vendors, 'bvn')).toEqual(['prembly', 'dojah'])
  })

  it('are as expected if another vendor answers all', () => {
    expect(judgeAnswers([about(), about()])).toEqual([true, true, true])
  })

  it('differ if one is refused although there is another vendor', () => {
    expect(judgeAnswers([about(), down])).toEqual([false, true, true])
  })

  it('of a single vendor may be refused, but never "not verified"', () => {
    expect(judgeAnswers([down], ['source_unavailable'])).toEqual([true, true, true])
    const denied = about({ status: 422, code: 'not_verified' })
    expect(judgeAnswers([down, denied], ['source_unavailable'])[0]).toBe(false)
  })

  it('differ if a record is about another number, or a caller waits too long', () => {
    expect(judgeAnswers([about({ body: '{"nin":"00019999999","phone":"08030000001"}' })])[1]).toBe(false)
    expect(judgeAnswers([about({ ms: 20_000 })])[2]).toBe(false)
  })
})

describe('an answer with status 200', () => {
  const data = { request_reference: 'ver_1', verification_status: 'VERIFIED', nin_number: '00010000001' }
  const read = (body: unknown, number = '00010000001') =>
    readBody({ status: 200, body: typeof body === 'string' ? body : JSON.stringify(body) }, number)

  it('is verified if it says so about the number that was asked', () => {
    expect(read({ success: true, data })).toEqual({ code: 'verified', reference: 'ver_1' })
  })

  it('may hide the number, or lack it', () => {
    expect(read({ success: true, data: { ...data, nin_number: '0001*******' } }).code).toBe('verified')
    expect(read({ success: true, data: { ...data, nin_number: undefined } }).code).toBe('verified')
  })

  it.each([
    ['a web page', '<html>OK</html>', 'unreadable'],
    ['no object', 'null', 'unreadable'],
    ['an empty object', {}, 'not_an_answer_of_tabbat'],
    ['no success', { success: false, data }, 'not_an_answer_of_tabbat'],
    [
      'another status',
      { success: true, data: { ...data, verification_status: 'NOT_VERIFIED' } },
      'not_an_answer_of_tabbat',
    ],
    ['no reference', { success: true, data: { ...data, request_reference: '' } }, 'not_an_answer_of_tabbat'],
    ['another number', { success: true, data: { ...data, nin_number: '00010000002' } }, 'another_number'],
  ])('is not verified with %s', (_what, body, code) => {
    expect(read(body).code).toBe(code)
  })
})

describe('a staging server', () => {
  const page = answer('p', { code: 'unreadable', reference: undefined })

  it('answers as expected if each verification has a reference of its own', () => {
    expect(judge((recorder) => checkStaging(recorder, [answer('a'), answer('b')]))).toEqual([
      true,
      true,
      true,
    ])
  })

  it('differs if all answers have one reference, if a page comes instead, or nothing', () => {
    const same = [answer('a'), answer('b', { reference: 'ver_a' })]
    expect(judge((recorder) => checkStaging(recorder, same))).toEqual([true, false, true])
    expect(judge((recorder) => checkStaging(recorder, [page]))).toEqual([false, false, true])
    expect(judge((recorder) => checkStaging(recorder, []))[0]).toBe(false)
  })

  it('repeats an Idempotency-Key as expected with one reference, or 409 meanwhile', () => {
    const busy = answer('a', { status: 409, code: 'idempotency_in_progress', reference: undefined })
    expect(judge((recorder) => checkIdempotency(recorder, [answer('a'), busy], answer('a')))).toEqual([
      true,
      true,
    ])
  })

  it('differs if repeats have several references, or none', () => {
    expect(judge((recorder) => checkIdempotency(recorder, [answer('b')], answer('a')))).toEqual([true, false])
    expect(judge((recorder) => checkIdempotency(recorder, [page], page))).toEqual([false, false])
  })

  it('that sends the same page again has not repeated an answer', () => {
    expect(judge((recorder) => checkRepeats(recorder, [page], [page]))).toEqual([false, false])
  })
})

describe('a server that does not start after a fault', () => {
  const server = async () => {
    throw new NotStarted('A server on the copy did not start: the data is damaged.')
  }
  const rehearse = <S>(stage: S, run: Exercise<S>['run']) =>
    runExercise({ name: 'fault', title: 'A fault', about: 'a fault', run }, stage)

  it('is a difference, with its sentence', async () => {
    const finding = await rehearse({ server }, async (stage, recorder) => {
      expect(await startAgain(stage, recorder, 'it starts again')).toBe(false)
    })
    expect(finding).toMatchObject({
      status: 'differed',
      checks: [{ expected: 'it starts again', seen: expect.stringContaining('the data is damaged') }],
    })
  })

  it.each([
    [
      'no key can be made',
      { code: 1, stdout: '', stderr: 'error: The schema is newer.\n' },
      'The schema is newer.',
    ],
    ['it does not start', { code: 0, stdout: '{"key":"tbt_test_x"}', stderr: '' }, 'the data is damaged'],
  ])('on restored data is one, too, if %s', async (_why, made, sentence) => {
    const program = { run: async () => made, startServer: server, killAll: () => {}, close: async () => {} }
    const finding = await rehearse(
      { program, noVendor: undefined, kind: 'nin' as const },
      async (stage, recorder) => void (await checkRestored(stage, recorder, {})),
    )
    expect(finding).toMatchObject({
      status: 'differed',
      checks: [{ seen: expect.stringContaining(sentence) }],
    })
  })
})

describe('an exercise that fails itself', () => {
  const rehearse = (error: unknown) => {
    const run = () => Promise.reject(error)
    return runExercise({ name: 'fault', title: 'A fault', about: 'a fault', run }, {})
  }

  it.each([
    ['a defect', new TypeError('quotes the data of ada'), 'The exercise failed: TypeError.'],
    [
      'an error of the system',
      Object.assign(new Error('quotes /home/ada'), { code: 'EIO' }),
      'The exercise failed: Error EIO.',
    ],
    ['something that is no error', { message: 'quotes ada' }, 'The exercise failed: unknown error.'],
    ['a sentence for the operator', new UserError('There is no room.'), 'There is no room.'],
  ])('by %s says so without quoting data', async (_what, error, note) => {
    expect(await rehearse(error)).toMatchObject({ status: 'could_not_run', notes: [note] })
  })

  it('does not take a defect for a server that does not start', async () => {
    const server = () => Promise.reject(new TypeError('of ours'))
    await expect(startAgain({ server }, { check: () => {} }, 'it starts again')).rejects.toThrow(TypeError)
  })

  it('waits no longer than it should', async () => {
    expect(await waitUntil(() => false, 0)).toBe(undefined)
  })
})

describe('a failover', () => {
  const refused = answer('b', { at: 10, status: 503, code: 'audit_unavailable' })
  const judgeFailover = (answers: readonly Answer[], before?: string, after?: string, isFine = true) =>
    judge((recorder) => checkFailover(recorder, { answers, from: 5, isFine, before, after }))

  it('is as expected if another server is the primary, also if no answer failed', () => {
    expect(judgeFailover([answer('a')], 'pg1', 'pg2')).toEqual([true])
    expect(judgeFailover([answer('a'), refused], 'pg1', 'pg2')).toEqual([true])
  })

  it('is judged by answers that failed, if the same server is the primary or none can be read', () => {
    expect(judgeFailover([answer('a'), refused], 'pg1', 'pg1')).toEqual([true])
    expect(judgeFailover([answer('a'), refused])).toEqual([true])
  })

  it('differs if verifications do not work again', () => {
    expect(judgeFailover([refused], 'pg1', 'pg2', false)).toEqual([false])
  })

  it('was not rehearsed if the same server is the primary and no answer failed', () => {
    expect(() => judgeFailover([answer('a')], 'pg1', 'pg1')).toThrow('the same server is the primary')
  })

  it('was not rehearsed if nothing can be seen of it', () => {
    expect(() => judgeFailover([answer('a')])).toThrow('nothing was seen of a failover')
    expect(() => judgeFailover([answer('a')], 'pg1')).toThrow('nothing was seen of a failover')
  })
})
