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
