import { hash } from 'node:crypto'
import type { Reply } from '../http/exchange.ts'

/** A response that is the same for all callers until the catalogue changes: serialised once, with its ETag. */
export class Document {
  /** Text if it is ASCII: Node.js writes that together with the head, which costs less than two pieces. */
  readonly body: Buffer | string
  readonly etag: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly reply: Reply

  constructor(body: object) {
    const text = JSON.stringify(body)
    const bytes = Buffer.from(text)
    this.body = bytes.length === text.length ? text : bytes
    this.etag = `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"`
    const type = ['content-type', 'application/json; charset=utf-8']
    this.headers = ['cache-control', 'private', 'etag', this.etag, ...type]
    this.reply = { status: 200, headers: this.headers, body: this.body, length: bytes.length }
  }

  /** Whether the client's copy is current. */
  isCurrent(ifNoneMatch: string | undefined): boolean {
    return isCurrent(this.etag, ifNoneMatch)
  }
}

/** Compared weakly, as RFC 9110 says for this header. */
export const isCurrent = (etag: string, ifNoneMatch: string | undefined): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => tag.trim() === '*' || toOpaque(tag.trim()) === toOpaque(etag))

const toOpaque = (etag: string) => etag.replace(/^W\//, '')

const documents = new WeakMap<object, Document>()

/** One document per list. A new catalogue has new lists, so an old response is never served for it. */
export function toDocument(list: object, toBody: () => object): Document {
  const known = documents.get(list)
  if (known) return known
  const document = new Document(toBody())
  documents.set(list, document)
  return document
}
