import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments } from '../build/tool-arguments.ts'
import { loadConfig } from '../src/context/config.ts'
import { createKey } from '../src/keys/manage.ts'
import { createApiServer } from '../src/server/api-server.ts'
import { createContext } from '../src/server/create-context.ts'
import { findFreePort } from './servers/server.ts'

const HELP = `npm run bench:road -- [options]

Counts the files and functions of src/ that one warm verification through a vendor passes on the main thread, by the coverage of
V8: the median of several, because a timer may fall into one. The vendor is a simulated one in a process of its own.

  --list  the files, too`

const { list } = readArguments(HELP, { list: { type: 'boolean', default: false } }).values
const WARM = 50
const MEASURED = 9
const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-road-'))
const vendorPort = String(await findFreePort())
const vendor = spawn('bin/tabbat', ['simulate', 'dojah', '--port', vendorPort], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.on('exit', () => {
  vendor.kill()
  rmSync(dataDir, { recursive: true, force: true })
})
await once(vendor.stdout, 'data')

const context = await createContext(
  loadConfig(
    {
      TABBAT_DATA_DIR: dataDir,
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_DOJAH_URL: `http://127.0.0.1:${vendorPort}`,
      TABBAT_DOJAH_APP_ID: 'simulated-app',
      TABBAT_DOJAH_SECRET: 'simulated-secret',
    },
    '',
  ),
)
const app = createApiServer(context)
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const { text: key } = await createKey(
  { ...context, keyring: context.keyring() },
  {
    name: 'road',
    mode: 'live',
    scopes: ['kyc:nin', 'kyc:bvn', 'catalogue:read'],
    expiresAt: undefined,
    allowedIps: undefined,
  },
)

async function verify(number: number): Promise<void> {
  const nin = String(30_000_000_000 + number)
  const response = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin, phone: `0803${nin.slice(-7)}` }),
  })
  if (response.status !== 200) throw new Error(`the verification got ${response.status}`)
  await response.text()
}

for (let index = 0; index < WARM; index++) await verify(index)
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const measured = []
for (let index = 0; index < MEASURED; index++) {
  await session.post('Profiler.takePreciseCoverage')
  await verify(WARM + index)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  measured.push(
    result
      .filter(({ url: path }) => path.includes('/src/') && !path.includes('/node_modules/'))
      .map(({ url: path, functions }) => ({
        file: path.slice(path.lastIndexOf('/src/') + 1),
        called: functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length,
      }))
      .filter(({ called }) => called > 0),
  )
}
await session.post('Profiler.stopPreciseCoverage')
const files = measured.toSorted((one, other) => one.length - other.length)[MEASURED >> 1] ?? []
const functions = files.reduce((sum, { called }) => sum + called, 0)
if (list) for (const { file, called } of files) console.info(called, file)
console.info(`One verification through a vendor: ${files.length} files, ${functions} functions`)
await app.close()
await context.close()
process.exit()
