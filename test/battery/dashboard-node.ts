import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { relay } from '../../src/simulator/relay.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { findFreePort } from '../free-port.ts'
import { startServer, tabbat } from '../process/tabbat.ts'
import { createClient } from './client.ts'

type ScrapedNode = {
  readonly metricsPort: number
  /** Requests of all kinds. */
  readonly load: (ms: number) => Promise<void>
  readonly stop: () => Promise<void>
}

const TOKEN = 'let-me-scrape'
const ROUND_MS = 250

/** A node with TLS, a token, two simulated vendors, a key that expires and a backup. Writes the files of Prometheus. */
export async function startScrapedNode(databaseUrl: string, folder: string): Promise<ScrapedNode> {
  const certificate = createCertificate()
  writeFileSync(join(folder, 'tabbat-token'), TOKEN)
  writeFileSync(join(folder, 'tabbat-ca.crt'), certificate.cert)
  const vendors = await Promise.all([dojah, relay].map((script) => openStandIn(script)))
  const metricsPort = await findFreePort()
  const settings: Record<string, string> = {
    ...Object.assign({}, ...vendors.map((vendor) => vendor.settings)),
    ...writeCertificate(certificate, folder),
    TABBAT_DATA_DIR: join(folder, 'data'),
    TABBAT_DATABASE_URL: databaseUrl,
    TABBAT_METRICS_PORT: String(metricsPort),
    TABBAT_METRICS_TOKEN: TOKEN,
    TABBAT_NIN_SOURCES: 'dojah,relay',
    TABBAT_BVN_SOURCES: 'relay',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_DAILY_CAP: '1000000',
    TABBAT_LOG_LEVEL: 'silent',
    TABBAT_SCRUB: '1s',
  }
  const server = await startServer(settings)
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await tabbat(settings, ...args)
    if (code !== 0) throw new Error(`tabbat ${args.join(' ')}: ${stderr}`)
    return stdout.split('\n')[0] ?? ''
  }
  const key = await run('keys', 'create', '--name', 'load', '--mode', 'live', '--expires', '30d')
  await run('backup', join(folder, 'backup'))
  const client = createClient(8, certificate.cert)
  const send = (path: string, body: object, authorization = key) =>
    client.post(server.url + path, body, { authorization: `Bearer ${authorization}` })
  const sendRound = async (round: number) => {
    const nin = String(60_000_000_000 + round)
    const phone = `0${toPhoneCoreOf(nin)}`
    // Every fourth round the first vendor fails, and has no funds later.
    vendors[0]?.fail(round % 4 === 0 ? 'failing' : round % 4 === 1 ? 'no_funds' : undefined)
    await Promise.all([
      send('/api/v2/kyc/verify-nin', { nin, phone }),
      send('/api/v2/kyc/verify-bvn', { bvn: nin, phone, amount: '1' }),
      send('/api/v2/kyc/verify-nin', { nin, phone: '08149999999' }),
      send('/api/v2/kyc/verify-nin', { nin, phone }, SANDBOX_KEY),
      // The guess limit refuses most of these.
      send('/api/v2/kyc/verify-bvn', { bvn: '60000000000', phone: '08149999999', amount: '1' }),
      send('/api/v2/kyc/verify-nin', { nin: 'short' }),
      send('/api/v2/kyc/verify-nin', { nin, phone }, 'no-key'),
      client.get(`${server.url}/api/v2/sme-data/list`, { authorization: `Bearer ${SANDBOX_KEY}` }),
    ])
  }
  return {
    metricsPort,
    load: async (ms) => {
      const until = performance.now() + ms
      for (let round = 0; performance.now() < until; round++) {
        await sendRound(round)
        await new Promise((done) => setTimeout(done, ROUND_MS))
      }
    },
    stop: async () => {
      client.close()
      await server.stop()
      await Promise.all(vendors.map((vendor) => vendor.close()))
    },
  }
}
