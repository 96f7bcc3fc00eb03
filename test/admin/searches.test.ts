import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSearches, createSearchLimit } from '../../src/admin/searches.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

describe('the limit of searches', () => {
  const never = () => false
  /** Searches that end when they are told to. */
  function createRuns() {
    const limit = createSearchLimit()
    const started: string[] = []
    const ends = new Map<string, () => void>()
    const run = (session: string, name: string, isGone = never) =>
      limit(session, isGone, () => {
        started.push(name)
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
      })
    return { run, started, end: (name: string) => ends.get(name)?.() }
  }

  it('lets two of a session run, in order, and does not let others wait for them', async () => {
    const { run, started, end } = createRuns()
    const all = ['a1', 'a2', 'a3', 'a4'].map((name) => run('a', name))
    all.push(run('b', 'b1'))
    await nextTurn()
    expect(started).toEqual(['a1', 'a2', 'b1'])
    end('a2')
    await nextTurn()
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3'])
    for (const name of ['a1', 'a3', 'b1']) end(name)
    await nextTurn()
    end('a4')
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
  })

  it('lets eight run in all, and refuses a session with too many that wait', async () => {
    const { run, started } = createRuns()
    for (let session = 0; session < 6; session++)
      for (let turn = 0; turn < 2; turn++) void run(`s${session}`, `${session}.${turn}`)
    await nextTurn()
    expect(started).toHaveLength(8)
    for (let turn = 0; turn < 16; turn++) void run('s0', `waiting ${turn}`)
    await expect(run('s0', 'one more')).rejects.toMatchObject({ code: 'too_many_searches' })
  })

  it('does not start a search whose caller has gone, and frees its place after a failure', async () => {
    const { run, started, end } = createRuns()
    const limit = createSearchLimit()
    for (let turn = 0; turn < 3; turn++)
      await expect(limit('a', never, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    void run('a', '1')
    void run('a', '2')
    const gone = run('a', '3', () => true)
    await nextTurn()
    end('1')
    await expect(gone).rejects.toThrow()
    expect(started).toEqual(['1', '2'])
  })
})

describe('searches of the console', () => {
  let at: TestConsole
  let viewer: string
  beforeAll(async () => {
    at = await openTestConsole()
    viewer = await at.openSession('viewer')
    await at.context.audit.record(
      Array.from({ length: 300 }, (_each, index) => ({
        phase: 'outcome',
        request_reference: `ver_${index}`,
        outcome: 'verified',
      })),
    )
  })
  afterAll(() => at.close())

  it('read nothing in the thread that answers callers', async () => {
    const reads: string[] = []
    for (const table of ['audit', 'requests'] as const)
      for (const [name, read] of Object.entries(at.context.store[table]))
        if (['pageBack', 'byReference', 'byReferences', 'periodOf', 'list', 'read'].includes(name))
          Object.assign(at.context.store[table], {
            [name]: (...args: never[]) => {
              reads.push(`${table}.${name}`)
              return (read as (...all: never[]) => unknown)(...args)
            },
          })
    const searches = [
      ...['verifications/', ''].map((view) =>
        at.request(`/admin/audit/${view}search`, { cookie: viewer, body: { source: 'prembly' } }),
      ),
      at.request('/admin/audit/timelines/ver_7', { cookie: viewer }),
      at.request('/admin/requests', { cookie: viewer }),
      at.request('/admin/requests/verifications/ver_7', { cookie: viewer }),
    ]
    const [verifications, rows, timeline, requests, ofOne] = await Promise.all(searches)
    expect(verifications?.json()).toMatchObject({ verifications: [], archives: 0, next: null })
    expect(Number(verifications?.json().searched_rows)).toBeGreaterThanOrEqual(300)
    expect(rows?.json()).toMatchObject({ rows: [] })
    expect(timeline?.json()).toMatchObject({ rows: [{ request_reference: 'ver_7' }] })
    expect([requests?.status, ofOne?.status]).toEqual([200, 200])
    expect(reads).toEqual([])
  })

  it('of one session wait for each other, and all are answered', async () => {
    const body = { outcome: 'verified' }
    const all = Array.from({ length: 16 }, () =>
      at.request('/admin/audit/verifications/search', { cookie: viewer, body }),
    )
    for (const reply of await Promise.all(all))
      expect([reply.status, (reply.json().verifications as unknown[]).length]).toEqual([200, 50])
  })

  it('start no thread after the server was closed', async () => {
    const searches = createSearches(at.context)
    const running = searches.find('requests', { filter: {}, before: undefined })
    const failed = expect(running).rejects.toThrow('the thread of the searches ended')
    await searches.close()
    await failed
    await expect(searches.find('requests', { filter: {}, before: undefined })).rejects.toThrow('closed')
  })
})
