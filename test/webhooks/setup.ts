import { createSecretKey, randomBytes } from 'node:crypto'
import type { Store } from '../../src/context/store.ts'
import { createEvent, type NewEvent } from '../../src/contract/event.ts'
import { startDelivery } from '../../src/webhooks/delivery.ts'
import type { ClaimedDelivery } from '../../src/webhooks/delivery-table.ts'
import { createEndpoint, type EndpointDeps } from '../../src/webhooks/manage.ts'
import type { DisabledReason } from '../../src/webhooks/webhook-table.ts'
import { openWebhookPost } from '../../src/webhooks/webhooks.ts'

export const KEY = createSecretKey(randomBytes(32))

/** PostgreSQL asks its own clock; for virtual time it returns that of the process. */
export async function useProcessClock({ database }: Store): Promise<void> {
  if (database.dialect === 'sqlite') return
  await database
    .prepare(
      'CREATE OR REPLACE FUNCTION shared_clock(process_ms BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$ SELECT process_ms $$',
    )
    .run()
}

export const toDeps = (store: Store, allowPrivate = true): EndpointDeps => ({
  store,
  keyring: { 'webhook-secret': KEY },
  audit: { record: async () => {} },
  allowPrivate,
})

/** `wallMs` is the clock of the machine, if it was set back. */
type Clock = { ms: number; readonly wallMs?: number }

/** The delivery of one node, with a clock that the test sets. */
export function openDelivery(store: Store, clock?: Clock, allowPrivate = true, random = 0.5) {
  const { post, close } = openWebhookPost(allowPrivate)
  const disabled: [string, DisabledReason][] = []
  const givenUp: ClaimedDelivery[] = []
  const errors: unknown[] = []
  const delivery = startDelivery({
    ...{ table: store.deliveries, post, key: KEY, onAttempt: () => {} },
    onDisabled: (id, reason) => void disabled.push([id, reason]),
    onGivenUp: (each) => void givenUp.push(each),
    onError: (error) => void errors.push(error),
    ...(clock ? { now: () => clock.ms, wallNow: () => clock.wallMs ?? clock.ms } : {}),
    random: () => random,
  })
  return {
    ...delivery,
    disabled,
    givenUp,
    errors,
    post,
    close: async () => {
      await delivery.close()
      await close()
    },
  }
}

export const addEndpoint = (store: Store, url: string, allowPrivate = true) =>
  createEndpoint(toDeps(store, allowPrivate), {
    ...{ name: 'shop', url, events: ['verification.completed', 'verification.expired'], keys: [] },
  })

let counter = 0

/** Appends an event and returns it. */
export async function append(store: Store, values: Partial<Omit<NewEvent, 'id'>> = {}): Promise<NewEvent> {
  counter += 1
  const reference = values.reference ?? `ver_${counter}`
  const event = createEvent({
    ...{ type: 'verification.completed', at: Date.now(), keyId: '', reference },
    data: { reference, status: 'VERIFIED', operation: 'verify_nin', mode: 'live' },
    ...values,
  })
  await store.events.append([event])
  return event
}
