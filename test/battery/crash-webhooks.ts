import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { openStore } from '../../src/context/store.ts'
import { createEvent, type NewEvent } from '../../src/contract/event.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { type Settings, startServer, tabbat } from '../process/tabbat.ts'
import { answerWith, type Received, startReceiver } from '../webhooks/receiver.ts'

type Options = {
  readonly rounds: number
  readonly settings: Settings
  readonly store: DatabaseOptions
  readonly say: (line: string) => void
}

type WebhookReport = {
  readonly kills: number
  readonly events: number
  readonly requests: number
  readonly faults: readonly string[]
}

const EVENTS_PER_ROUND = 200

/** Kills a server with undelivered events, again and again. No event may be lost, signed wrongly or out of order. */
export async function crashWebhooks({
  rounds,
  settings,
  store: options,
  say,
}: Options): Promise<WebhookReport> {
  const receiver = await startReceiver()
  // Some answers take long, so that kills meet attempts under way.
  receiver.answer = (request, response) =>
    void setTimeout(() => answerWith(200)(request, response), randomInt(0, 60))
  const own = { ...settings, TABBAT_WEBHOOKS_PRIVATE: 'on', TABBAT_LOG_LEVEL: 'silent' }
  const args = ['--name', 'battery', '--url', receiver.url, '--event', 'verification.completed', '--json']
  const { secret, id } = JSON.parse((await tabbat(own, 'webhooks', 'create', ...args)).stdout)
  const store = await openStore(options)
  const appended: NewEvent[] = []
  for (let round = 1; round <= rounds; round++) {
    const server = await startServer(own)
    for (let each = 0; each < EVENTS_PER_ROUND / 2; each++) {
      const pair = [toEvent(appended.length, 'first'), toEvent(appended.length, 'second')]
      await store.events.append(pair)
      appended.push(...pair)
    }
    await receiver.wait(receiver.received.length + randomInt(1, EVENTS_PER_ROUND / 2))
    server.child.kill('SIGKILL')
    await new Promise((resolve) => server.child.once('close', resolve))
    say(`webhooks: kill ${round} of ${rounds}, ${receiver.received.length} requests`)
  }
  const server = await startServer(own)
  // The leases of the killed processes end.
  await store.database.prepare(`UPDATE webhook_deliveries SET due_at = 0 WHERE state = 'pending'`).run()
  while ((await store.deliveries.countPending(id, 1)) > 0) await pause(50)
  await server.stop()
  await store.close()
  await receiver.close()
  const faults = findFaults(appended, receiver.received, secret)
  return { kills: rounds, events: appended.length, requests: receiver.received.length, faults }
}

/** Two events of each reference, in order. */
function toEvent(index: number, status: string): NewEvent {
  const reference = `ver_battery_${index}`
  const at = Date.now()
  return createEvent({
    type: 'verification.completed',
    at,
    keyId: '',
    reference,
    data: { reference, status },
  })
}

function findFaults(appended: readonly NewEvent[], received: readonly Received[], secret: string): string[] {
  const webhook = new Webhook(secret)
  const firstAt = new Map<string, number>()
  const faults = received.flatMap(({ body, headers }, index) => {
    const id = String(headers['webhook-id'])
    if (!firstAt.has(id)) firstAt.set(id, index)
    try {
      webhook.verify(body, headers as Record<string, string>)
      return []
    } catch {
      return [`${id}: signed wrongly`]
    }
  })
  for (const { id } of appended) if (!firstAt.has(id)) faults.push(`${id}: lost`)
  const byReference = Map.groupBy(appended, ({ reference }) => reference)
  for (const [reference, events] of byReference) {
    const order = events.map(({ id }) => firstAt.get(id) ?? 0)
    if (order.some((at, index) => index > 0 && at < (order[index - 1] ?? 0)))
      faults.push(`${reference}: out of order`)
  }
  return faults
}
