import { PassThrough, Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { confirm, readSecret, readShortFile } from '../../src/cli/prompt.ts'

it('the terminal shows nothing of what is typed from the moment of the question on', async () => {
  const events: string[] = []
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => void events.push(isRaw ? 'hides' : 'shows'),
  })
  const output = new Writable({
    write: (piece, _encoding, done) => {
      events.push(String(piece))
      done()
    },
  })
  const secret = readSecret('NIN (not shown): ', { input, output })
  input.write('12345678901\r')
  expect(await secret).toBe('12345678901')
  expect(events).toEqual(['hides', 'NIN (not shown): ', 'shows', '\n'])
})

describe('a question', () => {
  /** A terminal on which this is typed. */
  const toTerminal = (typed: string) => {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
    input.end(typed)
    return { input, output: new Writable({ write: (_piece, _encoding, done) => done() }) }
  }

  it.each([
    ['y', true],
    [' YES ', true],
    ['', false],
    ['n', false],
    ['yes, all of them', false],
  ])('that is answered with %j is confirmed: %j', async (typed, expected) => {
    expect(await confirm('Delete it?', toTerminal(`${typed}\r`))).toBe(expected)
  })

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
    ['the end of the input', ''],
  ])('that is ended by %s is cancelled', async (_what, typed) => {
    await expect(confirm('Delete it?', toTerminal(typed))).rejects.toThrow('Cancelled. Nothing was changed.')
  })
})

describe('without a terminal', () => {
  const output = new Writable({ write: (_piece, _encoding, done) => done() })

  it('a number is read from standard input to its end, and asked for by nobody', async () => {
    const input = Readable.from(['123', '45678901\n'])
    expect(await readSecret('NIN (not shown): ', { input, output })).toBe('12345678901\n')
  })

  it('a file that was given by mistake is not read to its end', async () => {
    let given = 0
    const input = Readable.from(
      (function* () {
        for (; ; given++) yield 'x'.repeat(1000)
      })(),
    )
    await expect(readSecret('', { input, output })).rejects.toThrow('Standard input is too long.')
    expect(given).toBeLessThan(100)
  })
})

it('a file with a number that is not there, or is a folder, is refused without its name: a number may stand in it', async () => {
  await expect(readShortFile('/nowhere/12345678901')).rejects.toThrow(
    /^The file with the number cannot be read \(ENOENT\)\.$/,
  )
  await expect(readShortFile('src')).rejects.toThrow(/^The file with the number cannot be read \(EISDIR\)\.$/)
})
