import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../checkout.ts'
import { askOnce } from '../load/ask.ts'
import { findFreePort, launch, type Server } from './server.ts'
import { LOOKUPS, VERIFICATIONS } from './tabbat.ts'

/** The bytes are taken from the running server, so that both send the same. */
export async function startBare(tabbat: Server, folder: string): Promise<Server> {
  const bodies: Record<string, string> = {}
  for (const ask of Object.values(LOOKUPS)) bodies[ask.path] = await readBody(tabbat, ask)
  bodies.POST = await readBody(tabbat, VERIFICATIONS['verify-nin'])
  const file = join(folder, 'bodies.json')
  writeFileSync(file, JSON.stringify(bodies))
  const port = await findFreePort()
  const command = [process.execPath, join(ROOT, 'bench/bare.ts'), String(port), file]
  return await launch({ name: 'bare node:http', port, command, readyPath: '/', cwd: folder })
}

export async function readBody({ name, port }: Server, ask: Parameters<typeof askOnce>[1]): Promise<string> {
  const response = await askOnce(port, ask)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${name} answered ${response.status} to ${ask.path}: ${body}`)
  return body
}
