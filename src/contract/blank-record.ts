import { BvnRecord } from './bvn.ts'
import { NinRecord } from './nin.ts'

export type RecordOf = { readonly nin: NinRecord; readonly bvn: BvnRecord }

type Shape = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
}
const SHAPES = { nin: NinRecord, bvn: BvnRecord } as unknown as Readonly<Record<keyof RecordOf, Shape>>

/** A record without data: empty strings, and null where the contract allows it. `fill` replaces every value. */
export function createBlankRecord<K extends keyof RecordOf>(kind: K, fill = ''): RecordOf[K] {
  const blank = (shape: Shape): unknown => {
    if (shape.properties)
      return Object.fromEntries(Object.entries(shape.properties).map(([name, inner]) => [name, blank(inner)]))
    return Array.isArray(shape.type) && fill === '' ? null : fill
  }
  return blank(SHAPES[kind]) as RecordOf[K]
}
