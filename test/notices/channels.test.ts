import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { type Channel, openChannels } from '../../src/notices/channels.ts'
import type { Message } from '../../src/notices/message.ts'
import { createCertificate } from '../certificate.ts'
import { answerWith, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type SmtpStandIn, startSmtp } from './smtp-stand-in.ts'

const MESSAGE: Message = {
  id: '0123456789abcdef0123456789abcdef',
  title: 'Critical: disk (node one)',
  paragraphs: [
    ['Critical: disk (node one)', 'The disk of /data is full: *free* <some> & [more](x) space.'],
    ['Ended: tls'],
  ],
  link: 'https://console.example.com/console#/incidents',
}

const open = (settings: Record<string, string>): Channel => {
  const [channel] = openChannels(loadConfig(settings, ''))
  if (!channel) throw new Error('no channel is configured')
  return channel
}
/** A time limit of the test instead of the 30 seconds of an attempt. */
const sendFor = (channel: Channel, ms: number) => channel.send(MESSAGE, AbortSignal.timeout(ms))

const trusted = createCertificate()
const before = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...before, trusted.cert]))
afterAll(() => setDefaultCACertificates(before))

describe('e-mail', () => {
  let server: SmtpStandIn
  beforeEach(async () => {
    server = await startSmtp({ certificate: trusted })
  })
  afterEach(() => server.close())

  const openMail = (url: string, to = 'ops@example.com, night@example.com') =>
    open({ TABBAT_NOTICES_SMTP: url, TABBAT_NOTICES_FROM: 'tabbat@example.com', TABBAT_NOTICES_TO: to })
  const openUsual = () => openMail(`smtp://tabbat:secret%20word@localhost:${server.port}`)

  it('is sent over STARTTLS, with user and password, to all recipients', async () => {
    expect(await openUsual().send(MESSAGE)).toEqual({
      isSent: true,
      problem: undefined,
      retryAfterMs: undefined,
    })
    const [mail] = server.received
    expect(mail).toMatchObject({
      isEncrypted: true,
      user: 'tabbat',
      from: expect.stringContaining('tabbat@example.com'),
    })
    expect(mail?.to).toHaveLength(2)
    expect(mail?.data).toContain('Subject: Tabbat: Critical: disk (node one)')
    expect(mail?.data).toContain('Message-ID: <0123456789abcdef0123456789abcdef@example.com>')
    expect(mail?.data).toContain('Auto-Submitted: auto-generated')
    expect(mail?.data).toContain('The disk of /data is full: *free* <some> & [more](x) space.')
    expect(mail?.data).toContain('https://console.example.com/console#/incidents')
  })

  it('says nothing but EHLO and STARTTLS before the connection is encrypted', async () => {
    await openUsual().send(MESSAGE)
    expect(server.plainCommands).toEqual(['EHLO', 'STARTTLS'])
  })

  it('is not sent without encryption when the server does not offer it', async () => {
    server.offersTls = false
    server.fault = { at: 'starttls', reply: '454 not available' }
    expect(await openUsual().send(MESSAGE)).toMatchObject({ isSent: false, problem: 'no_tls' })
    expect(server.plainCommands).not.toContain('AUTH')
    expect(server.received).toEqual([])
  })

  it('is sent with TLS from the start', async () => {
    const implicit = await startSmtp({ certificate: trusted, isImplicit: true })
    const channel = openMail(`smtps://tabbat:secret%20word@localhost:${implicit.port}`)
    expect(await channel.send(MESSAGE)).toMatchObject({ isSent: true })
    expect(implicit.received).toMatchObject([{ isEncrypted: true, user: 'tabbat' }])
    await implicit.close()
  })

  it.each([
    ['of another authority', createCertificate()],
    ['for another name', createCertificate({ name: 'mail.example.com' })],
  ])('is not sent to a server with a certificate %s', async (_what, certificate) => {
    for (const isImplicit of [false, true]) {
      const other = await startSmtp({ certificate, isImplicit })
      const url = `${isImplicit ? 'smtps' : 'smtp'}://tabbat:secret%20word@localhost:${other.port}`
      expect(await openMail(url).send(MESSAGE)).toMatchObject({ isSent: false, problem: 'bad_certificate' })
      expect(other.received).toEqual([])
      await other.close()
    }
  })

  it('is sent to a relay in plain text only if the setting says so', async () => {
    server.offersTls = false
    expect(await openMail(`smtp://127.0.0.1:${server.port}?tls=off`).send(MESSAGE)).toMatchObject({
      isSent: true,
    })
    expect(server.received).toMatchObject([{ isEncrypted: false, user: undefined }])
  })

  it.each([
    ['connect', '421 busy', 'failing'],
    ['connect', '554 go away', 'refused'],
    ['auth', '535 wrong', 'credentials'],
    ['auth', '454 later', 'failing'],
    ['mail', '550 no', 'recipient_refused'],
    ['mail', '451 later', 'failing'],
    ['rcpt', '550 no', 'recipient_refused'],
    ['rcpt', '450 greylisted', 'failing'],
    ['data', '554 no', 'refused'],
    ['end', '552 too large', 'refused'],
    ['end', '451 later', 'failing'],
    ['connect', 'drop', 'cut_off'],
    ['ehlo', 'drop', 'cut_off'],
    ['body', 'drop', 'cut_off'],
    ['end', 'drop', 'cut_off'],
  ] as const)('fails when the server says at %s: %s', async (at, reply, problem) => {
    server.fault = { at, reply }
    expect(await openUsual().send(MESSAGE)).toMatchObject({ isSent: false, problem })
    expect(server.received).toEqual([])
  })

  it.each(['connect', 'ehlo', 'auth', 'data', 'end'] as const)(
    'ends at its time limit when the server is silent or drips at %s',
    async (at) => {
      for (const reply of ['hang', 'drip'] as const) {
        server.fault = { at, reply }
        expect(await sendFor(openUsual(), 1500)).toMatchObject({ isSent: false, problem: 'too_slow' })
      }
    },
  )

  it('is sent to the other recipients when one is refused, and says so', async () => {
    server.refused = ['night@example.com']
    expect(await openUsual().send(MESSAGE)).toMatchObject({ isSent: true, problem: 'some_refused' })
    expect(server.received[0]?.to).toHaveLength(1)
  })

  it('fails when nobody listens, or the name is unknown', async () => {
    await server.close()
    expect(await openUsual().send(MESSAGE)).toMatchObject({ problem: 'no_connection' })
    expect(await openMail('smtp://mail.invalid').send(MESSAGE)).toMatchObject({ problem: 'no_such_host' })
    server = await startSmtp()
  })
})

