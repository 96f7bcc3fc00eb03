import { type KeyObject, verify } from 'node:crypto'
import type { AuditSnapshot } from '../store/audit-snapshot.ts'
import type { SignedHead } from './open-checkpoint.ts'
import type { Fault } from './verify-chain.ts'

/** A loss that a row `log_shortened` states: rows after `kept`, up to `acknowledged`. */
export type StatedLoss = {
  readonly chain: string
  readonly kept: number
  readonly acknowledged: number
  readonly by: string
  /** Of the row that states it. */
  readonly time: string
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
  for (const [chain, sequence, time, detail] of await scan.lossStatements()) {
    const loss = readStatement(String(detail), publicKey)
    if (!loss)
      return {
        chain: String(chain),
        sequence: Number(sequence),
        reason: 'the row states a loss of rows without a valid signature',
      }
    losses.push({ ...loss, time: String(time) })
  }
  return {
    losses,
    explains: ({ chain, sequence }) =>
      losses.some((loss) => loss.chain === chain && loss.kept < sequence && sequence <= loss.acknowledged),
    explainsCheckpoint: (time) => losses.some((loss) => time <= loss.time),
  }
}

/** The detail of a row: a JSON text, a space, and its signature. */
export function readStatement(detail: string, publicKey: KeyObject): Omit<StatedLoss, 'time'> | undefined {
  const end = detail.lastIndexOf(' ')
  const text = detail.slice(0, Math.max(end, 0))
  const signature = Buffer.from(detail.slice(end + 1), 'base64')
  if (!verify(null, Buffer.from(text), publicKey, signature)) return undefined
  return JSON.parse(text) as Omit<StatedLoss, 'time'>
}
