import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { openStore } from '../../src/context/store.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { newDataDir, startServer, tabbat } from '../process/tabbat.ts'

type Options = {
  readonly rounds: number
  readonly say: (line: string) => void
  /** Ends the leases of killed servers at once, for a test that must not wait a minute. */
  readonly endLeases?: boolean
}

/** Longer than the lease of a question that was being worked on. */
const MAX_WAIT_MS = 100_000
const CLIENTS = 8
const PAID_CALLS = 2

/**
 * Kills the server with kill -9 while callers send questions and the worker answers them, and starts it again. In the end every
 * reference that was accepted has exactly one outcome, and no question has cost more than its budget.
 */
export async function crashPending({ rounds, say, endLeases = false }: Options) {
  const vendor = await openStandIn(dojah)
  const dataDir = newDataDir()
  const settings = {
    ...{ TABBAT_DATA_DIR: dataDir, TABBAT_NIN_SOURCES: 'dojah', TABBAT_RATE_LIMIT: 'off' },
    ...{ TABBAT_LOG_LEVEL: 'silent', ...vendor.settings },
  }
  // More people than the default quota of a day.
  const quota = ['--subjects-per-day', '1000000']
  const made = await tabbat(
    settings,
    'keys',
    'create',
    '--name',
    'crash',
    '--mode',
    'live',
    ...quota,
    '--json',
  )
  const key = (JSON.parse(made.stdout) as { key: string }).key
  const accepted: string[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      const server = await startServer(settings)
      const clients = Array.from({ length: CLIENTS }, (_, client) =>
        sendUntilDown(server.url, key, accepted, round * CLIENTS + client),
      )
      await pause(300 + Math.random() * 700)
      server.child.kill('SIGKILL')
      await once(server.child, 'exit')
      await Promise.all(clients)
      say(`round ${round + 1}: ${accepted.length} accepted so far`)
    }
    if (endLeases) await endAllLeases(dataDir)
    const server = await startServer(settings)
    await untilAllEnded(server.url, key, accepted)
    await server.stop()
    return { accepted: accepted.length, calls: vendor.count(), faults: await listFaults(dataDir, accepted) }
  } finally {
    await vendor.close()
  }
}

/** Sends questions one after another. A question counts as accepted when its 202 has arrived. */
async function sendUntilDown(url: string, key: string, accepted: string[], client: number): Promise<void> {
  for (let index = 0; ; index++) {
    const nin = `5${String(client).padStart(4, '0')}${String(index).padStart(6, '0')}`
    const body = JSON.stringify({ nin, phone: `0${toPhoneCoreOf(nin)}` })
    try {
      const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { ...toHeaders(key), prefer: 'respond-async', 'idempotency-key': nin },
        body,
      })
      const { data } = (await answer.json()) as { data?: { request_reference: string } }
      if (answer.status === 202 && data) accepted.push(data.request_reference)
    } catch {
      return
    }
  }
}

async function endAllLeases(dataDir: string): Promise<void> {
  const store = await openStore({ dataDir, databaseUrl: undefined })
  await store.database.prepare('UPDATE queued_verifications SET due_at = 0 WHERE lease IS NOT NULL').run()
  await store.close()
}

const toHeaders = (key = SANDBOX_KEY) => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
})

async function untilAllEnded(url: string, key: string, accepted: readonly string[]): Promise<void> {
  const until = performance.now() + MAX_WAIT_MS
  for (const reference of accepted) {
    const read = async () => {
      const answer = await fetch(`${url}/api/v2/kyc/verifications/${reference}`, { headers: toHeaders(key) })
      await answer.arrayBuffer()
      return answer.status
    }
    while ((await read()) === 202 && performance.now() < until) await pause(100)
  }
}

async function listFaults(dataDir: string, accepted: readonly string[]): Promise<string[]> {
  const store = await openStore({ dataDir, databaseUrl: undefined })
  try {
    const faults: string[] = []
    for (const reference of accepted) {
      const rows = await store.audit.byReference(reference)
      const outcomes = rows.filter(({ phase }) => phase === 'outcome').map(({ outcome }) => outcome)
      if (outcomes.length !== 1) faults.push(`${reference} has the outcomes [${outcomes.join()}]`)
      if (!rows.some(({ phase }) => phase === 'queued')) faults.push(`${reference} has no row "queued"`)
    }
    const row = await store.database
      .prepare('SELECT MAX(paid_calls) AS most, COUNT(due_at) AS pending FROM queued_verifications')
      .get()
    if (Number(row?.most) > PAID_CALLS) faults.push(`a question made ${row?.most} paid calls`)
    if (Number(row?.pending) > 0) faults.push(`${row?.pending} questions are still pending`)
    return faults
  } finally {
    await store.close()
  }
}
