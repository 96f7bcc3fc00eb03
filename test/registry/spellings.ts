/** Every encoding in which a program might leak a secret. */
export function toSpellings(secret: string): Map<string, Buffer> {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const reversed = [...secret].toReversed().join('')
  return new Map<string, Buffer>([
    ['plain', bytes],
    ['lower case', Buffer.from(secret.toLowerCase())],
    ['upper case', Buffer.from(secret.toUpperCase())],
    ['reversed', Buffer.from(reversed)],
    ['UTF-16', Buffer.from(secret, 'utf16le')],
    ['hex', Buffer.from(hex)],
    ['upper case hex', Buffer.from(hex.toUpperCase())],
    ['URL-encoded', Buffer.from(encodeURIComponent(secret))],
    ['URL-encoded, every byte', Buffer.from(hex.replace(/../g, '%$&'))],
    ['JSON', Buffer.from(JSON.stringify(secret).slice(1, -1))],
    ...[0, 1, 2].flatMap((offset): [string, Buffer][] => [
      [`base64 at ${offset}`, toBase64(bytes, offset, 'base64')],
      [`base64url at ${offset}`, toBase64(bytes, offset, 'base64url')],
    ]),
    ...(/^\d+$/.test(secret) ? toIntegers(secret) : []),
  ])
}

/** The base64 characters that depend only on these bytes, after `offset` other bytes. */
function toBase64(bytes: Buffer, offset: number, encoding: 'base64' | 'base64url'): Buffer {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString(encoding)
    .replace(/=+$/, '')
  const first = Math.ceil((offset * 8) / 6)
  const last = Math.floor(((offset + bytes.length) * 8) / 6)
  return Buffer.from(text.slice(first, last))
}

function toIntegers(digits: string): [string, Buffer][] {
  const [big, little] = [Buffer.alloc(8), Buffer.alloc(8)]
  big.writeBigUInt64BE(BigInt(digits))
  little.writeBigUInt64LE(BigInt(digits))
  // A database omits leading zeros.
  return [
    ['as an integer', big.subarray(3)],
    ['as a little-endian integer', little.subarray(0, 5)],
  ]
}

/** All findings, each as "secret: spelling in place". */
export function search(
  places: ReadonlyMap<string, Buffer>,
  secrets: ReadonlyMap<string, ReadonlyMap<string, Buffer>>,
): string[] {
  const found: string[] = []
  for (const [place, haystack] of places)
    for (const [secret, spellings] of secrets)
      for (const [spelling, needle] of spellings)
        if (haystack.includes(needle)) found.push(`${secret}: ${spelling} in ${place}`)
  return found
}
