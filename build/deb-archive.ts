import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A file of a package, by its path without the leading slash. */
export type PackedFile = { readonly path: string; readonly mode: number; readonly bytes: Buffer }

type DebianPackage = {
  /** Fields of the control file, without Installed-Size. */
  readonly control: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
  /** Paths of files that an upgrade does not replace if they were changed. */
  readonly conffiles: readonly string[]
  readonly files: readonly PackedFile[]
  /** The time of every file, in seconds: the same sources give the same bytes. */
  readonly time: number
  /** Of gzip: 0 does not compress, 9 takes the longest. */
  readonly level: number
}

/** A Debian package: an ar archive of two tar archives. It needs no program of Debian. */
export function toDebianPackage({ control, scripts, conffiles, files, time, level }: DebianPackage): Buffer {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const folders = listFolders(sorted)
  const kib = sorted.reduce((sum, { bytes }) => sum + Math.ceil(bytes.length / 1024), folders.length)
  const fields = Object.entries({ ...control, 'Installed-Size': String(kib) })
  const sums = sorted.filter(({ path }) => !conffiles.includes(path))
  const controlFiles = [
    toTextFile('./control', fields.map(([name, value]) => `${name}: ${value}\n`).join('')),
    toTextFile('./conffiles', conffiles.map((path) => `/${path}\n`).join('')),
    toTextFile('./md5sums', sums.map(({ path, bytes }) => `${toMd5(bytes)}  ${path}\n`).join('')),
    ...Object.entries(scripts).map(([name, text]) => toTextFile(`./${name}`, text, 0o755)),
  ]
  const data = [
    ...folders.map((path) => toTarHeader(`./${path}/`, 0o755, 0, '5', time)),
    ...sorted.flatMap(({ path, mode, bytes }) => toTarEntry({ path: `./${path}`, mode, bytes }, time)),
  ]
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...toArEntry('debian-binary', Buffer.from('2.0\n'), time),
    ...toArEntry('control.tar.gz', toTarGz(controlFiles.flatMap((file) => toTarEntry(file, time))), time),
    ...toArEntry('data.tar.gz', toTarGz(data, level), time),
  ])
}

const toTextFile = (path: string, text: string, mode = 0o644): PackedFile => ({
  path,
  mode,
  bytes: Buffer.from(text),
})

const toMd5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

/** All folders of the files, parents first. */
function listFolders(files: readonly PackedFile[]): string[] {
  const folders = new Set<string>()
  for (const { path } of files)
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  return [...folders].sort()
}

const toTarGz = (parts: readonly Buffer[], level = 9) =>
  gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)]), { level })

const toTarEntry = ({ path, mode, bytes }: PackedFile, time: number): Buffer[] => [
  toTarHeader(path, mode, bytes.length, '0', time),
  bytes,
  Buffer.alloc((512 - (bytes.length % 512)) % 512),
]

/** A header of ustar. Everything belongs to root. */
function toTarHeader(path: string, mode: number, size: number, type: '0' | '5', time: number): Buffer {
  const header = Buffer.alloc(512)
  if (Buffer.byteLength(path) > 100) throw new Error(`The path ${path} is too long for the archive.`)
  header.write(path, 0)
  header.write(toOctal(mode, 7), 100)
  header.write(toOctal(0, 7), 108)
  header.write(toOctal(0, 7), 116)
  header.write(toOctal(size, 11), 124)
  header.write(toOctal(time, 11), 136)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write('ustar\x0000', 257)
  header.write('root', 265)
  header.write('root', 297)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${toOctal(sum, 6)}\0 `, 148)
  return header
}

const toOctal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')

function toArEntry(name: string, bytes: Buffer, time: number): Buffer[] {
  const fields = [name.padEnd(16), String(time).padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)]
  const header = `${fields.join('')}${String(bytes.length).padEnd(10)}\`\n`
  return [Buffer.from(header), bytes, Buffer.alloc(bytes.length % 2, '\n')]
}
