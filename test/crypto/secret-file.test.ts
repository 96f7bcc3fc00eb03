import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createSecretFile,
  deleteDrafts,
  isReadableByAll,
  readSecretFile,
  replaceSecretFile,
} from '../../src/crypto/secret-file.ts'
import { UntrustedPath } from '../../src/crypto/trusted-path.ts'

const OTHER = 4711
const SECRET = 'a secret\n'
/** Not /tmp: files in memory count as secrets of a container. */
const DISK = '/var/tmp'
const TMPFS = 0x01021994

const made: string[] = []
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true })
})

function newFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'tabbat secret '))
  made.push(folder)
  return folder
}

let path: string
beforeEach(() => {
  path = join(newFolder(), 'secret')
})

function write(mode: number, at = path): string {
  writeFileSync(at, SECRET)
  chmodSync(at, mode)
  return at
}

describe.skipIf(process.getuid === undefined)('a private secret', () => {
  it('is read if only its owner can read it', () => {
    expect(readSecretFile(write(0o600), 'private')).toBe(SECRET)
    expect(readSecretFile(write(0o400), 'private')).toBe(SECRET)
    expect(readSecretFile(write(0o700), 'private')).toBe(SECRET)
  })

  it.each([0o604, 0o602, 0o601, 0o640, 0o620, 0o610])('is refused with mode %o', (mode) => {
    write(mode)
    expect(() => readSecretFile(path, 'private')).toThrow(UntrustedPath)
    expect(() => readSecretFile(path, 'private')).toThrow(
      `${path} holds a secret, and other users of this machine can read or change it. Type: chmod 600 '${path}'`,
    )
  })

  it('is refused in a folder that others may write to', () => {
    write(0o600)
    chmodSync(join(path, '..'), 0o777)
    expect(() => readSecretFile(path, 'private')).toThrow('can write to')
  })

  it('that does not exist, or is a folder, is an error of the file system', () => {
    expect(() => readSecretFile(path, 'private')).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    mkdirSync(path)
    expect(() => readSecretFile(path, 'private')).toThrow(expect.objectContaining({ code: 'EISDIR' }))
  })

  it.runIf(process.getuid?.() === 0)('must not belong to another user', () => {
    write(0o600)
    chownSync(path, OTHER, -1)
    expect(() => readSecretFile(path, 'private')).toThrow('sudo chown 0 ')
  })
})

const isDisk = process.platform === 'linux' && statfsSync(DISK).type !== TMPFS

describe.runIf(process.platform === 'linux')('a secret in a file that the operator names', () => {
  it.runIf(isDisk)('may be read by its group, and not by everyone', () => {
    const onDisk = join(newFolder(DISK), 'secret')
    expect(readSecretFile(write(0o640, onDisk), 'mounted')).toBe(SECRET)
    for (const mode of [0o644, 0o660, 0o650, 0o604]) {
      write(mode, onDisk)
      expect(() => readSecretFile(onDisk, 'mounted'), mode.toString(8)).toThrow(`chmod 640 '${onDisk}'`)
    }
  })

  it('may be read by everyone where containers mount secrets, and changed by nobody', () => {
    const mounted = join(newFolder('/dev/shm'), 'secret')
    expect(readSecretFile(write(0o444, mounted), 'mounted')).toBe(SECRET)
    for (const mode of [0o446, 0o464, 0o445, 0o454]) {
      write(mode, mounted)
      expect(() => readSecretFile(mounted, 'mounted'), mode.toString(8)).toThrow(UntrustedPath)
    }
  })

  it('may be a device, such as a terminal', () => {
    expect(readSecretFile('/dev/null', 'mounted')).toBe('')
  })
})

