import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UserError } from '../../errors.ts'

/** Fills the start of the target and returns the number of bytes; 0 at the end. */
export type Read = (target: Buffer) => Promise<number>

/** The input of an import: a file, or a stream that can be read only once. */
export type Input = {
  /** To be shown. */
  readonly name: string
  /** The first bytes: they hold the header, and help to recognise the file. */
  readonly head: Buffer
  /** Absent when the size is unknown. */
  readonly size?: number
  /** Equal for the same, unchanged file; absent for a stream, which cannot be continued. */
  readonly identity?: string
  readonly readFrom: (offset: number) => Read
  readonly close: () => Promise<void>
}

const HEAD_BYTES = 64 * 1024

export async function openInput(path: string): Promise<Input> {
  const input = path === '-' ? await openStream('standard input', process.stdin) : await openFile(path)
  if (input.head.length > 0) return input
  await input.close()
  throw new UserError(`${input.name} is empty.`)
}

async function openFile(path: string): Promise<Input> {
  const handle = await open(path).catch((error) => refuse(path, error))
  const stats = await handle.stat()
  if (stats.isDirectory()) {
    await handle.close()
    throw new UserError(`${path} is a folder. Give a file.`)
  }
  // A named pipe, as in: tabbat import nin <(zcat people.gz)
  if (!stats.isFile()) return openStream(path, handle.createReadStream())
  return {
    name: path,
    head: await readHead(handle).catch((error) => refuse(path, error)),
    size: stats.size,
    identity: `${resolve(path)}\n${stats.size}\n${stats.mtimeMs}`,
    readFrom: (offset) => {
      let position = offset
      return async (target) => {
        const { bytesRead } = await handle
          .read(target, 0, target.length, position)
          .catch((error) => refuse(path, error))
        position += bytesRead
        return bytesRead
      }
    },
    close: () => handle.close(),
  }
}

async function readHead(handle: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  return buffer.subarray(0, bytesRead)
}

async function openStream(name: string, stream: AsyncIterable<Buffer>): Promise<Input> {
  const pieces = stream[Symbol.asyncIterator]()
  const next = async () =>
    (await pieces.next().catch((error) => refuse(name, error))).value as Buffer | undefined
  const first: Buffer[] = []
  for (let size = 0; size < HEAD_BYTES; size += first.at(-1)?.length ?? 0) {
    const piece = await next()
    if (piece === undefined) break
    first.push(piece)
  }
  const head = Buffer.concat(first)
  return {
    name,
    head,
    readFrom: (offset) => {
      let rest: Buffer | undefined = head.subarray(offset)
      return async (target) => {
        while (rest?.length === 0) rest = await next()
        const count = rest?.copy(target) ?? 0
        rest = rest?.subarray(count)
        return count
      }
    },
    close: async () => void (await pieces.return?.()),
  }
}

function refuse(path: string, error: NodeJS.ErrnoException): never {
  const { code = 'unknown error' } = error
  if (code === 'ENOENT') throw new UserError(`There is no file ${path}.`)
  if (code === 'EACCES' || code === 'EPERM')
    throw new UserError(`This user may not read ${path}. Check its permissions.`)
  throw new UserError(`${path} cannot be read (${code}).`)
}
