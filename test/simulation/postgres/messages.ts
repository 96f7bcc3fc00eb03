/** One message of PostgreSQL's protocol, with its type and length. */
export type Message = { readonly type: string; readonly bytes: Buffer }

const LENGTH_BYTES = 4

/** Cuts what arrives into messages. The first one of a client has no type. */
export function createSplitter(beginsUntyped: boolean): (piece: Buffer) => Message[] {
  let rest = Buffer.alloc(0)
  let isUntyped = beginsUntyped
  return (piece) => {
    rest = Buffer.concat([rest, piece])
    const messages: Message[] = []
    for (;;) {
      const from = isUntyped ? 0 : 1
      if (rest.length < from + LENGTH_BYTES) return messages
      const size = from + rest.readInt32BE(from)
      if (rest.length < size) return messages
      const type = isUntyped ? 'startup' : String.fromCharCode(rest[0] as number)
      messages.push({ type, bytes: rest.subarray(0, size) })
      rest = rest.subarray(size)
      isUntyped = false
    }
  }
}

export function toMessage(type: string, ...texts: string[]): Buffer {
  const body = Buffer.from(texts.map((text) => `${text}\0`).join(''))
  const head = Buffer.alloc(1 + LENGTH_BYTES)
  head.write(type, 'latin1')
  head.writeInt32BE(LENGTH_BYTES + body.length, 1)
  return Buffer.concat([head, body])
}

export function toStartup(settings: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(`${Object.entries(settings).flat().join('\0')}\0\0`)
  const head = Buffer.alloc(2 * LENGTH_BYTES)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(3 << 16, LENGTH_BYTES)
  return Buffer.concat([head, body])
}

/** An error of the server, after which the connection goes on outside of a transaction. */
export function toFailure(code: string, text: string): Buffer {
  const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
  return Buffer.concat([toMessage('E', 'SERROR', 'VERROR', `C${code}`, `M${text}`, ''), ready])
}

/** The texts at the beginning of a message, each of which ends with a zero. */
export const toTexts = ({ bytes }: Message): string[] => bytes.toString('utf8', 1 + LENGTH_BYTES).split('\0')

/** Replaces the text of a simple query or of a statement to be prepared. */
export function withText(message: Message, change: (text: string) => string): Message {
  const { type, bytes } = message
  if (type !== 'Q' && type !== 'P') return message
  const [first = '', second = ''] = toTexts(message)
  const old = type === 'Q' ? first : second
  const changed = change(old)
  if (changed === old) return message
  if (type === 'Q') return { type, bytes: toMessage('Q', changed) }
  const types = bytes.subarray(1 + LENGTH_BYTES + Buffer.byteLength(`${first}\0${old}\0`))
  const whole = Buffer.concat([toMessage('P', first, changed), types])
  whole.writeInt32BE(whole.length - 1, 1)
  return { type, bytes: whole }
}
