import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { createEndpoint } from '../../src/webhooks/manage.ts'
import { openWebhooks, type Webhooks } from '../../src/webhooks/webhooks.ts'
import { describeEngines, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { answerWith, type Received, type Receiver, startReceiver } from './receiver.ts'
import { KEY, toDeps } from './setup.ts'

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let store: Store
  let receiver: Receiver
  let webhooks: Webhooks
  let secret: string
  const logged: string[] = []
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
    receiver = await startReceiver()
    const request = { name: 'alarm', url: receiver.url, events: ['audit.unavailable'], keys: [] }
    secret = (await createEndpoint(toDeps(store), request)).secret
    logged.length = 0
    let reads = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    /** Resolves when the endpoints have been read. */
    const list = async () => {
      const rows = await store.webhooks.list()
      if (reads++ > 0) resolve()
      return rows
    }
    webhooks = openWebhooks({
      store: { ...store, webhooks: { ...store.webhooks, list } },
      keyring: { 'webhook-secret': KEY },
      config: { webhooksPrivate: 'on', webhooksLog: 1, spendAlert: 'off' },
      node: 'node-1',
      sourceChain: { prices: {}, guards: [] },
      log: { event: (_level, event) => void logged.push(event), failure: () => {} },
      audit: { record: async () => {} },
    })
    await promise
  })
  afterEach(async () => {
    await webhooks.close()
    await receiver.close()
  })

  it('audit.unavailable is delivered while the store is closed, signed, once, and is in the log', async () => {
    await store.close()
    receiver.answer = answerWith(503)
    webhooks.reportAuditFailure()
    webhooks.reportAuditFailure()
    await receiver.wait(1)
    receiver.answer = answerWith(204)
    // The second attempt is five seconds later.
    await receiver.wait(2)
    const [first, second] = receiver.received as [Received, Received]
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    for (const { body, headers } of [first, second])
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        ...{ type: 'audit.unavailable', data: { status: 'unavailable', node: 'node-1' } },
      })
    expect(logged).toEqual(['audit.unavailable'])
  })
})
