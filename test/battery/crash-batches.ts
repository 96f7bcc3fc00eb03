import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore } from '../../src/context/store.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { type Settings, startServer, tabbat } from '../process/tabbat.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { BATCHES_URL, bodyOf, findBatchFaults, GOOD_ROWS, ninOf, type SentBatch } from './batch-faults.ts'

type Options = {
  readonly rounds: number
  readonly settings: Settings
  readonly store: DatabaseOptions
  readonly say: (line: string) => void
}

type BatchReport = {
  readonly kills: number
  readonly batches: number
  readonly rows: number
  readonly calls: number
  readonly faults: readonly string[]
}

const BATCHES_PER_ROUND = 2
const SINGLE_CALLERS = 2
/** More people than the default quota of a day. */
const QUOTA = ['--subjects-per-day', '1000000'] as const

/**
 * Kills the server while it receives batches, verifies their rows and answers single requests, and starts it again. In the end
 * every batch that was sent exists once, each row has one outcome, and no row has cost more than its budget.
 */
export async function crashBatches({ rounds, settings, store: options, say }: Options): Promise<BatchReport> {
  const calls = new Map<string, number>()
  const vendor = await openStandIn({
    ...dojah,
    answer: (request, fault) => {
      const nin = request.query.get('nin') ?? ''
      calls.set(nin, (calls.get(nin) ?? 0) + 1)
      return dojah.answer(request, fault)
    },
  })
  const receiver = await startReceiver()
  const own = {
    ...{ ...settings, ...vendor.settings, TABBAT_NIN_SOURCES: 'dojah', TABBAT_LOG_LEVEL: 'silent' },
    ...{ TABBAT_RATE_LIMIT: 'off', TABBAT_WEBHOOKS_PRIVATE: 'on' },
    ...{ TABBAT_BATCH_RATE: '60000', TABBAT_BATCH_CONCURRENCY: '8', TABBAT_BATCHES_PER_KEY: '1000' },
  }
  const made = await tabbat(own, 'keys', 'create', '--name', 'crash', '--mode', 'live', ...QUOTA, '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }
  const endpoint = ['--name', 'battery', '--url', receiver.url, '--event', 'batch.completed']
  await tabbat(own, 'webhooks', 'create', ...endpoint)
  const store = await openStore(options)
  const sent: SentBatch[] = []
  try {
    for (let round = 1; round <= rounds; round++) {
      const { child, url } = await startServer(own)
      for (let each = 0; each < BATCHES_PER_ROUND; each++) sent.push({ index: sent.length, id: undefined })
      const before = vendor.count()
      const wanted = before + randomInt(1, BATCHES_PER_ROUND * GOOD_ROWS)
      const ended = once(child, 'exit')
      const callers = [
        ...sent.filter(({ id }) => id === undefined).map((batch) => send(url, key, batch)),
        ...Array.from({ length: SINGLE_CALLERS }, (_, caller) =>
          askUntilDown(url, key, round * SINGLE_CALLERS + caller),
        ),
      ]
      // Every third server dies while the bodies arrive.
      if (round % 3 === 0) await pause(randomInt(20))
      else while (vendor.count() < wanted) await pause(5)
      child.kill('SIGKILL')
      await ended
      await Promise.all(callers)
      // What the killed process held is free at once, so that nothing waits a minute for it.
      await store.database.prepare('UPDATE queued_verifications SET due_at = 0 WHERE lease IS NOT NULL').run()
      await store.database.prepare(`UPDATE batches SET touched_at = 0 WHERE state = 'receiving'`).run()
      await store.database.prepare(`UPDATE webhook_deliveries SET due_at = 0 WHERE state = 'pending'`).run()
      say(`batches: kill ${round} of ${rounds}, ${vendor.count()} calls`)
    }
    const server = await startServer(own)
    for (const batch of sent) if (batch.id === undefined) await send(server.url, key, batch)
    const read = (path: string) => fetch(server.url + path, { headers: { authorization: `Bearer ${key}` } })
    const faults = await findBatchFaults({ sent, calls, received: receiver.received, store, read })
    if ((await server.stop()) !== 0) faults.push('the last server did not stop properly')
    return {
      kills: rounds,
      batches: sent.length,
      rows: sent.length * GOOD_ROWS,
      calls: vendor.count(),
      faults,
    }
  } finally {
    await store.close()
    await receiver.close()
    await vendor.close()
  }
}

/** Sends a batch, or sends it again if its answer did not arrive: the Idempotency-Key says that it is the same. */
async function send(url: string, key: string, batch: SentBatch): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' }
  const idempotency = { 'idempotency-key': `crash-${batch.index}` }
  const body = bodyOf(batch.index)
  try {
    const answer = await fetch(url + BATCHES_URL, {
      method: 'POST',
      headers: { ...headers, ...idempotency },
      body,
    })
    const { data } = (await answer.json()) as { data?: { id: string } }
    if (answer.status === 202) batch.id = data?.id
  } catch {
    // The server died; the batch is sent again to the next one.
  }
}

/** Single requests beside the batches. */
async function askUntilDown(url: string, key: string, caller: number): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (let index = 0; ; index++) {
    const body = JSON.stringify({ nin: ninOf(9000 + caller, index), phone: '08031234567' })
    try {
      await (await fetch(`${url}/api/v2/kyc/verify-nin`, { method: 'POST', headers, body })).arrayBuffer()
    } catch {
      return
    }
  }
}
