import { listUnacceptedLosses, toLossRanges } from '../../audit/open-losses.ts'
import type { Config } from '../../context/config.ts'
import { readServerFacts } from '../../database/server-facts.ts'
import type { Store } from '../../store/store.ts'
import { type Finding, failed, ok } from './finding.ts'

type Opened = { readonly config: Config; readonly store: Store }

/** Whether audit rows are missing that callers were answered on. Then the servers refuse verifications. */
export async function checkLosses({ config, store }: Opened): Promise<Finding> {
  const check = 'audit rows'
  const { dataDir, checkpointDir = dataDir } = config
  const facts = await readServerFacts(store.database)
  // A standby may not have received the last rows yet.
  const losses = facts?.isStandby
    ? await store.losses.list('open')
    : await listUnacceptedLosses(store, { dataDir, checkpointDir })
  if (losses.length === 0) return ok(check, 'Every row that this node has acknowledged or signed is there.')
  return failed(
    check,
    `The database has lost rows that were acknowledged (${toLossRanges(losses)}), and the servers refuse verifications. If the old primary can be recovered, nothing is lost. If this is the right database, run: tabbat audit accept-loss`,
  )
}
