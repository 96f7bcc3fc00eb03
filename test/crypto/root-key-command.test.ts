import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadRootKeys, parseRootKey } from '../../src/crypto/root-key.ts'
import { runKeyCommand } from '../../src/crypto/root-key-command.ts'

const KEY = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)
const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-root-'))

const load = (rootKeyCommand: readonly string[], dataDir = newFolder()) =>
  loadRootKeys({ rootKey: undefined, rootKeyPrevious: undefined, rootKeyCommand, dataDir }, true)
const runs = (script: string) => [process.execPath, '-e', script]
const prints = (text: string) => runs(`process.stdout.write(${JSON.stringify(text)})`)
const messageOf = (loading: Promise<unknown>) =>
  loading.then(
    () => 'loaded',
    (error: Error) => `${error.message}${error.stack}${JSON.stringify(error)}${String(error.cause)}`,
  )

describe('the root key of a command', () => {
  it('is what it prints, with white space around it', async () => {
    const dataDir = newFolder()
    const { candidates, origin } = await load(prints(`\n${KEY}\r\n`), dataDir)
    expect(candidates.map(({ fingerprint }) => fingerprint)).toEqual([parseRootKey(KEY, '').fingerprint])
    expect(origin).toBe('command')
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('may be two keys, during a rotation', async () => {
    const { candidates } = await load(prints(`${OTHER}\n${KEY}\n`))
    const expected = [OTHER, KEY].map((text) => parseRootKey(text, '').fingerprint)
    expect(candidates.map(({ fingerprint }) => fingerprint)).toEqual(expected)
  })

  it('passes its arguments unchanged, without a shell', async () => {
    const script = `if (process.argv[1] === '$HOME; *') console.log('${KEY}')`
    expect((await load([...runs(script), '$HOME; *'])).candidates).toHaveLength(1)
  })

  it('gives the command an empty standard input', async () => {
    const script = `process.stdin.resume().on('end', () => console.log('${KEY}'))`
    expect((await load(runs(script))).candidates).toHaveLength(1)
  })
})

describe('a command that prints no key', () => {
  it.each([
    [
      'fails, with its exit code',
      runs(`console.log('${KEY}'); console.error('trace ${KEY}'); process.exitCode = 7`),
      'TABBAT_ROOT_KEY_COMMAND exited with code 7. Run it in a terminal',
    ],
    ['is missing', ['/nowhere/vault'], 'could not be started (ENOENT). Its first word must be an executable'],
    ['prints nothing', prints(''), 'The output of TABBAT_ROOT_KEY_COMMAND must hold 32 bytes'],
    ['prints half a key', prints(KEY.slice(0, 40)), 'must hold 32 bytes'],
    ['prints far too much', prints(KEY.repeat(100)), 'printed more than 4096 bytes'],
    ['is ended by a signal', runs(`process.kill(process.pid, 'SIGTERM')`), 'was ended by the signal SIGTERM'],
  ])('%s', async (_what, command, expected) => {
    const message = await messageOf(load(command))
    expect(message).toContain(expected)
    expect(message).not.toContain(KEY.slice(0, 16))
  })

  it('is no program', async () => {
    const file = join(newFolder(), 'key.txt')
    writeFileSync(file, KEY, { mode: 0o600 })
    expect(await messageOf(load([file]))).toContain(
      'could not be started (EACCES). Its first word must be an executable program: no shell runs it.',
    )
  })

  it('does not end, also when asked to', async () => {
    const script = `process.on('SIGTERM', () => {}); console.log('${KEY}'); setInterval(() => {}, 1000)`
    const message = await messageOf(runKeyCommand(runs(script), 500))
    expect(message).toContain('did not finish within 0.5 seconds. Run it in a terminal')
    expect(message).not.toContain(KEY.slice(0, 16))
  })
})

it('a root.key beside the data is refused: it is not clear which key is meant', async () => {
  const dataDir = newFolder()
  writeFileSync(join(dataDir, 'root.key'), KEY, { mode: 0o600 })
  await expect(load(prints(KEY), dataDir)).rejects.toThrow(
    /there is also a root key at .*root\.key\. .*move the file.*unset TABBAT_ROOT_KEY_COMMAND/,
  )
})
