import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  refuseUntrustedFolder,
  refuseUntrustedPath,
  refuseUntrustedStats,
  toWord,
  UntrustedPath,
} from '../../src/crypto/trusted-path.ts'

const [USER, OTHER] = [4712, 4711]
const isRoot = process.getuid?.() === 0

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-trusted-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  rmSync(folder, { recursive: true })
})

/** A folder with this owner and mode. */
function newFolder(name: string, mode = 0o755, uid = -1, gid = -1): string {
  const path = join(folder, name)
  mkdirSync(path)
  chownSync(path, uid, gid)
  chmodSync(path, mode)
  return path
}

/** A file below a folder that others may write to. */
function newExposed(): { readonly shared: string; readonly file: string } {
  const shared = newFolder('shared', 0o777)
  const file = join(shared, 'file')
  writeFileSync(file, 'text', { mode: 0o600 })
  return { shared, file }
}

const exposed = (path: string) => `Other users of this machine can write to ${path}, and so decide`

describe.skipIf(process.geteuid === undefined)('a path', () => {
  it('is trusted if others can change no part of it', () => {
    const file = join(newFolder('own'), 'file')
    writeFileSync(file, 'text', { mode: 0o644 })
    expect(() => refuseUntrustedPath(file)).not.toThrow()
    expect(() => refuseUntrustedFolder(join(folder, 'own'))).not.toThrow()
  })

  it('is not checked below what does not exist yet', () => {
    expect(() => refuseUntrustedPath(join(folder, 'none', 'below'))).not.toThrow()
    expect(() => refuseUntrustedFolder(join(folder, 'none'))).not.toThrow()
  })

  it('is refused if others may write to the file, or to a folder above it', () => {
    const { shared, file } = newExposed()
    expect(() => refuseUntrustedPath(file)).toThrow(UntrustedPath)
    expect(() => refuseUntrustedPath(file)).toThrow(`${exposed(shared)} what this program`)
    expect(() => refuseUntrustedPath(file)).toThrow(`Type: chmod go-w ${shared}`)
    chmodSync(shared, 0o755)
    chmodSync(file, 0o602)
    expect(() => refuseUntrustedPath(file)).toThrow(exposed(file))
  })

  it('is trusted in a folder like /tmp, which is no data folder', () => {
    const { shared, file } = newExposed()
    chmodSync(shared, 0o1777)
    expect(() => refuseUntrustedPath(file)).not.toThrow()
    expect(() => refuseUntrustedFolder(shared)).toThrow(exposed(shared))
    // The sticky bit of a file means nothing.
    chmodSync(file, 0o1602)
    expect(() => refuseUntrustedPath(file)).toThrow(exposed(file))
  })

  it('may be relative to the working directory', () => {
    const { shared, file } = newExposed()
    expect(() => refuseUntrustedPath(relative(process.cwd(), file))).toThrow('can write to ')
    chmodSync(shared, 0o755)
    expect(() => refuseUntrustedPath(relative(process.cwd(), file))).not.toThrow()
  })

  it('is checked at the links on its way and at their targets', () => {
    const { shared, file } = newExposed()
    const own = newFolder('own')
    symlinkSync(file, join(own, 'absolute'))
    symlinkSync(relative(own, file), join(own, 'relative'))
    symlinkSync('relative', join(own, 'second'))
    for (const link of ['absolute', 'relative', 'second'])
      expect(() => refuseUntrustedPath(join(own, link)), link).toThrow(exposed(shared))
    chmodSync(shared, 0o755)
    for (const link of ['absolute', 'relative', 'second'])
      expect(() => refuseUntrustedPath(join(own, link)), link).not.toThrow()
  })

  it('is checked through as many links as the system follows, and a circle of links ends', () => {
    const { shared, file } = newExposed()
    symlinkSync(file, join(folder, 'link1'))
    for (let index = 2; index <= 41; index++) symlinkSync(`link${index - 1}`, join(folder, `link${index}`))
    expect(readFileSync(join(folder, 'link40'), 'utf8')).toBe('text')
    expect(() => refuseUntrustedPath(join(folder, 'link40'))).toThrow(exposed(shared))
    expect(() => readFileSync(join(folder, 'link41'))).toThrow('ELOOP')
    expect(() => refuseUntrustedPath(join(folder, 'link41'))).not.toThrow()
    symlinkSync('circle', join(folder, 'circle'))
    expect(() => refuseUntrustedPath(join(folder, 'circle'))).not.toThrow()
  })
})

