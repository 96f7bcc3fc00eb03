import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { type Checkout, CURRENT } from '../checkout.ts'
import type { RequestSpec } from '../load/request-spec.ts'
import { findFreePort, launch, type Server } from './server.ts'

export const toMain = ({ root }: Checkout) => join(root, 'src/main.ts')

type Settings = {
  readonly dataDir: string
  readonly checkout?: Checkout
  /** Another main file than that of the checkout, such as the bundle's. */
  readonly main?: string | undefined
  readonly core?: string | undefined
  readonly env?: Readonly<Record<string, string>>
  /** For Node.js itself, such as --cpu-prof. */
  readonly flags?: readonly string[]
}

/** Tabbat as it is run: authentication, a rate limit that is on and never reached, log, audit. */
export async function startTabbat({
  dataDir,
  checkout = CURRENT,
  main = toMain(checkout),
  flags = [],
  ...rest
}: Settings): Promise<Server> {
  mkdirSync(dataDir, { recursive: true })
  const port = await findFreePort()
  return await launch({
    name: checkout.name,
    port,
    command: [process.execPath, ...flags, main, 'serve'],
    readyPath: '/health/ready',
    // A folder without a file .env, whose settings would count.
    cwd: dataDir,
    ...('core' in rest ? { core: rest.core } : {}),
    env: {
      TABBAT_DATA_DIR: dataDir,
      TABBAT_PORT: String(port),
      TABBAT_ADMIN_PORT: 'off',
      TABBAT_RATE_LIMIT: '10000000',
      TABBAT_SHUTDOWN_DELAY: 'off',
      ...rest.env,
    },
  })
}

const look = (path: string) => ({ method: 'GET', path, key: SANDBOX_KEY }) as const
const verify = (field: 'nin' | 'bvn') =>
  ({ method: 'POST', path: `/api/v2/kyc/verify-${field}`, key: SANDBOX_KEY, field, count: 0 }) as const

/** The five operations in test mode, by the name that they have everywhere. */
export const LOOKUPS = {
  'list-internet-bundles': look('/api/v2/internet/data/smile/lookup'),
  'list-sme-bundles': look('/api/v2/sme-data/list'),
  'list-tv-add-ons': look('/api/v2/cable-tv/fetch-tv-add-ons?type=DSTV&productCode=COMPE36'),
} satisfies Record<string, RequestSpec>
export const VERIFICATIONS = { 'verify-nin': verify('nin'), 'verify-bvn': verify('bvn') } satisfies Record<
  string,
  RequestSpec
>

/** A few connections keep a look-up busy; verifications share commits, so more connections help. */
export const CONNECTIONS = { GET: 32, POST: 64 } as const
