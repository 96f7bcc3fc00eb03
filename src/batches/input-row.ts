/** One row of an input: its fields, or why it cannot be read. `line` is where it begins. */
export type InputRow =
  | { readonly line: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly problem: string }

/** A longer row is refused, so that no input can exhaust the memory. As long as the body of a single verification. */
export const MAX_ROW_BYTES = 16 * 1024

export const TOO_LONG = 'The row is longer than 16 KiB.'
export const NOT_UTF8 = 'The row is not UTF-8 text.'

/** The bytes of an input that are read and not used yet. */
export type ByteWindow = {
  readonly held: () => Buffer
  /** Reads more. False at the end of the input. */
  readonly fill: () => Promise<boolean>
  /** The first bytes are used. */
  readonly drop: (length: number) => void
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** Skips a byte order mark at the start. */
export async function openByteWindow(pieces: AsyncIterable<Buffer>): Promise<ByteWindow> {
  const iterator = pieces[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const fill = async () => {
    const { done, value } = await iterator.next()
    if (done) return false
    held = held.length === 0 ? value : Buffer.concat([held, value])
    return true
  }
  while (held.length < BYTE_ORDER_MARK.length && (await fill()));
  if (held.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    held = held.subarray(BYTE_ORDER_MARK.length)
  return {
    held: () => held,
    fill,
    drop: (length) => {
      held = held.subarray(length)
    },
  }
}
