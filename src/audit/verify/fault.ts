/** The first fault: where it is, and a sentence about it. */
export type Fault = {
  readonly chain: string | null
  readonly sequence: number | null
  readonly reason: string
}

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
