import type { AuditLog } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { SourceChain } from '../sources/source-chain.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { openWebhooks, type Webhooks } from '../webhooks/webhooks.ts'
import type { Config } from './config.ts'

type Deps = {
  readonly store: Store
  readonly keyring: Keyring
  readonly log: Log
  readonly audit: AuditLog
  readonly sourceChain: SourceChain
}

export const openContextWebhooks = (config: Config, deps: Deps): Webhooks =>
  openWebhooks({
    store: deps.store,
    log: deps.log,
    audit: deps.audit,
    key: deps.keyring['webhook-secret'],
    node: loadNodeName(config.dataDir),
    prices: deps.sourceChain.prices,
    hasVendors: deps.sourceChain.guards.length > 0,
    allowPrivate: config.webhooksPrivate === 'on',
    keepMs: config.webhooksLog,
    spendAlert: config.spendAlert,
  })
