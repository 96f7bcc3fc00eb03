import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { type ConsoleServer, startConsoleServer, verifyNin } from './console-server.ts'

/** The rooms, and something that is in each once it has loaded. */
export const ROOMS = [
  { name: 'overview', title: 'Overview', ready: 'Updating live' },
  { name: 'try', title: 'Try it', ready: 'The same call from your code' },
  { name: 'keys', title: 'Keys', ready: 'loans app' },
  { name: 'audit', title: 'Audit', ready: 'Compare the log with its checkpoints' },
  { name: 'catalogue', title: 'Catalogue', ready: 'is in force' },
  { name: 'sources', title: 'Sources', ready: 'dojah' },
  { name: 'records', title: 'Records', ready: 'NIN records' },
  { name: 'settings', title: 'Settings', ready: 'TABBAT_PORT' },
  { name: 'accounts', title: 'Accounts', ready: 'Reset password' },
  { name: 'account', title: 'Account', ready: 'Change' },
] as const

/** What somebody might write into a form or a record to see what happens. */
export const HOSTILE = '<script>alert(1)</script>'
export const HOSTILE_LINK = 'javascript:alert(2)'

/** In the registry, with a name that is a program. */
export const SOMEBODY = { nin: '40000000001', phone: '08035550001' }

/** A server with something in every room; hostile texts among it, unless it is to be looked at. */
export async function openLivelyHouse({ isHostile = true } = {}): Promise<ConsoleServer> {
  const vendor = await openStandIn(dojah)
  const server = await startConsoleServer({
    TABBAT_NIN_SOURCES: 'registry,dojah',
    TABBAT_NOT_FOUND: 'next',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_DAILY_CAP: '1000',
    ...vendor.settings,
  })
  const people = join(server.dataDir, 'people.ndjson')
  writeFileSync(people, `${JSON.stringify(toRecord())}\n`)
  await server.run('import', 'nin', people)
  await server.run('keys', 'create', '--name', 'loans app', '--mode', 'live')
  const name = isHostile ? `${HOSTILE} ${HOSTILE_LINK}` : 'integration tests'
  await server.run('keys', 'create', '--name', name, '--mode', 'test')
  for (let count = 0; count < 24; count++)
    await verifyNin(
      server.api,
      SANDBOX_KEY,
      NUMBERS[count % NUMBERS.length] ?? String(50_000_000_000 + count),
    )
  const stop = async () => {
    await server.stop()
    await vendor.close()
  }
  return { ...server, stop }
}

const NUMBERS = ['00000000422', '00000000503', '', '', '', ''].map((number) => number || undefined)

const toRecord = () => ({
  nin_number: SOMEBODY.nin,
  personal_info: {
    first_name: HOSTILE,
    last_name: HOSTILE_LINK,
    phone_number: SOMEBODY.phone,
    date_of_birth: '1990-01-01',
    gender: 'f',
  },
})
