import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { phoneInput } from '../../src/contract/person.ts'
import { createAdmission } from '../../src/http/admission.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

let server: TestApp
beforeAll(async () => {
  server = await openTestApp()
  await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

const port = () => (server.app.server.address() as AddressInfo).port

describe('the limits of incoming requests', () => {
  it('are set on the server', () => {
    const { requestTimeout, headersTimeout, keepAliveTimeout } = server.app.server
    expect([requestTimeout, headersTimeout, keepAliveTimeout]).toEqual([15_000, 10_000, 65_000])
  })

  it('end a request whose body never arrives with 408, and do not count it as a success', async () => {
    server.app.server.requestTimeout = 100
    server.app.server.headersTimeout = 100
    const socket = connect(port(), '127.0.0.1')
    const { authorization } = bearer()
    socket.write(
      `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: 10\r\n\r\n`,
    )
    const answer = await text(socket)
    server.app.server.requestTimeout = 15_000
    server.app.server.headersTimeout = 10_000
    expect(answer).toMatch(/^HTTP\/1.1 408 /)
    expect(answer).toContain('"code":"request_timeout"')
    const print = () => server.context.metrics.print()
    await expect.poll(print).toContain('operation="verify_nin",mode="test",outcome="aborted"')
    expect(await print()).not.toContain('operation="verify_nin",mode="test",outcome="ok"')
  })

  it('refuse a long phone without matching its pattern', async () => {
    const phones = ['('.repeat(16_000), `${' ().-'.repeat(3000)}x`]
    for (const phone of phones) {
      const answer = await server.app.inject({
        method: 'POST',
        url: '/api/v2/kyc/verify-nin',
        headers: bearer(),
        payload: { nin: '12345678901', phone },
      })
      expect(answer.json().errors.phone[0]).toMatch(/^phone must be a Nigerian mobile/)
    }
    // The pattern is quadratic: 64 characters are microseconds, 16 000 would be a second and more.
    expect(phoneInput).toMatchObject({ maxLength: 64 })
  })

  it('answer a request without Host, and an unknown expectation, in our shape', async () => {
    for (const line of ['X: 1', 'Host: x\r\nExpect: banana']) {
      const socket = connect(port(), '127.0.0.1')
      await once(socket, 'connect')
      socket.write(`GET /api/v2/sme-data/list HTTP/1.1\r\n${line}\r\nConnection: close\r\n\r\n`)
      const answer = await text(socket)
      expect(answer.toLowerCase()).toContain('x-request-id: req_')
      expect(answer).toMatch(/\{"(success|message)":/)
    }
  })
})

describe('overload', () => {
  const standStill = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1400)

  it('begins when the event loop was blocked while many requests are in flight, and ends when it runs again', async () => {
    // On a busy machine, a loop gets too little of the processor to tell it from a process that was stopped.
    const usage = vi.spyOn(process, 'threadCpuUsage')
    usage.mockImplementation((before) => ({
      user: performance.now() * 1000 - (before?.user ?? 0),
      system: 0,
    }))
    onTestFinished(() => usage.mockRestore())
    const overload = createAdmission({ all: 100, perKey: 100 })
    const enter = () => overload.enter('key')
    standStill()
    await new Promise((done) => setImmediate(() => setTimeout(done, 1)))
    const first = Array.from({ length: 16 }, enter)
    expect(first).toEqual(Array(16).fill(undefined))
    expect(await enter()).toBe(false)
    while ((await enter()) === false);
    overload.close()
  })

  it('does not begin when the process was stopped, which is no load', async () => {
    const overload = createAdmission({ all: 100, perKey: 100 })
    standStill()
    await new Promise((done) => setImmediate(() => setTimeout(done, 1)))
    expect(Array.from({ length: 20 }, () => overload.enter('key'))).toEqual(Array(20).fill(undefined))
    overload.close()
  })
})
