/**
 * A repeatable series of values: the same kind, number and part give the same series on every machine and in every
 * release. Each part of a person has its own seed, for example ('nin', '12345678901', 'name'), so that a field added to one
 * part later changes no other part. The arithmetic is 32-bit integers only: no byte order, no floating point.
 */
export class Seed {
  #a = 0xdeadbeef | 0
  #b = 0x41c6ce57
  // Any value would do. With this one, the people of the documented examples have every field.
  #c = 136
  #counter = 1

  constructor(kind: string, number: string, part: string) {
    this.#absorb(kind)
    this.#absorb(number)
    this.#absorb(part)
    // Each value depends on all three words after a few steps.
    for (let step = 0; step < 12; step++) this.#next()
  }

  /** An integer, both ends included. */
  between(low: number, high: number): number {
    // Unsigned operands: V8 would compute a remainder of signed ones in floating point.
    return low + ((this.#next() >>> 0) % ((high - low + 1) >>> 0))
  }

  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T
  }

  chance(percent: number): boolean {
    return this.between(1, 100) <= percent
  }

  /** At most nine digits: more do not fit into the 32 bits of one value. */
  digits(count: number): string {
    return String(this.between(0, 10 ** count - 1)).padStart(count, '0')
  }

  /** Two multiplicative hashes side by side (as in cyrb53). The length separates 'ab', 'c' from 'a', 'bc'. */
  #absorb(text: string): void {
    let [a, b] = [this.#a ^ text.length, this.#b ^ text.length]
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      a = Math.imul(a ^ unit, 0x9e3779b1)
      b = Math.imul(b ^ unit, 0x5f356495)
    }
    this.#a = a ^ (b >>> 16)
    this.#b = b ^ (a >>> 13)
  }

  /** The generator sfc32 (Doty-Humphrey, PractRand). */
  #next(): number {
    const value = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + value) | 0
    return value
  }
}
