import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/audit/audit-table.ts'
import type { Store } from '../../src/context/store.ts'
import { createEndpoint } from '../../src/webhooks/manage.ts'
import { describeEngines, type Place, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { answerWith, type Receiver, startReceiver } from './receiver.ts'
import { openDelivery, toDeps } from './setup.ts'

const toCheckpoint = (number: number): Checkpoint => ({
  time: new Date(Date.UTC(2026, 0, 1) + number).toISOString(),
  body: '{}',
  signature: `signature ${number}`,
})

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let place: Place
  let stores: [Store, Store]
  let receiver: Receiver
  beforeAll(async () => {
    place = await engine.createPlace()
    stores = [await place.open(), await place.open()]
    receiver = await startReceiver()
    const wanted = { name: 'elsewhere', url: receiver.url, events: ['audit.checkpoint'], keys: [] }
    await createEndpoint(toDeps(stores[0]), wanted)
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
    await receiver.close()
  })

  const readSignatures = () => receiver.received.map(({ body }) => JSON.parse(body).data.signature)

  it('sends the checkpoints of all nodes one after the other, in the order of their commits', async () => {
    for (let number = 0; number < 20; number++)
      await stores[number % 2 === 0 ? 0 : 1].audit.insertCheckpoint(toCheckpoint(number))
    let open = 0
    let mostOpen = 0
    receiver.answer = (request, response) => {
      open += 1
      mostOpen = Math.max(mostOpen, open)
      response.on('close', () => {
        open -= 1
      })
      answerWith(204)(request, response)
    }
    const nodes = stores.map((store) => openDelivery(store))
    while (receiver.received.length < 20) await Promise.all(nodes.map((node) => node.deliverDue()))
    expect(mostOpen).toBe(1)
    expect(readSignatures()).toEqual(Array.from({ length: 20 }, (_each, number) => `signature ${number}`))
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'audit.checkpoint',
      data: { reference: 'audit', status: 'signed', ...toCheckpoint(0) },
    })
    for (const node of nodes) await node.close()
  })

  it('keeps the order of checkpoints that nodes make at the same time', async () => {
    receiver.received.length = 0
    receiver.answer = answerWith(204)
    const numbers = Array.from({ length: 20 }, (_each, index) => 100 + index)
    await Promise.all(
      numbers.map((number) => stores[number % 2 === 0 ? 0 : 1].audit.insertCheckpoint(toCheckpoint(number))),
    )
    const rows = await stores[0].database
      .prepare(`SELECT position FROM webhook_deliveries WHERE state = 'pending' ORDER BY position`)
      .all()
    expect(rows.map(({ position }) => Number(position))).toEqual(numbers.map((number) => number - 79))
    const node = openDelivery(stores[0])
    await receiver.wait(20)
    await node.close()
    expect(readSignatures().toSorted()).toEqual(numbers.map((number) => `signature ${number}`))
  })

  it('sends the last one at the end, also while the one before is under way', async () => {
    receiver.received.length = 0
    const { promise: held, resolve: hold } = Promise.withResolvers<() => void>()
    receiver.answer = (request, response) => {
      receiver.answer = answerWith(204)
      hold(() => answerWith(204)(request, response))
    }
    const node = openDelivery(stores[0])
    await stores[0].audit.insertCheckpoint(toCheckpoint(200))
    node.wake()
    const answer = await held
    await stores[0].audit.insertCheckpoint(toCheckpoint(201))
    const closed = node.close()
    answer()
    await closed
    expect(readSignatures()).toEqual(['signature 200', 'signature 201'])
  })
})
