import type { KeyObject } from 'node:crypto'
import type { AuditSnapshot } from './audit-snapshot.ts'
import { isCount, isSigned, type SignedHead } from './open-checkpoint.ts'
import type { Fault } from './verify-chain.ts'

/** A loss that a row `log_shortened` states: rows after `kept`, up to `acknowledged`. */
export type StatedLoss = {
  readonly chain: string
  readonly kept: number
  readonly acknowledged: number
  /** When it was accepted. */
  readonly time: string
  readonly by: string
}

export type StatedLosses = {
  readonly losses: readonly StatedLoss[]
  /** Whether a statement explains that the rows of a head are missing. */
  readonly explains: (head: Pick<SignedHead, 'chain' | 'sequence'>) => boolean
  /** Whether a checkpoint of that time may have been lost with the rows. */
  readonly explainsCheckpoint: (time: string) => boolean
}

/** Reads the statements. One without a valid signature is a fault. */
export async function readStatedLosses(
  scan: AuditSnapshot,
  publicKey: KeyObject,
): Promise<StatedLosses | Fault> {
  const losses: StatedLoss[] = []
  for (const [chain, sequence, detail] of await scan.lossStatements()) {
    const loss = readStatement(String(detail), publicKey)
    if (!loss)
      return {
        chain: String(chain),
        sequence: Number(sequence),
        reason: 'the row states a loss of rows without a valid signature',
      }
    losses.push(loss)
  }
  return {
    losses,
    explains: ({ chain, sequence }) =>
      losses.some((loss) => loss.chain === chain && loss.kept < sequence && sequence <= loss.acknowledged),
    explainsCheckpoint: (time) => losses.some((loss) => time <= loss.time),
  }
}

/** Rows that a server found missing, and whose loss no operator has accepted. */
export async function findOpenLoss(scan: AuditSnapshot): Promise<Fault | undefined> {
  const [first] = await scan.openLosses()
  if (!first) return undefined
  const [chain, kept, acknowledged] = first
  return {
    chain: String(chain),
    sequence: Number(kept) + 1,
    reason: `rows ${Number(kept) + 1} to ${Number(acknowledged)} were acknowledged to callers and are missing, and servers refuse verifications. If the old primary can be recovered, nothing is lost; else run: tabbat audit accept-loss`,
  }
}

/** The detail of a row: a JSON text, a space, and its signature. The key also signs checkpoints, which are no statements. */
export function readStatement(detail: string, publicKey: KeyObject): StatedLoss | undefined {
  const end = detail.lastIndexOf(' ')
  const text = detail.slice(0, Math.max(end, 0))
  return isSigned(text, detail.slice(end + 1), publicKey) ? parseLoss(text) : undefined
}

function parseLoss(text: string): StatedLoss | undefined {
  try {
    const loss = JSON.parse(text) as Readonly<Record<string, unknown>>
    const { chain, kept, acknowledged, time, by } = loss
    if (![chain, time, by].every((value) => typeof value === 'string')) return undefined
    const isRange = isCount(kept) && isCount(acknowledged) && kept < acknowledged
    return isRange ? (loss as StatedLoss) : undefined
  } catch {
    return undefined
  }
}
