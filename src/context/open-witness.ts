import type { Config } from '../config/config.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { toWitnessTarget } from '../witness/target.ts'
import { openWitness, type Witness } from '../witness/witness.ts'

type Deps = { readonly store: Store; readonly log: Log; readonly audit: { readonly owner: string } }

/** Undefined without the setting TABBAT_WITNESS, and in workers but the first. */
export const openContextWitness = (
  { witness, witnessToken, webhooksPrivate }: Config,
  { store, log, audit }: Deps,
  workerNumber: number,
): Witness | undefined =>
  witness === undefined || workerNumber !== 1
    ? undefined
    : openWitness({
        table: store.witness,
        target: toWitnessTarget(witness, witnessToken),
        allowPrivate: webhooksPrivate === 'on',
        holder: audit.owner,
        log,
      })
