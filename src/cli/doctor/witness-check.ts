import type { Config } from '../../config/config.ts'
import type { Store } from '../../store/store.ts'
import { toShownTarget, toTargetId, toWitnessTarget } from '../../witness/target.ts'
import { toRecent } from '../../witness/witness.ts'
import { type Finding, failed, ok, skipped, warning } from './finding.ts'

type Opened = { readonly config: Config; readonly store: Store }

/** Checkpoints are sent within seconds. */
const MOST_UNSENT = 3

/** As the servers have recorded it: the witness is not called. */
export async function checkWitness({ config, store }: Opened): Promise<Finding> {
  const check = 'witness'
  if (config.witness === undefined)
    return skipped(check, 'None is configured. TABBAT_WITNESS sends the checkpoints to a place outside.')
  const target = toWitnessTarget(config.witness, config.witnessToken)
  const id = toTargetId(target)
  const [state, unsent] = [await store.witness.read(id), await store.witness.countUnsent(id, toRecent())]
  const name = toShownTarget(target)
  if (state?.failingSince !== undefined)
    return failed(
      check,
      `${name} has accepted nothing since ${toTime(state.failingSince)} (${state.failure}); checkpoints that wait: ${toText(unsent)}. They are sent when it answers again.`,
    )
  if (state?.lastSent === undefined)
    return warning(check, `Nothing was sent to ${name} yet. Start a server with TABBAT_WITNESS.`)
  if (unsent > MOST_UNSENT)
    return warning(
      check,
      `Checkpoints not sent to ${name} yet: ${toText(unsent)}. Is a server with TABBAT_WITNESS running?`,
    )
  return ok(check, `${name} has the checkpoints up to ${state.lastSent}.`)
}

/** Counted up to 1000. */
const toText = (count: number) => (count < 1000 ? String(count) : '1000 or more')

const toTime = (at: number) => new Date(at).toISOString()
