import { openStore } from '../../src/context/store.ts'

/** A node in a process of its own: it does what it is told, by the clock that it is told. */
type Order =
  | { readonly do: 'report'; readonly node: string; readonly now: number }
  | { readonly do: 'claim'; readonly now: number; readonly leaseMs: number }

const [databaseUrl = '', dataDir = ''] = process.argv.slice(2)
const store = await openStore({ databaseUrl, dataDir })

const FINDING = {
  ...{ name: 'sources: dojah', checkName: 'sources', scope: '', level: 'critical' as const },
  text: 'dojah does not answer.',
}

async function obey(order: Order): Promise<unknown> {
  if (order.do === 'claim')
    return store.incidents.claim({ channel: 'slack', leaseMs: order.leaseMs }, order.now)
  const { node, now } = order
  const beat = { owner: node, node, worker: 1, version: '1', inFlight: 0, requestsPerS: 0, lagMs: 0 }
  await store.nodes.sendHeartbeat({ ...beat, uptimeMs: 0 }, now)
  const report = { node, checks: ['sources'], findings: [FINDING], channels: ['slack' as const] }
  return store.incidents.report({ ...report, quiet: undefined }, now)
}

process.on('message', async (order: Order) => process.send?.((await obey(order)) ?? null))
process.send?.('ready')
