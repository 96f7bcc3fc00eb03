import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { whyMissing } from '../cluster/programs.ts'
import { outputOf } from './readme-examples.ts'

const missing = whyMissing('python3')

/** The lines that a program with the clients for Python prints. */
const linesOf = async (program: string) => {
  const file = join(import.meta.dirname, 'runners', program)
  const output = await outputOf(['python3', file], { PYTHONPATH: 'packages/python/src' })
  return output.trim().split('\n')
}

describe('the clients for Python', () => {
  if (missing) return void it.skip(`are not tested: ${missing}`)

  it('do not use a connection again that has bytes nobody asked for', async () => {
    expect(await linesOf('connections.py')).toEqual([
      "sync, nothing unread: ['ver_1', 'ver_2'] 1",
      "sync, unread later: ['ver_1', 'ver_2'] 2",
      "async, nothing unread: ['ver_1', 'ver_2'] 1",
      "async, unread at once: ['ver_1', 'ver_2'] 2",
      "async, unread later: ['ver_1', 'ver_2'] 2",
      "async, unread while the loop does not run: ['ver_1', 'ver_2'] 2",
    ])
  })

  it('show neither key nor person in the traceback of a call that a signal or a cancellation interrupts', async () => {
    expect(await linesOf('interrupted.py')).toEqual([
      "sync: SoftTimeLimit ['verify_nin', '_run'] []",
      "stream: SoftTimeLimit ['_stream'] []",
      "async: CancelledError ['verify_nin', '_run'] []",
      'context: True True',
    ])
  })

  it('refuse a webhook whose headers or body are no text, without the secret in the traceback', async () => {
    expect(await linesOf('webhook_errors.py')).toEqual([
      'a surrogate in the id: invalid_signature []',
      'a letter that is not ASCII in the id: invalid_signature []',
      'a line end in the id: invalid_signature []',
      'an id that is too long: invalid_signature []',
      'an id in bytes: invalid_signature []',
      'a surrogate in the body: invalid_signature []',
      'no body: TypeError []',
      'no headers: AttributeError []',
    ])
  })

  it('send a port in Host only if it is not the default one', async () => {
    expect(await linesOf('host_header.py')).toEqual([
      'https://tabbat.example.com tabbat.example.com tabbat.example.com',
      'https://tabbat.example.com:8443 tabbat.example.com:8443 tabbat.example.com:8443',
      'https://tabbat.example.com:80 tabbat.example.com:80 tabbat.example.com:80',
      'http://tabbat.example.com tabbat.example.com tabbat.example.com',
      'http://tabbat.example.com:443 tabbat.example.com:443 tabbat.example.com:443',
      'https://[2001:db8::1] [2001:db8::1] [2001:db8::1]',
    ])
  })
})
