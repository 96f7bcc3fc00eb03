import { BadRow } from './bad-row.ts'

const LARGEST_PICTURE = 1024 * 1024

const JPEG = Buffer.from([0xff, 0xd8, 0xff])
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The bytes of a picture given as base64 or as a data: URL; undefined when there is none. */
export function readPicture(value: unknown): Buffer | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new BadRow('picture must be a string')
  const base64 = value.replace(/^data:image\/(?:jpeg|jpg|png);base64,/, '').replace(/\s+/g, '')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, ''))
    throw new BadRow('picture must be base64 or a data: URL')
  if (bytes.length > LARGEST_PICTURE) throw new BadRow('picture must not be larger than 1 MiB')
  if (!startsWith(bytes, JPEG) && !startsWith(bytes, PNG)) throw new BadRow('picture must be a JPEG or a PNG')
  return bytes
}

const startsWith = (bytes: Buffer, magic: Buffer) => bytes.subarray(0, magic.length).equals(magic)
