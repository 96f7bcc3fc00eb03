import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DAY_MS } from '../../src/contract/time.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { toFileHash } from '../../src/sources/proof-table.ts'
import { useShippedFile } from '../sources/shipped-file.ts'
import { type ConsoleServer, startConsoleServer, verifyNin } from './console-server.ts'

/** The pages, each with a text that appears once it has loaded. */
export const PAGES = [
  { name: 'overview', title: 'Overview', ready: 'Updating live' },
  { name: 'try', title: 'Try it', ready: 'Code examples' },
  { name: 'batches', title: 'Batches', ready: 'completed' },
  { name: 'keys', title: 'Keys', ready: 'loans app' },
  { name: 'webhooks', title: 'Webhooks', ready: 'hooks.example.com' },
  { name: 'requests', title: 'Requests', ready: 'Errors by key' },
  { name: 'audit', title: 'Audit', ready: 'Verify the log against its checkpoints' },
  { name: 'catalogue', title: 'Catalogue', ready: 'is active' },
  { name: 'sources', title: 'Sources', ready: 'Updating live' },
  { name: 'records', title: 'Records', ready: 'NIN records' },
  { name: 'incidents', title: 'Incidents', ready: 'hooks.slack.com' },
  { name: 'storage', title: 'Storage', ready: 'TABBAT_AUDIT_KEEP' },
  { name: 'people', title: 'People', ready: 'Make the report' },
  { name: 'settings', title: 'Settings', ready: 'TABBAT_PORT' },
  { name: 'accounts', title: 'Accounts', ready: 'Reset password' },
  { name: 'tokens', title: 'Tokens', ready: 'grafana' },
  { name: 'account', title: 'Account', ready: 'Change' },
] as const

/** Texts that would run as a script if the page did not escape them. */
export const HOSTILE = '<script>alert(1)</script>'
export const HOSTILE_LINK = 'javascript:alert(2)'

/** A record in the registry whose name is HOSTILE. */
export const PERSON = { nin: '40000000001', phone: '08035550001' }

/** A server with data on every page, by default with hostile texts. */
export async function startFilledServer({ isHostile = true } = {}): Promise<ConsoleServer> {
  const vendor = await openStandIn(dojah)
  const server = await startConsoleServer({
    TABBAT_NIN_SOURCES: 'registry,dojah',
    TABBAT_NOT_FOUND: 'next',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_DAILY_CAP: '1000',
    TABBAT_NOTICES_SLACK: 'https://hooks.slack.com/services/T00/B00/synthetic',
    TABBAT_NOTICES_QUIET: '22:00-06:00',
    ...vendor.settings,
  })
  const file = join(server.dataDir, 'people.ndjson')
  writeFileSync(file, `${JSON.stringify(toRecord())}\n`)
  await server.run('import', 'nin', file)
  await server.run('keys', 'create', '--name', 'loans app', '--mode', 'live')
  const url = 'https://hooks.example.com/tabbat'
  await server.run('webhooks', 'create', '--name', 'alarm', '--url', url, '--event', 'source.down,source.up')
  await server.run('tokens', 'create', '--name', 'grafana', '--role', 'viewer')
  const name = isHostile ? `${HOSTILE} ${HOSTILE_LINK}` : 'integration tests'
  await server.run('keys', 'create', '--name', name, '--mode', 'test')
  for (let count = 0; count < 24; count++)
    await verifyNin(
      server.api,
      SANDBOX_KEY,
      NUMBERS[count % NUMBERS.length] ?? String(50_000_000_000 + count),
    )
  await sendBatch(server.api)
  addProof(server, { operation: 'nin', by: isHostile ? HOSTILE : 'ada' })
  addProof(server, { operation: 'bvn', by: 'ada', hash: 'of an earlier file' })
  addIncidents(server, isHostile ? HOSTILE : 'The disk of /data is full.')
  const stop = async () => {
    await server.stop()
    await vendor.close()
  }
  return { ...server, stop }
}

/** One that has ended, and one that lasts and could not be told. */
function addIncidents({ dataDir }: ConsoleServer, text: string): void {
  const database = new DatabaseSync(join(dataDir, 'tabbat.db'), { timeout: 5000 })
  const began = Date.parse('2026-11-17T08:00:00Z')
  const add = database.prepare(
    `INSERT INTO incidents (id, name, scope, level, text, began_at, told, ended_at, repeats)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  )
  add.run('inc_1', 'disk: /data', 'node-1', 'critical', text, began, 'critical', began + 600_000)
  add.run('inc_2', 'webhooks: whk_1', '', 'warning', 'An endpoint fails.', began, 'warning', began + 900_000)
  const tell = database.prepare(
    `INSERT INTO notices (incident_id, channel, kind, level, created_at, due_at, state, finished_at)
     VALUES (?, 'slack', ?, 'critical', ?, ?, ?, ?)`,
  )
  tell.run('inc_1', 'began', began, began, 'sent', began + 90_000)
  tell.run('inc_1', 'ended', began, began, 'failed', began + 700_000)
  database
    .prepare(
      `INSERT INTO notice_channels (channel, claimed_until, retry_at, tries, failing_since, problem)
       VALUES ('slack', 0, ?, 3, ?, 'gone') ON CONFLICT (channel) DO UPDATE
         SET retry_at = excluded.retry_at, failing_since = excluded.failing_since, problem = excluded.problem`,
    )
    .run(Date.now() + DAY_MS, began)
  database.close()
}

type AddedProof = { readonly operation: string; readonly by: string; readonly hash?: string }

/** A proof of dojah's file. A certification with a simulated vendor keeps none. */
function addProof({ dataDir }: ConsoleServer, { operation, by, hash }: AddedProof): void {
  const fileHash = hash ?? toFileHash(useShippedFile('dojah').file)
  const database = new DatabaseSync(join(dataDir, 'tabbat.db'), { timeout: 5000 })
  database
    .prepare(
      `INSERT INTO vendor_proofs (vendor, operation, file_hash, rules, fields, host, version, proved_by, proved_at)
       VALUES ('dojah', ?, ?, '["record"]', '["nin_number"]', 'api.dojah.io', '0.4.0', ?, ?)`,
    )
    .run(operation, fileHash, by, Date.parse('2026-11-17T08:00:00Z'))
  database.close()
}

async function sendBatch(api: string): Promise<void> {
  const answer = await fetch(`${api}/api/v2/kyc/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'text/csv' },
    body: 'operation,nin,phone\nverify_nin,12345678901,08031234567\nverify_nin,00000000422,08031234567\n',
  })
  if (answer.status !== 202) throw new Error(`the batch was answered ${answer.status}`)
}

const NUMBERS = ['00000000422', '00000000503', '', '', '', ''].map((number) => number || undefined)

const toRecord = () => ({
  nin_number: PERSON.nin,
  personal_info: {
    first_name: HOSTILE,
    last_name: HOSTILE_LINK,
    phone_number: PERSON.phone,
    date_of_birth: '1990-01-01',
    gender: 'f',
  },
})