describe.each([
  ['slack', 'TABBAT_NOTICES_SLACK'],
  ['teams', 'TABBAT_NOTICES_TEAMS'],
] as const)('%s', (name, setting) => {
  let receiver: Receiver
  let channel: Channel
  beforeEach(async () => {
    receiver = await startReceiver()
    channel = open({ [setting]: receiver.url })
  })
  afterEach(async () => {
    await channel.close()
    await receiver.close()
  })

  it('gets the message as JSON, at its whole address', async () => {
    // Slack answers 200 and ok; a workflow of Teams answers 202.
    receiver.answer = answerWith(name === 'slack' ? 200 : 202)
    expect(await channel.send(MESSAGE)).toMatchObject({ isSent: true, problem: undefined })
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received
    expect(path).toBe('/hooks?shop=1')
    expect(headers['content-type']).toBe('application/json')
    if (name === 'slack')
      expect(JSON.parse(body)).toEqual({
        text: [
          '*Tabbat: Critical: disk (node one)*',
          'Critical: disk (node one)',
          'The disk of /data is full: *free* &lt;some&gt; &amp; [more](x) space.',
          '',
          'Ended: tls',
          '',
          'https://console.example.com/console#/incidents',
        ].join('\n'),
      })
    else expectCard(JSON.parse(body))
  })

  it.each([
    [400, 'refused'],
    [403, 'refused'],
    [404, 'gone'],
    [410, 'gone'],
    [500, 'failing'],
    [503, 'failing'],
    [302, 'redirected'],
  ])('that answers %i has failed: %s', async (status, problem) => {
    receiver.answer = answerWith(status, status === 302 ? { location: 'http://127.0.0.1/' } : {})
    expect(await channel.send(MESSAGE)).toMatchObject({ isSent: false, problem })
    expect(receiver.received).toHaveLength(1)
  })

  it('that answers 429 is left alone for as long as it asks, at most an hour', async () => {
    receiver.answer = answerWith(429, { 'retry-after': '30' })
    expect(await channel.send(MESSAGE)).toEqual({ isSent: false, problem: 'too_many', retryAfterMs: 30_000 })
    receiver.answer = answerWith(429, { 'retry-after': '999999' })
    expect(await channel.send(MESSAGE)).toMatchObject({ retryAfterMs: 3_600_000 })
  })

  it('that does not answer has failed at the time limit', async () => {
    receiver.answer = () => {}
    expect(await sendFor(channel, 300)).toMatchObject({ isSent: false })
  })

  it('that closes the connection has failed', async () => {
    receiver.answer = (_request, response) => void response.destroy()
    expect(await channel.send(MESSAGE)).toMatchObject({ isSent: false, problem: 'cut_off' })
  })

  it('is not called if its name has a private address, unless the setting allows it', async () => {
    const { lookup } = dns
    dns.lookup = ((_host: string, _options: object, done: (...result: unknown[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as typeof dns.lookup
    syncBuiltinESMExports()
    const url = `https://chat.example:${new URL(receiver.url).port}/secret-path`
    const [named, allowed] = [
      open({ [setting]: url }),
      open({ [setting]: url, TABBAT_NOTICES_PRIVATE: 'on' }),
    ]
    try {
      expect(await named.send(MESSAGE)).toMatchObject({ problem: 'private_address' })
      // The receiver does not speak TLS.
      expect(await allowed.send(MESSAGE)).toMatchObject({ problem: 'no_tls' })
    } finally {
      dns.lookup = lookup
      syncBuiltinESMExports()
      await Promise.all([named.close(), allowed.close()])
    }
  })
})

/** The form that a workflow posts: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors. */
function expectCard(body: Record<string, unknown>): void {
  expect(body).toMatchObject({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          version: '1.2',
          actions: [{ type: 'Action.OpenUrl', url: 'https://console.example.com/console#/incidents' }],
        },
      },
    ],
  })
  const [{ content }] = body.attachments as [
    { content: { body: { inlines: { type: string; text: string }[] }[] } },
  ]
  expect(content.body.flatMap(({ inlines }) => inlines.map(({ text }) => text))).toEqual([
    'Tabbat: Critical: disk (node one)',
    'Critical: disk (node one)',
    'The disk of /data is full: *free* <some> & [more](x) space.',
    'Ended: tls',
  ])
}
