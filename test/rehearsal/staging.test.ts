import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createAgents, createCallers, sendRequest } from '../../src/rehearsal/callers.ts'
import { runExercise } from '../../src/rehearsal/exercise.ts'
import { createRecorder } from '../../src/rehearsal/finding.ts'
import { STAGING_EXERCISES } from '../../src/rehearsal/staging-exercises.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { createCertificate } from '../certificate.ts'
import { newFolder } from '../engines.ts'

let at: TestApp
let url: string
beforeAll(async () => {
  at = await openTestApp()
  url = await at.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => at.close())

const toStaging = (kind: 'nin' | 'bvn', failoverCommand?: string) => ({
  ...{ url: () => url, key: SANDBOX_KEY, kind, failoverCommand, origin: '', notes: [] },
})

async function rehearse(name: string, staging: ReturnType<typeof toStaging>) {
  const exercise = STAGING_EXERCISES.find((each) => each.name === name)
  if (!exercise) throw new Error(`there is no exercise ${name}`)
  return runExercise(exercise, staging)
}

describe.concurrent.each(['nin', 'bvn'] as const)(
  'a staging server that is in order, asked about a %s,',
  (kind) => {
    it.each(['answers', 'sandbox-faults', 'wrong-key', 'idempotency', 'pending'])(
      'makes the exercise %s as expected',
      async (name) => {
        const { checks } = await rehearse(name, toStaging(kind))
        expect(checks.length).toBeGreaterThan(0)
        // On a busy machine, an answer takes longer than an operator should see.
        expect(checks.filter(({ ok, expected }) => !ok && !expected.startsWith('each within'))).toEqual([])
      },
    )
  },
)

describe.concurrent('a failover of a staging server', () => {
  it('is skipped without a command', async () => {
    expect(await rehearse('failover', toStaging('nin'))).toMatchObject({
      status: 'skipped',
      notes: [expect.stringContaining('Give --failover-command')],
    })
  })

  it('could not be made if the command ends and no answer fails', async () => {
    const done = join(newFolder(), 'done')
    const finding = await rehearse('failover', toStaging('nin', `touch ${done}`))
    expect(finding).toMatchObject({
      status: 'could_not_run',
      notes: [expect.stringContaining('nothing was seen of a failover')],
    })
    expect(existsSync(done)).toBe(true)
  })
})

describe('a server that cannot be believed', () => {
  const agents = createAgents()
  afterAll(() => agents.close())

  it('is one without a valid certificate: it gets no key', async () => {
    let asked = 0
    const server = createHttps(createCertificate(), (_request, response) => {
      asked += 1
      response.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const base = `https://localhost:${(server.address() as AddressInfo).port}`
    expect(await sendRequest(base, agents, { path: '/', key: SANDBOX_KEY })).toMatchObject({
      status: 0,
      body: '',
    })
    expect(asked).toBe(0)
    server.close()
  })

  it('is one that ends in the middle of an answer', async () => {
    const server = createHttp((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"success":')
      response.socket?.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await sendRequest(base, agents, { path: '/' })).toMatchObject({ status: 0, body: '' })
    server.close()
  })

  it('is one that answers 202 to what it does not know later', async () => {
    const server = createHttp((_request, response) => response.writeHead(202).end('{"code":"pending"}'))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const pending = STAGING_EXERCISES.find(({ name }) => name === 'pending')
    const finding = await runExercise(pending as (typeof STAGING_EXERCISES)[number], {
      ...toStaging('nin'),
      url: () => base,
    })
    expect(finding).toMatchObject({ status: 'differed', checks: [{ seen: '202 pending', ok: false }] })
    server.close()
  })

  it('has no time to answer: the load does not wait for it', async () => {
    const recorder = createRecorder({ name: 'x', title: 'x' })
    const callers = createCallers({
      url: () => 'http://127.0.0.1:9',
      key: SANDBOX_KEY,
      kind: 'nin',
      recorder,
    })
    const load = callers.startLoad()
    expect(await load.until(() => false, 0)).toBe(false)
    expect((await load.stop()).map(({ code }) => code)).toContain('no_answer')
    callers.close()
  })
})
