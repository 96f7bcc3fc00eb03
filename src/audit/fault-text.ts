import type { Fault } from './verify-chain.ts'

/** A fault and its place in one sentence. */
export function toFaultText({ chain, sequence, reason }: Fault): string {
  const where = [
    chain === null ? [] : `chain ${toVisible(chain)}`,
    sequence === null ? [] : `row ${sequence}`,
  ].flat()
  return [...where, reason].join(', ')
}

/** An attacker may have inserted a chain whose name holds control characters for terminals. */
export const toVisible = (text: string) => text.replaceAll(/\p{C}/gu, '?')
