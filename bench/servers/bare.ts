import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../checkout.ts'
import { cores } from '../cores.ts'
import { sendOnce } from '../load/request-spec.ts'
import { findFreePort, launch, type Server } from './server.ts'
import { LOOKUPS, VERIFICATIONS } from './tabbat.ts'

/** The bytes are taken from the running server, so that both send the same. */
export async function startBare(
  tabbat: Server,
  folder: string,
  { workers = 1, core = cores.server }: { workers?: number; core?: string | undefined } = {},
): Promise<Server> {
  const bodies: Record<string, string> = {}
  for (const spec of Object.values(LOOKUPS)) bodies[spec.path] = await readBody(tabbat, spec)
  bodies.POST = await readBody(tabbat, VERIFICATIONS['verify-nin'])
  const file = join(folder, 'bodies.json')
  writeFileSync(file, JSON.stringify(bodies))
  const port = await findFreePort()
  const command = [process.execPath, join(ROOT, 'bench/bare.ts'), String(port), file, String(workers)]
  return await launch({ name: 'bare node:http', port, command, readyPath: '/', cwd: folder, core })
}

export async function readBody(
  { name, port }: Server,
  spec: Parameters<typeof sendOnce>[1],
): Promise<string> {
  const response = await sendOnce(port, spec)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${name} answered ${response.status} to ${spec.path}: ${body}`)
  return body
}

/** The control of the latency: see durable-bare.ts. */
export async function startDurableBare(folder: string): Promise<Server> {
  const port = await findFreePort()
  const file = join(folder, 'durable-bare.bin')
  const command = [process.execPath, join(ROOT, 'bench/durable-bare.ts'), String(port), file]
  return await launch({ name: 'bare node:http with fdatasync', port, command, readyPath: '/', cwd: folder })
}
