import type { Loss, LossTable } from './loss-table.ts'
import type { AuditEntry } from './row.ts'
import type { Signer } from './signing.ts'

/** The phase of a row that states a loss. */
const LOG_SHORTENED = 'log_shortened'

const REFERENCES_IN_A_ROW = 1000

type Acceptance = {
  readonly losses: Pick<LossTable, 'accept'>
  readonly signer: Signer
  readonly record: (entries: readonly AuditEntry[]) => Promise<void>
  /** Who accepts it. */
  readonly by: string
}

/** Writes signed statements of a loss to the audit log, and then accepts it. */
export async function acceptLoss(loss: Loss, { losses, signer, record, by }: Acceptance): Promise<void> {
  const { chain, kept, acknowledged, references } = loss
  for (let start = 0; start === 0 || start < references.length; start += REFERENCES_IN_A_ROW) {
    const named = references.slice(start, start + REFERENCES_IN_A_ROW)
    const time = new Date().toISOString()
    const text = JSON.stringify({ chain, kept, acknowledged, references: named, time, by })
    await record([{ phase: LOG_SHORTENED, outcome: 'accepted', detail: `${text} ${signer.sign(text)}` }])
  }
  await losses.accept(loss, Date.now())
}
