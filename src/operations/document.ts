import { hash } from 'node:crypto'
import type { Reply } from '../http/exchange.ts'
import { toHeadText } from '../http/prepared-head.ts'

/** A response that is the same for all callers until the catalogue changes: serialised once, with its ETag. */
export class Document {
  readonly bytes: Buffer
  readonly etag: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly reply: Reply

  constructor(body: object) {
    this.bytes = Buffer.from(JSON.stringify(body))
    this.etag = `"${hash('sha256', this.bytes, 'base64url').slice(0, 27)}"`
    const type = ['content-type', 'application/json; charset=utf-8']
    this.headers = ['cache-control', 'private', 'etag', this.etag, ...type]
    this.reply = { status: 200, headers: this.headers, headText: toHeadText(this.headers), body: this.bytes }
  }

  /** Whether the client's copy is current. */
  isCurrent(ifNoneMatch: string | undefined): boolean {
    if (ifNoneMatch === undefined) return false
    return ifNoneMatch
      .split(',')
      .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === this.etag)
  }
}

const documents = new WeakMap<object, Document>()

/** One document per list. A new catalogue has new lists, so an old response is never served for it. */
export function toDocument(list: object, toBody: () => object): Document {
  const known = documents.get(list)
  if (known) return known
  const document = new Document(toBody())
  documents.set(list, document)
  return document
}