describe.runIf(isRoot)('the owner of a path', () => {
  it.each(['a folder', 'a file', 'a link'])('must be trusted: %s', (what) => {
    const own = newFolder('own')
    const file = join(own, 'file')
    const link = join(folder, 'link')
    writeFileSync(file, 'text', { mode: 0o600 })
    symlinkSync(file, link)
    expect(() => refuseUntrustedPath(link)).not.toThrow()
    const part = what === 'a folder' ? own : what === 'a file' ? file : link
    lchownSync(part, OTHER, -1)
    expect(() => refuseUntrustedPath(link)).toThrow(
      `${part} belongs to another user (${OTHER}), who can change it. Run this as that user, or type: sudo chown 0 ${part}`,
    )
  })

  it('is asked where .. after a link leads', () => {
    const [own, shared] = [newFolder('own'), newFolder('shared', 0o777)]
    for (const path of [join(own, 'data'), join(shared, 'below'), join(shared, 'data')]) mkdirSync(path)
    chownSync(join(shared, 'data'), OTHER, OTHER)
    symlinkSync(join(shared, 'below'), join(own, 'link'))
    symlinkSync('link/../data', join(own, 'second'))
    expect(() => refuseUntrustedPath(`${own}/data`)).not.toThrow()
    for (const path of [`${own}/link/../data`, `${own}/second`])
      expect(() => refuseUntrustedPath(path)).toThrow(`write to ${shared},`)
    symlinkSync(join(own, 'data'), join(own, 'good'))
    expect(() => refuseUntrustedPath(`${own}/./good/../data`)).not.toThrow()
  })
})

describe.runIf(isRoot)('a folder of a server that is not root', () => {
  beforeEach(() => {
    vi.spyOn(process as Required<typeof process>, 'geteuid').mockReturnValue(USER)
  })

  it.each([
    ['fsGroup of Kubernetes', 0, USER, 0o2775],
    ['a volume of a container', USER, USER, 0o755],
    ['StateDirectory of systemd', USER, USER, 0o700],
    ['an image that runs in the group of root', USER, 0, 0o770],
    ['a folder that another group may read', USER, OTHER, 0o750],
  ])('is accepted: %s', (_name, uid, gid, mode) => {
    expect(() => refuseUntrustedFolder(newFolder('data', mode, uid, gid))).not.toThrow()
  })

  it.each([
    ['another group may write', USER, OTHER, 0o770, 'can write to'],
    ['everyone may write', USER, USER, 0o2777, 'can write to'],
    ['others may write, and not the group', USER, USER, 0o702, 'can write to'],
    ['the group of macOS administrators may write, on Linux', USER, 80, 0o770, 'can write to'],
    ['another user owns it', OTHER, USER, 0o775, `sudo chown ${USER} `],
  ])('is refused if %s', (_name, uid, gid, mode, message) => {
    expect(() => refuseUntrustedFolder(newFolder('data', mode, uid, gid))).toThrow(message)
  })
})

it('nothing is refused on Windows, which has no such owners and modes', () => {
  const { shared, file } = newExposed()
  vi.stubGlobal('process', { ...process, geteuid: undefined, cwd: process.cwd })
  expect(() => refuseUntrustedPath(file)).not.toThrow()
  expect(() => refuseUntrustedFolder(shared)).not.toThrow()
  expect(() => refuseUntrustedStats(file, statSync(file))).not.toThrow()
})

it.each([
  ['/var/lib/tabbat_1/root-key.txt', '/var/lib/tabbat_1/root-key.txt'],
  ['/a b', `'/a b'`],
  ['/$HOME;x', `'/$HOME;x'`],
  [`/it's 'so'`, `'/it'\\''s '\\''so'\\'''`],
])('%s is quoted for a shell', (path, word) => expect(toWord(path)).toBe(word))
