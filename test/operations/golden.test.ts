import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { openTestApp, PHONE, type TestApp } from '../app.ts'

/**
 * Whole responses, byte for byte, to requests without names and dates of birth. They are what existing clients read, so these
 * files change only with the contract.
 */
const REQUESTS = {
  'verify-nin': ['verify-nin', { nin: '12345678901', phone: PHONE }],
  'verify-nin-not-verified': ['verify-nin', { nin: '00000000422', phone: PHONE }],
  'verify-nin-sparse': ['verify-nin', { nin: '00000000001', phone: PHONE }],
  'verify-bvn': ['verify-bvn', { bvn: '22345678901', phone: PHONE, amount: '100.00' }],
  'verify-bvn-not-verified': ['verify-bvn', { bvn: '00000000422', phone: PHONE, amount: '100.00' }],
} as const

let server: TestApp
let address: URL
beforeAll(async () => {
  server = await openTestApp()
  address = new URL(await server.app.listen({ host: '127.0.0.1', port: 0 }))
})
afterAll(() => server.close())

/** The response as it is on the wire, with what differs between two runs replaced. */
async function read(path: string, body: object): Promise<string> {
  const payload = JSON.stringify(body)
  const socket = connect(Number(address.port), address.hostname)
  socket.write(
    [
      `POST /api/v2/kyc/${path} HTTP/1.1`,
      'Host: tabbat.example',
      'X-Request-Id: golden-request',
      `Authorization: Bearer ${SANDBOX_KEY}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(payload)}`,
      'Connection: close',
      '',
      payload,
    ].join('\r\n'),
  )
  return (await text(socket))
    .replace(/^date: .*\r\n/im, 'date: DATE\r\n')
    .replace(/^ratelimit: .*\r\n/im, 'ratelimit: RATE\r\n')
    .replaceAll(/ver_[0-9a-z]{36}/g, `ver_${'0'.repeat(36)}`)
    .replaceAll('\r\n', '\n')
}

describe('the response without details', () => {
  it.each(Object.entries(REQUESTS))('%s is the same as ever', async (name, [path, body]) => {
    await expect(await read(path, body)).toMatchFileSnapshot(`golden/${name}.txt`)
  })
})
