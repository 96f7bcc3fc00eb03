import { join } from 'node:path'
import { type Figure, runRounds, toPair, type Variant } from '../rounds.ts'
import { readBody, startBare } from '../servers/bare.ts'
import { hasSameAnswer, startMockoon, startPrism } from '../servers/peers.ts'
import type { Server } from '../servers/server.ts'
import { LOOKUPS, startTabbat } from '../servers/tabbat.ts'
import type { Bench } from './part.ts'

/** The three look-ups against the limit, and the first of them against what else answers an OpenAPI file. */
export async function measureLookups(bench: Bench): Promise<Figure[]> {
  const { folder, earlier } = bench
  const tabbat = await startTabbat({ dataDir: join(folder, 'lookup') })
  const before =
    earlier && (await startTabbat({ checkout: earlier, dataDir: join(folder, 'lookup-earlier') }))
  const bare = await startBare(tabbat, bench.folder)
  const peers = bench.hasPeers ? await startPeers(bench, tabbat) : []
  const bundles = LOOKUPS['list-internet-bundles']
  const variants: Variant[] = [
    ...Object.entries(LOOKUPS).flatMap(([name, spec]) => {
      const limit = `${bare.name}, ${name}`
      return [{ name: limit, server: bare, spec }, ...toPair({ name, server: tabbat, spec, limit }, before)]
    }),
    ...peers.map((server) => ({ name: `${server.name}, list-internet-bundles`, server, spec: bundles })),
  ]
  try {
    return await runRounds(variants, bench.options, bench.progress)
  } finally {
    await Promise.all([tabbat, bare, ...peers, ...(before ? [before] : [])].map((server) => server.stop()))
  }
}

async function startPeers({ folder, note }: Bench, tabbat: Server): Promise<Server[]> {
  const body = await readBody(tabbat, LOOKUPS['list-internet-bundles'])
  const peers: Server[] = []
  for (const start of [startPrism, startMockoon]) {
    try {
      const peer = await start(folder)
      const isSame = await hasSameAnswer(peer, body)
      if (isSame) peers.push(peer)
      else await peer.stop()
      if (!isSame) note(`${peer.name} is left out: it does not answer what Tabbat answers.`)
    } catch (error) {
      note(`A peer is left out: ${(error as Error).message}`)
    }
  }
  return peers
}
