import { world } from '../world.ts'

export * from 'node:crypto'

export function randomBytes(size: number): Buffer {
  return randomFillSync(Buffer.alloc(size))
}

export function randomFillSync<T extends Uint8Array>(bytes: T): T {
  world().entropy.fill(bytes)
  return bytes
}

export function randomInt(least: number, end?: number): number {
  return end === undefined ? world().entropy.below(least) : least + world().entropy.below(end - least)
}

export function randomUUID(): string {
  const bytes = randomBytes(16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
