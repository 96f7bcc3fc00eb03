import { Transform, type TransformCallback } from 'node:stream'
import {
  gunzipSync,
  gzipSync,
  type InputType,
  type ZstdOptions,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'

export * from 'node:zlib'

/** The thread pool would decide when a result is there; here it is there at once. */
type Done = (error: Error | null, result?: Buffer) => void

const now =
  (work: (input: InputType, options?: ZstdOptions) => Buffer) =>
  (input: InputType, ...rest: [Done] | [ZstdOptions, Done]): void => {
    const done = rest.at(-1) as Done
    const options = rest.length === 2 ? (rest[0] as ZstdOptions) : undefined
    try {
      process.nextTick(done, null, work(input, options))
    } catch (error) {
      process.nextTick(done, error)
    }
  }

export const zstdCompress = now(zstdCompressSync)
export const zstdDecompress = now(zstdDecompressSync)

/** The whole input at its end. */
class Whole extends Transform {
  readonly #pieces: Buffer[] = []
  readonly #work: (input: Buffer) => Buffer
  constructor(work: (input: Buffer) => Buffer) {
    super()
    this.#work = work
  }
  override _transform(piece: Buffer, _encoding: string, done: TransformCallback): void {
    this.#pieces.push(piece)
    done()
  }
  override _flush(done: TransformCallback): void {
    try {
      done(null, this.#work(Buffer.concat(this.#pieces)))
    } catch (error) {
      done(error as Error)
    }
  }
}

export const createGzip = () => new Whole(gzipSync)
export const createGunzip = () => new Whole(gunzipSync)
