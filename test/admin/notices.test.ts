import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Incidents, NoticeChannels, TestedChannels } from '../../src/admin/notices.ts'
import { BEGIN_AFTER_MS } from '../../src/notices/incident-rules.ts'
import { answerWith, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const SECRET = 'T00SECRET/B00SECRET'
const PASSWORD = 'password-of-the-relay'

let slack: Receiver
let at: TestConsole
let viewer: string
let operator: string
beforeAll(async () => {
  slack = await startReceiver()
  at = await openTestConsole({
    TABBAT_NOTICES_SLACK: new URL(`/services/${SECRET}`, slack.url).href,
    // Nobody listens there.
    TABBAT_NOTICES_SMTP: `smtps://tabbat:${PASSWORD}@127.0.0.1:1`,
    TABBAT_NOTICES_FROM: 'tabbat@example.com',
    TABBAT_NOTICES_TO: 'ops@example.com',
    TABBAT_NOTICES_QUIET: '22:00-06:00',
  })
  viewer = await at.openSession('viewer')
  operator = await at.openSession('operator')
})
afterAll(async () => {
  await at.close()
  await slack.close()
})

const test = (cookie = operator) => at.request('/admin/notices/test', { method: 'POST', body: {}, cookie })

it('lists the channels without what is secret', async () => {
  const answer = await at.request('/admin/notices', { cookie: viewer })
  const nothing = { state: 'active', failing_since: null, problem: null, sent_at: null, retry_at: null }
  expect(answer.json() as NoticeChannels).toEqual({
    channels: [
      { channel: 'email', host: '127.0.0.1', ...nothing },
      { channel: 'slack', host: '127.0.0.1', ...nothing },
    ],
    quiet_hours: '22:00-06:00',
    zone: 'Africa/Lagos',
  })
})

it('sends a test to every channel, once in ten seconds, with a row in the audit log, and says what became of it', async () => {
  expect((await test(viewer)).status).toBe(403)
  const answer = await test()
  const { results } = answer.json() as TestedChannels
  expect(results).toMatchObject([
    { channel: 'email', ok: false, problem: 'no_connection' },
    { channel: 'slack', ok: true, problem: null, explanation: 'The channel has taken the message.' },
  ])
  expect(slack.received).toHaveLength(1)
  expect(slack.received[0]?.path).toBe(`/services/${SECRET}`)
  const again = await test()
  expect(again.status).toBe(429)
  expect(Number(again.headers['retry-after'])).toBeGreaterThan(0)
  expect(slack.received).toHaveLength(1)
  expect(await readRows(at, 'notices_tested')).toMatchObject([{ detail: 'email, slack; by operator' }])
})

it('shows no address and no password, wherever settings and findings are shown', async () => {
  for (const path of ['/admin/notices', '/admin/incidents', '/admin/settings', '/admin/health']) {
    const { text, status } = await at.request(path, { cookie: operator })
    expect(status).toBe(200)
    expect(text).not.toMatch(/T00SECRET|B00SECRET|password-of-the-relay/)
  }
  expect((await at.request('/admin/settings', { cookie: viewer })).text).toContain('TABBAT_NOTICES_SLACK')
})

it('lists incidents with their notices, page by page', async () => {
  const { incidents } = at.context.store
  const now = Date.now()
  const toFinding = (index: number) => ({
    ...{ name: `sources: vendor ${index}`, checkName: 'sources', scope: '', level: 'critical' as const },
    text: 'It does not answer.',
  })
  const findings = Array.from({ length: 30 }, (_each, index) => toFinding(index))
  const report = {
    node: 'one',
    checks: ['sources'],
    findings,
    channels: ['slack' as const],
    quiet: undefined,
  }
  await incidents.report(report, now)
  await incidents.report(report, now + BEGIN_AFTER_MS)
  const read = async (query = '') =>
    (await at.request(`/admin/incidents${query}`, { cookie: viewer })).json() as unknown as Incidents
  const first = await read()
  expect(first.incidents).toHaveLength(25)
  expect(first.incidents[0]).toMatchObject({
    ...{ node: null, level: 'critical', text: 'It does not answer.', ended_at: null },
    notices: [{ channel: 'slack', kind: 'began', state: 'waiting', finished_at: null }],
  })
  const rest = await read(`?before=${first.next}`)
  expect(rest.incidents).toHaveLength(5)
  expect(rest.next).toBeNull()
})

it('says in the health of the server that a channel fails', async () => {
  const { incidents } = at.context.store
  slack.answer = answerWith(404)
  const claimed = await incidents.claim({ channel: 'slack', leaseMs: 1000 }, Date.now() + BEGIN_AFTER_MS)
  if (!claimed) throw new Error('nothing is due')
  const settlement = { channel: 'slack', claimed, problem: 'gone', isSent: false } as const
  await incidents.settle({ ...settlement, retryInMs: 1000, giveUpMs: 1e9 }, Date.now())
  const { createHealthMonitor } = await import('../../src/health/health-monitor.ts')
  const monitor = createHealthMonitor(at.context)
  const find = async () => (await monitor.read()).findings.find(({ check }) => check === 'notices')
  await expect.poll(find).toMatchObject({
    status: 'warning',
    text: expect.stringMatching(/^Notices by slack fail since .*Create a new one, and replace the setting\./),
  })
  const { channels } = (await at.request('/admin/notices', { cookie: viewer })).json() as NoticeChannels
  expect(channels[1]).toMatchObject({ channel: 'slack', state: 'failing' })
})
