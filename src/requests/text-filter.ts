/**
 * Which texts a block may have (a Bloom filter): "no" is certain, "yes" is wrong for about one text in a hundred. So a search by id
 * passes over nearly all blocks without reading their lines.
 */

const BITS_PER_TEXT = 10
const PROBES = 6

export function createTextFilter(texts: readonly string[]): Uint8Array {
  const filter = new Uint8Array(Math.ceil((texts.length * BITS_PER_TEXT) / 8))
  const bits = filter.length * 8
  for (const text of texts) {
    const [start, step] = hash(text)
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = ((start + probe * step) >>> 0) % bits
      filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7))
    }
  }
  return filter
}

export function mayHaveText(filter: Uint8Array, text: string): boolean {
  const bits = filter.length * 8
  if (bits === 0) return false
  const [start, step] = hash(text)
  for (let probe = 0; probe < PROBES; probe++) {
    const bit = ((start + probe * step) >>> 0) % bits
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false
  }
  return true
}

/** FNV-1a, and a second number from other constants. Ids that callers choose are stored as keyed hashes, so none is made to fit. */
function hash(text: string): readonly [start: number, step: number] {
  let [start, step] = [0x811c9dc5, 0x9747b28c]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    start = Math.imul(start ^ code, 0x01000193)
    step = Math.imul(step ^ code, 0x5bd1e995)
    step ^= step >>> 15
  }
  return [start >>> 0, (step | 1) >>> 0]
}
