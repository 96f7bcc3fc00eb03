import type { Fault } from './verify-chain.ts'

/** What is wrong with the log, and where, in words. */
export function toFaultText({ chain, sequence, reason }: Fault): string {
  const where = [
    chain === null ? [] : `chain ${toVisible(chain)}`,
    sequence === null ? [] : `row ${sequence}`,
  ].flat()
  return [...where, reason].join(', ')
}

/** Whoever has put a chain in may have given it a name that plays tricks on terminals. */
export const toVisible = (text: string) => text.replaceAll(/\p{C}/gu, '?')
