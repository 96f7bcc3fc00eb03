import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Store } from '../../src/context/store.ts'
import { openChannels } from '../../src/notices/channels.ts'
import { BEGIN_AFTER_MS, toEndAfterMs } from '../../src/notices/incident-rules.ts'
import type { SeenFinding } from '../../src/notices/node-findings.ts'
import { createPass, createSend, createStoreWatch } from '../../src/notices/notices.ts'
import { describeEngines, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { answerWith, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { useProcessClock } from '../webhooks/setup.ts'

const DOWN: SeenFinding = {
  name: 'sources: verify_nin',
  checkName: 'sources',
  scope: '',
  level: 'critical',
  text: 'verify_nin gets no answers: dojah. See tabbat sources status.',
}
const FULL: SeenFinding = {
  ...{ name: 'disk: /data', checkName: 'disk', scope: 'one', level: 'critical' },
  text: 'The disk of /data is full.',
}

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  const clock = { ms: 0 }
  let store: Store
  let slack: Receiver
  let failures: unknown[]
  let events: string[]
  let closing: (() => Promise<unknown>)[]
  beforeEach(async () => {
    const place = await engine.createPlace()
    store = await place.open()
    await useProcessClock(store)
    slack = await startReceiver()
    clock.ms = Date.parse('2026-11-17T11:00:00Z')
    failures = []
    events = []
    closing = []
  })
  afterEach(async () => {
    for (const close of closing) await close()
    await slack.close()
    await store.close()
  })

  /** One node, whose database is away while `isAway`. */
  function openNode(node: string, settings: Record<string, string> = {}) {
    const config = loadConfig({ TABBAT_NOTICES_SLACK: slack.url, ...settings }, '')
    const channels = openChannels(config)
    const seen = { findings: [] as readonly SeenFinding[], isAway: false }
    const table = {
      ...store.incidents,
      report: (...given: Parameters<Store['incidents']['report']>) =>
        seen.isAway ? Promise.reject(new Error('the store is away')) : store.incidents.report(...given),
    }
    const log = {
      event: (_level: string, name: string) => void events.push(name),
      failure: (error: unknown) => void failures.push(error),
    }
    const ending = new AbortController()
    const { signal } = ending
    const options = { table, config, log, node, channels, signal, now: () => clock.ms }
    const storeWatch = createStoreWatch({ ...options, delaysMs: [1] })
    const look = async () => ({ checks: ['sources', 'disk'], findings: seen.findings })
    const pass = createPass({ ...options, storeWatch, look })
    const sends = channels.map((channel) => createSend({ ...options, channel }))
    closing.push(async () => {
      ending.abort()
      await Promise.all(channels.map((channel) => channel.close()))
    })
    const run = async (passes: number, isTaken = true) => {
      for (let each = 0; each < passes; each++) {
        await pass()
        if (isTaken) await storeWatch.settled()
        for (const send of sends) await send()
        clock.ms += 15_000
      }
    }
    return { seen, run }
  }
  const texts = () => slack.received.map(({ body }) => (JSON.parse(body) as { text: string }).text)
  const passesFor = (ms: number) => Math.ceil(ms / 15_000) + 1

  it('sends one message when an incident begins, and one when it ends, with how long it lasted', async () => {
    const { seen, run } = openNode('one', { TABBAT_NOTICES_CONSOLE: 'https://console.example.com' })
    seen.findings = [DOWN]
    await run(passesFor(BEGIN_AFTER_MS) + 20)
    expect(texts()).toEqual([
      [
        '*Tabbat: Critical: sources: verify_nin*',
        'Critical: sources: verify_nin',
        'verify_nin gets no answers: dojah. See tabbat sources status.',
        'Since 17 Nov 2026, 12:00 (Africa/Lagos).',
        '',
        'https://console.example.com/console#/incidents',
      ].join('\n'),
    ])
    seen.findings = []
    await run(passesFor(toEndAfterMs(0)) + 20)
    expect(texts()).toHaveLength(2)
    expect(texts()[1]).toContain('Ended: sources: verify_nin\nIt lasted 6 minutes, from 17 Nov 2026, 12:00')
    expect(events).toEqual(['incident_began', 'notice_sent', 'incident_ended', 'notice_sent'])
  })

  it('sends it later, and once, when the channel fails at first', async () => {
    const { seen, run } = openNode('one')
    seen.findings = [DOWN]
    slack.answer = answerWith(500)
    await run(passesFor(BEGIN_AFTER_MS))
    expect(slack.received).toHaveLength(1)
    slack.answer = answerWith(200)
    await run(40)
    expect(slack.received).toHaveLength(2)
    expect(events).toContain('notice_failed')
  })

  it('waits for as long as the channel asks', async () => {
    const { seen, run } = openNode('one')
    seen.findings = [DOWN]
    slack.answer = answerWith(429, { 'retry-after': '600' })
    await run(passesFor(BEGIN_AFTER_MS))
    slack.answer = answerWith(200)
    await run(30)
    expect(slack.received).toHaveLength(1)
    await run(20)
    expect(slack.received).toHaveLength(2)
  })

  describe('while the database is away', () => {
    it('tells it once on each node, with what is known of the reason, and its end once', async () => {
      const { seen, run } = openNode('one')
      await run(2)
      Object.assign(seen, { isAway: true, findings: [FULL] })
      await run(passesFor(BEGIN_AFTER_MS) + 40)
      expect(texts()).toHaveLength(1)
      expect(texts()[0]).toContain('Critical: database (node one)')
      expect(texts()[0]).toContain('cannot write its database')
      expect(texts()[0]).toContain('The disk of /data is full.')
      expect(failures).toHaveLength(1)
      Object.assign(seen, { isAway: false, findings: [] })
      await run(passesFor(toEndAfterMs(0)) + 20)
      expect(texts()).toHaveLength(2)
      expect(texts()[1]).toContain('Ended: database (node one)\nIt lasted 11 minutes')
      expect(await store.incidents.list({ most: 10 })).toMatchObject([
        { name: 'database', scope: 'one', notices: [{ state: 'sent' }, { state: 'sent' }] },
      ])
    })

    it('does not tell that it was away for a moment', async () => {
      const { seen, run } = openNode('one')
      seen.isAway = true
      await run(3)
      seen.isAway = false
      await run(60)
      expect(slack.received).toEqual([])
    })

    it('leaves what the channel has not taken to the database when it is back', async () => {
      const { seen, run } = openNode('one', { TABBAT_NOTICES_SLACK: 'http://127.0.0.1:1/' })
      seen.isAway = true
      await run(passesFor(BEGIN_AFTER_MS) + 2, false)
      seen.isAway = false
      await run(passesFor(toEndAfterMs(0)), false)
      const [incident] = await store.incidents.list({ most: 10 })
      expect(incident?.notices.map(({ kind, state }) => [kind, state])).toEqual([
        ['began', 'waiting'],
        ['ended', 'waiting'],
      ])
    })

    it('repeats what the channel does not take', async () => {
      const { seen, run } = openNode('one')
      let answers = 0
      slack.answer = (request, response) => {
        answers += 1
        answerWith(answers < 3 ? 500 : 200)(request, response)
      }
      seen.isAway = true
      await run(passesFor(BEGIN_AFTER_MS) + 10)
      expect(slack.received).toHaveLength(3)
    })
  })
})