describe.runIf(process.platform === 'linux')('the root key in a file that the operator names', () => {
  const read = (at: string, isContainer = false) => readSecretFile(at, 'root', () => isContainer)

  it.runIf(process.getuid?.() === 0)('may be read by the group of this process, and by no other', () => {
    for (const mode of [0o600, 0o400, 0o440, 0o640]) expect(read(write(mode)), mode.toString(8)).toBe(SECRET)
    for (const mode of [0o644, 0o604, 0o660, 0o650])
      expect(() => read(write(mode)), mode.toString(8)).toThrow(`chmod 640 '${path}'`)
    chownSync(write(0o640), -1, OTHER)
    expect(() => read(path)).toThrow(`chmod 600 '${path}'`)
  })

  it('may be read by everyone only inside a container, where its secrets are mounted', () => {
    const mounted = write(0o444, join(newFolder('/dev/shm'), 'secret'))
    expect(() => read(mounted)).toThrow(UntrustedPath)
    expect(read(mounted, true)).toBe(SECRET)
  })

  it.runIf(isDisk)('may not be read by everyone on the disk of a container', () => {
    const onDisk = write(0o444, join(newFolder(DISK), 'secret'))
    expect(() => read(onDisk, true)).toThrow(UntrustedPath)
  })
})

describe.runIf(process.getuid?.() === 0)('a named pipe', () => {
  const newPipe = () => {
    expect(spawnSync('mkfifo', ['-m', '600', path]).status).toBe(0)
    return path
  }

  it('of this user is read to its end', async () => {
    // Opening waits for the writer, a process of its own.
    const writer = spawn('sh', ['-c', 'printf "a secret\\n" > "$0"', newPipe()])
    expect(readSecretFile(path, 'private')).toBe(SECRET)
    await once(writer, 'exit')
  })

  it('of another user is refused before it is opened, which would wait for a writer', () => {
    chownSync(newPipe(), OTHER, OTHER)
    expect(() => readSecretFile(path, 'mounted')).toThrow('belongs to another user')
  })
})

describe('a new secret file', () => {
  it('is readable by its owner alone, whole, and beside no draft', () => {
    expect(createSecretFile(path, SECRET)).toBe(true)
    expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o600, SECRET])
    expect(readdirSync(join(path, '..'))).toEqual(['secret'])
  })

  it('does not replace one that exists', () => {
    createSecretFile(path, 'first')
    expect(createSecretFile(path, 'second')).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe('first')
    expect(readdirSync(join(path, '..'))).toEqual(['secret'])
  })

  it('that cannot be written is an error', () => {
    expect(() => createSecretFile(join(path, 'below'), SECRET)).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    )
  })

  it('replaces the old one at once, with the same permissions', () => {
    createSecretFile(path, 'first')
    const before = statSync(path).ino
    replaceSecretFile(path, 'second')
    expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o600, 'second'])
    expect(statSync(path).ino).not.toBe(before)
    expect(readdirSync(join(path, '..'))).toEqual(['secret'])
  })

  it('that cannot be replaced is an error, and leaves no draft', () => {
    mkdirSync(path)
    expect(() => replaceSecretFile(path, SECRET)).toThrow(expect.objectContaining({ syscall: 'rename' }))
    expect(readdirSync(join(path, '..'))).toEqual(['secret'])
  })
})

it('drafts of this file are deleted, and no other files', () => {
  const [id, others] = [randomUUID(), ['secret', 'secret.20260301', 'secret.draft-2', 'secret.old.key']]
  for (const name of [...others, `secret.draft-${id}`, `other.draft-${id}`])
    writeFileSync(join(path, '..', name), SECRET)
  deleteDrafts(path)
  expect(readdirSync(join(path, '..')).toSorted()).toEqual([`other.draft-${id}`, ...others])
})

it.skipIf(process.getuid === undefined)('a warning is due for a file that everyone can read', () => {
  const modes = [0o604, 0o640, 0o602, 0o601, 0o600].map((mode) => isReadableByAll(write(mode)))
  expect(modes).toEqual([true, false, false, false, false])
  expect(isReadableByAll(`${path}.none`)).toBe(false)
})
