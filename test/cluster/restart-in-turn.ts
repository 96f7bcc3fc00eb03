import type { ClusterNode } from './node.ts'
import { waitUntil } from './programs.ts'
import type { HaProxy } from './proxy.ts'

/** Stops each node with SIGTERM and starts it again. The next one follows when the proxy sees all of them. Returns exit codes. */
export async function restartInTurn(
  nodes: readonly ClusterNode[],
  proxy: HaProxy,
): Promise<(number | null)[]> {
  const codes: (number | null)[] = []
  for (const node of nodes) {
    codes.push(await node.stop())
    await node.start()
    await waitUntil('all nodes are up', async () => (await proxy.countUp()) === nodes.length)
  }
  return codes
}
