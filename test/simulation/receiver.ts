import { createHmac } from 'node:crypto'
import { type NetworkReply, network } from './network.ts'
import { world } from './world.ts'

/** A request of a webhook as its receiver saw it. */
export type Delivery = {
  readonly at: number
  readonly id: string
  readonly type: string
  readonly reference: string
  readonly isSigned: boolean
  readonly isAccepted: boolean
  readonly body: string
}

export const RECEIVER = 'https://receiver.test'

/** The receiver of webhooks: it checks signatures by itself, and sometimes fails. */
export function openReceiver(secret: string) {
  const deliveries: Delivery[] = []
  const { random } = world()
  let isCalm = false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  network.listen(RECEIVER, ({ headers, body }): NetworkReply => {
    const {
      'webhook-id': id = '',
      'webhook-timestamp': timestamp = '',
      'webhook-signature': signatures = '',
    } = headers
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    const isSigned = signatures.split(' ').includes(`v1,${expected}`)
    const { type, data } = JSON.parse(body) as { type: string; data: { reference?: string } }
    const fails = !isCalm && random.chance(0.25)
    const isLost = fails && random.chance(0.3)
    const isAccepted = !fails || isLost
    deliveries.push({
      at: world().elapsedMs,
      id,
      type,
      reference: data.reference ?? '',
      isSigned,
      isAccepted,
      body,
    })
    world().note(`webhook ${type} ${fails ? 'fails' : 'accepted'}`)
    // The receiver has it, and the sender does not know.
    if (isLost) return { kind: 'reset', afterMs: random.between(1, 100) }
    if (fails && random.chance(0.2)) return { kind: 'silence' }
    const status = fails ? random.pick([500, 503, 404]) : 204
    return { kind: 'answer', afterMs: random.between(1, 200), status, body: '' }
  })
  return {
    deliveries,
    calm: () => {
      isCalm = true
    },
  }
}
