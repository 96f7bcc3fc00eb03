import { isChainOf, readNodeName } from '../../audit/chain-claim.ts'
import { readLastCheckpoint } from '../../audit/checkpoint-folder.ts'
import { openCheckpoint, type SignedHead, toPublicKey } from '../../audit/open-checkpoint.ts'
import { createSigner } from '../../audit/signing.ts'
import type { Config } from '../../context/config.ts'
import { CHECKPOINT_EVENT } from '../../contract/event.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Store } from '../../store/store.ts'
import { type Finding, failed, ok, toWorst, warning } from './finding.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly now: number
}

const CLOCK_FAILURE_MS = 30_000
/** Running servers make a checkpoint every minute if there are new rows. */
const LATE_MS = 5 * 60_000

/** `running`: the processes that write to the audit log. */
export async function checkCheckpoints(
  { config, store, keyring, now }: Opened,
  running: readonly string[],
): Promise<Finding> {
  const check = 'checkpoints'
  const folder = config.checkpointDir ?? config.dataDir
  const [stored, copied] = [await store.audit.lastCheckpoint(), await readLastCheckpoint(folder)]
  if (!stored)
    return ok(check, 'There is none yet. The first is made a minute after the start of the server.')
  if (!copied && !(await hasRows(store, config.dataDir)))
    return ok(
      check,
      'This node has recorded nothing yet. It makes its first copy a minute after its first row.',
    )
  if (!copied)
    return failed(
      check,
      `There is no copy of the checkpoints in ${folder}. Without it, a shortened audit log is not noticed.`,
    )
  const publicKey = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The root key')
  const findings = [stored, copied].flatMap((each) => {
    const opened = openCheckpoint(each, publicKey)
    return 'wrong' in opened ? [failed('', `The checkpoint of ${each.time} ${opened.wrong}.`)] : []
  })
  if (copied.time > stored.time)
    findings.push(
      failed('', `The database is older than its last checkpoint in ${folder}. Run: tabbat audit verify`),
    )
  if (Date.parse(stored.time) > now + CLOCK_FAILURE_MS)
    findings.push(failed('', 'The last checkpoint is in the future. Check the clock.'))
  const last = openCheckpoint(stored, publicKey)
  if (running.length > 0 && 'heads' in last && (await hasLateRow(store, last.heads, now)))
    findings.push(
      failed(
        '',
        `A server is running, but rows of the last minutes are in no checkpoint: the last is of ${stored.time}. See its log.`,
      ),
    )
  if (config.checkpointDir === undefined)
    findings.push(warning('', 'The copies lie beside the data. Set TABBAT_CHECKPOINT_DIR to another disk.'))
  findings.push(...(await listReceiverProblems(store)))
  return toWorst(check, findings, `The last is of ${stored.time}, with copies in ${folder}.`)
}

/** A checkpoint is sent within seconds. */
const MAX_PENDING = 3
const MAX_COUNTED = 1000

/** The endpoints of webhooks that get the checkpoints, as the servers have recorded them: none is called. */
async function listReceiverProblems({ webhooks, deliveries }: Store): Promise<Finding[]> {
  const receivers = (await webhooks.list()).filter(({ events }) => events.includes(CHECKPOINT_EVENT))
  const problems = receivers.map(async ({ id, disabledAt, failingSince }) => {
    const pending = await deliveries.countPending(id, MAX_COUNTED)
    const waiting = pending < MAX_COUNTED ? String(pending) : `${MAX_COUNTED} or more`
    if (disabledAt !== undefined) return [warning('', `Endpoint ${id} is disabled and gets no checkpoints.`)]
    if (failingSince !== undefined)
      return [
        failed(
          '',
          `Endpoint ${id} has accepted nothing since ${new Date(failingSince).toISOString()}; events that wait: ${waiting}. See: tabbat webhooks deliveries ${id}`,
        ),
      ]
    return pending > MAX_PENDING
      ? [warning('', `Events that endpoint ${id} has not got yet: ${waiting}. Is a server running?`)]
      : []
  })
  return (await Promise.all(problems)).flat()
}

/** Whether there are rows in a chain of this node. One that has not started yet has no name. */
async function hasRows({ audit }: Store, dataDir: string): Promise<boolean> {
  const node = readNodeName(dataDir)
  return node !== undefined && (await audit.ends()).some(({ chain }) => isChainOf(node, chain))
}

/** Whether a row waits for a checkpoint for long. Without new rows no checkpoint is made. */
async function hasLateRow({ audit }: Store, heads: readonly SignedHead[], now: number): Promise<boolean> {
  const signed = new Map(heads.map(({ chain, sequence }) => [chain, sequence]))
  for (const { chain, sequence } of await audit.ends()) {
    const covered = signed.get(chain) ?? 0
    const [first] = sequence > covered ? await audit.page(chain, covered, 1) : []
    if (first && now - Date.parse(first.time) > LATE_MS) return true
  }
  return false
}
