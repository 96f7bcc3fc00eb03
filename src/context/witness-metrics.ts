import type { Config } from '../config/config.ts'
import type { Store } from '../store/store.ts'
import { type Metric, toGauge } from '../telemetry/metric.ts'
import { toTargetId, toWitnessTarget } from '../witness/target.ts'
import { toRecent } from '../witness/witness.ts'

/** Without a witness there is nothing to report. */
export function createWitnessMetrics(
  { witness, witnessToken }: Config,
  store: Store,
): () => Promise<Metric[]> {
  if (witness === undefined) return async () => []
  const target = toTargetId(toWitnessTarget(witness, witnessToken))
  return async () => [
    toGauge(
      'tabbat_witness_unsent_checkpoints',
      'Checkpoints of all nodes that the witness has not accepted yet, up to 1000.',
      await store.witness.countUnsent(target, toRecent()),
    ),
  ]
}
