import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { BEGIN_AFTER_MS, type Level, NOT_KNOWN, toEndAfterMs } from '../../src/notices/incident-rules.ts'
import { toMessage } from '../../src/notices/message.ts'
import type { SeenFinding } from '../../src/notices/node-findings.ts'
import type { ChannelName } from '../../src/notices/settings.ts'
import { describeEngines, ENGINES, POSTGRES } from '../engines.ts'
import { useProcessClock } from '../webhooks/setup.ts'

const CHANNEL = 'slack'
const LEASE_MS = 60_000
const NIGHT = { from: 22 * 60, to: 6 * 60, zone: 'Africa/Lagos' }

const seen = (name: string, level: Level = 'critical', scope = ''): SeenFinding => ({
  name,
  checkName: name.split(':')[0] ?? '',
  scope,
  level,
  text: `${name} is ${level}.`,
})

describeEngines(ENGINES, (engine) => {
  const clock = { ms: 0 }
  let stores: Store[]
  let store: Store
  const CHECKS = ['sources', 'disk', 'tls']

  beforeEach(async () => {
    const place = await engine.createPlace()
    // SQLite is one process; its tests share one store.
    const count = engine === POSTGRES ? 3 : 1
    stores = await Promise.all(Array.from({ length: count }, () => place.open()))
    store = stores[0] as Store
    await useProcessClock(store)
    // Noon in Lagos.
    clock.ms = Date.parse('2026-11-17T11:00:00Z')
  })
  afterEach(() => Promise.all(stores.map((each) => each.close())))

  const beat = async (node: string) => {
    const beatOf = { owner: node, node, worker: 1, version: '1', inFlight: 0, requestsPerS: 0, lagMs: 0 }
    await store.nodes.sendHeartbeat({ ...beatOf, uptimeMs: 0 }, clock.ms)
  }
  type Looking = { node?: string; checks?: readonly string[]; quiet?: typeof NIGHT; channels?: ChannelName[] }
  const look = async (findings: readonly SeenFinding[], looking: Looking = {}, by = store) => {
    const { node = 'one', checks = CHECKS, quiet, channels = [CHANNEL] } = looking
    return by.incidents.report({ node, checks, findings, channels, quiet }, clock.ms)
  }
  const pass = (ms: number) => {
    clock.ms += ms
  }
  const claim = () => store.incidents.claim({ channel: CHANNEL, leaseMs: LEASE_MS }, clock.ms)
  const settle = (claimed: NonNullable<Awaited<ReturnType<typeof claim>>>, isSent = true) =>
    store.incidents.settle(
      {
        ...{ channel: CHANNEL, claimed, isSent, problem: isSent ? undefined : 'failing' },
        ...{ retryInMs: MINUTE_MS, giveUpMs: 2 * DAY_MS },
      },
      clock.ms,
    )
  const sendAll = async () => {
    const claimed = await claim()
    if (!claimed) return []
    await settle(claimed)
    return claimed.notices.map(({ kind, incident }) => `${kind} ${incident.name}`)
  }
  /** Until it is told. */
  const begin = async (finding: SeenFinding, looking: Looking = {}) => {
    await look([finding], looking)
    pass(BEGIN_AFTER_MS)
    return look([finding], looking)
  }
  const end = async (looking: Looking = {}) => {
    await look([], looking)
    pass(toEndAfterMs(0))
    return look([], looking)
  }

  it('tells an incident once, and its end once, with both times', async () => {
    const beganAt = clock.ms
    expect(await look([seen('sources: dojah')])).toEqual([])
    expect(await begin(seen('sources: dojah'))).toMatchObject([{ kind: 'began', name: 'sources: dojah' }])
    expect(await look([seen('sources: dojah')])).toEqual([])
    expect(await sendAll()).toEqual(['began sources: dojah'])
    pass(HOUR_MS)
    const endedAt = clock.ms
    expect(await end()).toMatchObject([{ kind: 'ended' }])
    const claimed = await claim()
    expect(claimed?.notices).toMatchObject([{ kind: 'ended', incident: { beganAt, endedAt } }])
    await settle(claimed as NonNullable<typeof claimed>)
    expect(await sendAll()).toEqual([])
    expect(await store.incidents.list({ most: 10 })).toMatchObject([
      {
        ...{ name: 'sources: dojah', level: 'critical', beganAt, endedAt },
        notices: [
          { channel: CHANNEL, kind: 'began', state: 'sent' },
          { channel: CHANNEL, kind: 'ended', state: 'sent' },
        ],
      },
    ])
  })

  it('tells and sends after a clock that was ahead, as if nothing had been noted', async () => {
    const right = clock.ms
    pass(365 * DAY_MS)
    await begin(seen('disk', 'critical', 'one'))
    await settle((await claim()) as NonNullable<Awaited<ReturnType<typeof claim>>>, false)
    await look([seen('disk', 'critical', 'one'), seen('tls', 'warning')])
    // Its process died with the claim.
    pass(HOUR_MS)
    await claim()
    clock.ms = right
    expect(await sendAll()).toEqual(['began disk'])
    await look([seen('disk', 'critical', 'one'), seen('tls', 'warning')])
    pass(BEGIN_AFTER_MS)
    await look([seen('disk', 'critical', 'one'), seen('tls', 'warning')])
    expect(await sendAll()).toEqual(['began tls'])
    const listed = await store.incidents.list({ most: 10 })
    expect(listed.map(({ name, beganAt }) => [name, beganAt]).toSorted()).toEqual([
      ['disk', right],
      ['tls', right],
    ])
    await end()
    expect((await sendAll()).toSorted()).toEqual(['ended disk', 'ended tls'])
  })

  it('keeps to its waits when the clock is right', async () => {
    await begin(seen('disk', 'critical', 'one'))
    await settle((await claim()) as NonNullable<Awaited<ReturnType<typeof claim>>>, false)
    expect(await claim()).toBeUndefined()
    pass(MINUTE_MS)
    expect(await claim()).toBeDefined()
    expect(await claim()).toBeUndefined()
  })

  it('forgets what did not last', async () => {
    await look([seen('disk', 'critical', 'one')])
    await end()
    expect(await store.incidents.list({ most: 10 })).toEqual([])
    expect(await sendAll()).toEqual([])
  })

  it('keeps what a node found by checks that were not made again', async () => {
    await begin(seen('sources: dojah'))
    await look([], { checks: ['disk'] })
    pass(toEndAfterMs(0))
    expect(await look([], { checks: ['disk'] })).toEqual([])
  })

  it('is one incident while any node sees it, and another on each node if it is about the node', async () => {
    const [one, two] = [
      [seen('sources: dojah'), seen('disk', 'warning', 'one')],
      [seen('sources: dojah'), seen('disk', 'warning', 'two')],
    ] as const
    for (const ms of [0, BEGIN_AFTER_MS]) {
      pass(ms)
      await Promise.all([beat('one'), beat('two')])
      await look(one, { node: 'one' })
      await look(two, { node: 'two' })
    }
    expect((await sendAll()).toSorted()).toEqual(['began disk', 'began disk', 'began sources: dojah'])
    for (const ms of [0, toEndAfterMs(0)]) {
      pass(ms)
      await Promise.all([beat('one'), beat('two')])
      await look([], { node: 'one' })
      await look(two, { node: 'two' })
    }
    expect(await sendAll()).toEqual(['ended disk'])
  })

  const listTexts = async () => (await store.incidents.list({ most: 10 })).map(({ text }) => text)

  it('does not say that what a node found about itself has ended when the node is gone', async () => {
    await beat('two')
    await begin(seen('disk', 'warning', 'two'), { node: 'two' })
    expect(await sendAll()).toEqual(['began disk'])
    pass(5 * MINUTE_MS)
    expect(await end({ node: 'one' })).toMatchObject([{ kind: 'ended', scope: 'two' }])
    expect(await listTexts()).toEqual([`${NOT_KNOWN}disk is warning.`])
    const { notices = [] } = (await claim()) ?? {}
    const { title, paragraphs } = toMessage(notices, { zone: 'Africa/Lagos', consoleUrl: undefined })
    expect(title).toBe('No longer known: disk (node two)')
    expect(paragraphs.flat().join(' ')).toMatch(
      /This node no longer reports.*Last found: disk is warning\. Since 17 Nov.*seen until 17 Nov/,
    )
  })

  it('knows it again when the node reports again', async () => {
    await beat('two')
    await begin(seen('disk', 'warning', 'two'), { node: 'two' })
    pass(2 * MINUTE_MS)
    for (const node of ['one', 'one', 'two']) {
      await look([], { node })
      expect(await listTexts()).toEqual([
        node === 'one' ? `${NOT_KNOWN}disk is warning.` : 'disk is warning.',
      ])
    }
    await beat('two')
    pass(toEndAfterMs(0))
    expect(await look([], { node: 'two' })).toMatchObject([{ kind: 'ended' }])
    expect(await listTexts()).toEqual(['disk is warning.'])
  })

  it('has the words of the last look, but not its figures', async () => {
    const say = (text: string) => ({ ...seen('sources: dojah'), text })
    await begin(say('No answers for 20 s on one.'))
    await look([say('No answers for 40 s on one.')])
    expect(await listTexts()).toEqual(['No answers for 20 s on one.'])
    await look([say('No answers for 60 s on all nodes.')])
    expect(await listTexts()).toEqual(['No answers for 60 s on all nodes.'])
  })

  it('has no failing channel after a test that was sent, and what waits is sent at once', async () => {
    await begin(seen('disk'))
    const claimed = await claim()
    await settle(claimed as NonNullable<typeof claimed>, false)
    expect(await store.incidents.listChannels()).toMatchObject([{ problem: 'failing', tries: 1 }])
    expect(await claim()).toBeUndefined()
    await store.incidents.noteWorking(CHANNEL)
    expect(await store.incidents.listChannels()).toMatchObject([
      { problem: undefined, failingSince: undefined, tries: 0 },
    ])
    expect(await sendAll()).toEqual(['began disk'])
  })

  it('sends the notices of all that is due in one message', async () => {
    const both = [seen('disk', 'warning', 'one'), seen('tls', 'warning', 'one')]
    await look(both)
    pass(BEGIN_AFTER_MS)
    await look(both)
    expect(await sendAll()).toEqual(['began disk', 'began tls'])
  })

  describe('in quiet hours', () => {
    beforeEach(() => {
      // Half past eleven in the evening in Lagos.
      clock.ms = Date.parse('2026-11-17T22:30:00Z')
    })

    it('warnings wait for the morning, and are then one message with what has ended meanwhile', async () => {
      await begin(seen('disk', 'warning', 'one'), { quiet: NIGHT })
      await begin(seen('tls', 'warning', 'one'), { quiet: NIGHT })
      await end({ quiet: NIGHT })
      expect(await sendAll()).toEqual([])
      clock.ms = Date.parse('2026-11-18T04:59:00Z')
      expect(await sendAll()).toEqual([])
      clock.ms = Date.parse('2026-11-18T05:00:00Z')
      expect((await sendAll()).toSorted()).toEqual(['began disk', 'began tls', 'ended disk', 'ended tls'])
    })

    it('what is critical is sent at once, and its end too', async () => {
      await begin(seen('disk', 'critical', 'one'), { quiet: NIGHT })
      expect(await sendAll()).toEqual(['began disk'])
      await end({ quiet: NIGHT })
      expect(await sendAll()).toEqual(['ended disk'])
    })

    it('a warning that becomes critical is sent at once, and the warning no more', async () => {
      await begin(seen('disk', 'warning', 'one'), { quiet: NIGHT })
      await begin(seen('disk', 'critical', 'one'), { quiet: NIGHT })
      expect(await sendAll()).toEqual(['worse disk'])
      clock.ms = Date.parse('2026-11-18T05:00:00Z')
      expect(await sendAll()).toEqual([])
      const [incident] = await store.incidents.list({ most: 10 })
      expect(incident?.notices.map(({ kind, state }) => [kind, state])).toEqual([
        ['began', 'replaced'],
        ['worse', 'sent'],
      ])
    })
  })

  describe('sending', () => {
    beforeEach(async () => {
      await begin(seen('sources: dojah'))
    })

    it('is done by one process at a time', async () => {
      const claims = await Promise.all(
        [...stores, ...stores].map((each) =>
          each.incidents.claim({ channel: CHANNEL, leaseMs: LEASE_MS }, clock.ms),
        ),
      )
      expect(claims.filter((each) => each !== undefined)).toHaveLength(1)
    })

    it('goes on after the lease of a process that died between claim and send', async () => {
      const dead = await claim()
      pass(LEASE_MS - 1)
      expect(await claim()).toBeUndefined()
      pass(1)
      expect((await claim())?.notices).toEqual(dead?.notices)
    })

    it('is not repeated when the result of a lost claim comes late', async () => {
      const late = await claim()
      pass(LEASE_MS)
      const other = await claim()
      await settle(late as NonNullable<typeof late>)
      await settle(other as NonNullable<typeof other>)
      expect(await claim()).toBeUndefined()
    })

    it('goes on at once after a claim was given back', async () => {
      const claimed = (await claim()) as NonNullable<Awaited<ReturnType<typeof claim>>>
      await store.incidents.release(CHANNEL, claimed)
      expect(await claim()).toBeDefined()
    })

    it('waits after a failure, says since when it fails, and sends the end with the beginning', async () => {
      const since = clock.ms
      await settle((await claim()) as NonNullable<Awaited<ReturnType<typeof claim>>>, false)
      expect(await claim()).toBeUndefined()
      expect(await store.incidents.listChannels()).toMatchObject([
        { channel: CHANNEL, tries: 1, failingSince: since, problem: 'failing', sentAt: undefined },
      ])
      await end()
      expect(await sendAll()).toEqual(['began sources: dojah', 'ended sources: dojah'])
      expect(await store.incidents.listChannels()).toMatchObject([
        { tries: 0, failingSince: undefined, problem: undefined, sentAt: clock.ms },
      ])
    })

    it('ends for notices that could not be sent for two days', async () => {
      pass(2 * DAY_MS + 1)
      await settle((await claim()) as NonNullable<Awaited<ReturnType<typeof claim>>>, false)
      pass(HOUR_MS)
      expect(await claim()).toBeUndefined()
      expect((await store.incidents.list({ most: 10 }))[0]?.notices).toMatchObject([{ state: 'failed' }])
    })
  })

  it('keeps an incident that was told while the database was away', async () => {
    const times = { beganAt: clock.ms - HOUR_MS, clearedAt: clock.ms, endedAt: clock.ms }
    const state = {
      level: 'critical',
      text: 'away',
      criticalAt: undefined,
      told: 'critical',
      repeats: 0,
    } as const
    await store.incidents.insertEnded(
      { name: 'database', scope: 'one', ...state, ...times },
      [
        { channel: CHANNEL, kind: 'began', state: 'sent' },
        { channel: CHANNEL, kind: 'ended', state: 'waiting' },
      ],
      clock.ms,
    )
    expect(await store.incidents.list({ most: 10 })).toMatchObject([
      { name: 'database', endedAt: clock.ms, notices: [{ state: 'sent' }, { state: 'waiting' }] },
    ])
    expect(await sendAll()).toEqual(['ended database'])
  })

  it('is listed by pages, and deleted some time after its end', async () => {
    for (const name of ['disk', 'tls', 'sources']) {
      await begin(seen(name))
      await end()
      pass(MINUTE_MS)
    }
    const first = await store.incidents.list({ most: 2 })
    expect(first.map(({ name }) => name)).toEqual(['sources', 'tls'])
    const rest = await store.incidents.list({ most: 2, before: first[1]?.id })
    expect(rest.map(({ name }) => name)).toEqual(['disk'])
    pass(DAY_MS)
    await begin(seen('disk'))
    while ((await store.incidents.deleteExpired(HOUR_MS, clock.ms)) > 0);
    expect((await store.incidents.list({ most: 10 })).map(({ name, endedAt }) => [name, endedAt])).toEqual([
      ['disk', undefined],
    ])
  })

  it('three nodes that see it at the same time cause one notice', async () => {
    const nodes = ['one', 'two', 'three']
    const all = () =>
      Promise.all(
        nodes.map((node, index) =>
          look([seen('sources: dojah')], { node }, stores[index % stores.length] as Store),
        ),
      )
    const changes = []
    for (let round = 0; round < 12; round++) {
      await Promise.all(nodes.map(beat))
      changes.push(...(await all()).flat())
      pass(15_000)
    }
    expect(changes).toHaveLength(1)
    expect(await sendAll()).toEqual(['began sources: dojah'])
    expect(await sendAll()).toEqual([])
  })
})
