import { PassThrough, Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { readSecret } from '../../src/cli/prompt.ts'

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
