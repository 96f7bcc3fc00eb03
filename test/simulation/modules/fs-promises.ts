import * as fs from 'node:fs'

export * from 'node:fs/promises'

/** The thread pool would decide the order of operations on files; here each is done at once. */
const now =
  <Given extends unknown[], Result>(work: (...given: Given) => Result) =>
  async (...given: Given): Promise<Result> =>
    work(...given)

export const appendFile = now(fs.appendFileSync)
export const link = now(fs.linkSync)
export const mkdir = now(fs.mkdirSync)
export const mkdtemp = now(fs.mkdtempSync)
export const readdir = now(fs.readdirSync)
export const readFile = now(fs.readFileSync)
export const rename = now(fs.renameSync)
export const rm = now(fs.rmSync)
export const stat = now(fs.statSync)
export const statfs = now(fs.statfsSync)
export const writeFile = now(fs.writeFileSync)

/** The part of a FileHandle that the product uses. */
export async function open(path: string, flags: string | number = 'r', mode?: number) {
  const fd = fs.openSync(path, flags, mode)
  return {
    fd,
    appendFile: now((data: string | Uint8Array) => fs.appendFileSync(fd, data)),
    writeFile: now((data: string | Uint8Array) => fs.writeFileSync(fd, data)),
    readFile: now((encoding?: BufferEncoding) => fs.readFileSync(fd, encoding ? { encoding } : {})),
    write: now((data: Uint8Array) => ({ bytesWritten: fs.writeSync(fd, data), buffer: data })),
    read: now((buffer: Buffer, offset?: number, length?: number, position: number | null = null) => ({
      bytesRead: fs.readSync(fd, buffer, offset ?? 0, length ?? buffer.length, position),
      buffer,
    })),
    stat: now(() => fs.fstatSync(fd)),
    sync: now(() => fs.fsyncSync(fd)),
    datasync: now(() => fs.fdatasyncSync(fd)),
    truncate: now((length?: number) => fs.ftruncateSync(fd, length)),
    chmod: now((to: number) => fs.fchmodSync(fd, to)),
    close: now(() => fs.closeSync(fd)),
    [Symbol.asyncDispose]: now(() => fs.closeSync(fd)),
  }
}
