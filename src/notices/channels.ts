import { connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import type { SMTPTransportOptions } from 'nodemailer'
import { HOUR_MS } from '../contract/time.ts'
import { openPost } from '../sources/http.ts'
import { isPrivateAddress } from '../sources/public-address.ts'
import { SourceError } from '../sources/source.ts'
import { withDeadline } from '../telemetry/running-clock.ts'
import { VERSION } from '../version.ts'
import { type Message, toLines } from './message.ts'
import { type ChannelName, listChannels, type NoticeConfig, type SmtpServer } from './settings.ts'

/** Why a message was not sent, and what to do. The words of the other side are never repeated. */
const NOTICE_PROBLEMS = {
  no_such_host: 'The host name is not known. Check the setting, and the DNS of this machine.',
  no_connection: 'No connection can be made. The server may be down, or a firewall blocks it.',
  slow_connection: 'The connection was not made in time. The server may be down, or a firewall drops it.',
  bad_certificate:
    'The TLS certificate is not valid for this host. For your own certificate authority, set NODE_EXTRA_CA_CERTS.',
  no_tls:
    'No TLS connection could be made. Check port and scheme: smtps:// is TLS from the start, smtp:// needs STARTTLS.',
  private_address: 'The host name has a private address. If that is intended, set TABBAT_NOTICES_PRIVATE=on.',
  too_slow: 'The server did not answer in time.',
  cut_off: 'The server closed the connection before it had taken the message.',
  redirected: 'The server answered with a redirect, which is not followed. Check the address.',
  credentials: 'The mail server does not accept user and password. Check the setting.',
  recipient_refused: 'The mail server refuses the sender or a recipient. Check both settings.',
  some_refused:
    'The message was sent, but the mail server refuses some of the recipients. Check TABBAT_NOTICES_TO.',
  gone: 'The address is no longer in use, or was never. Create a new one, and replace the setting.',
  refused:
    'The server refuses the message. Create a new address in the chat, or ask the operator of the mail server.',
  too_many: 'The server takes no more messages for now.',
  failing: 'The server reports an error of its own. It is tried again later.',
} as const
type NoticeProblem = keyof typeof NOTICE_PROBLEMS

/** Of a problem as the database has it. */
export const toProblemText = (problem: string | undefined): string =>
  problem === undefined ? '' : (NOTICE_PROBLEMS[problem as NoticeProblem] ?? 'The reason is not known.')

type SendResult = {
  readonly isSent: boolean
  readonly problem: NoticeProblem | undefined
  /** The server asked for a pause. */
  readonly retryAfterMs: number | undefined
}

/** One way to people. It is opened with the first message. */
export type Channel = {
  readonly name: ChannelName
  /** The host, and nothing secret. */
  readonly host: string
  readonly send: (message: Message, signal?: AbortSignal) => Promise<SendResult>
  readonly close: () => Promise<void>
}

export const openChannels = (config: NoticeConfig): Channel[] =>
  listChannels(config).map((name) => (name === 'email' ? openEmail(config) : openHook(name, config)))

const SENT: SendResult = { isSent: true, problem: undefined, retryAfterMs: undefined }
const toFailure = (problem: NoticeProblem, retryAfterMs?: number): SendResult => ({
  isSent: false,
  problem,
  retryAfterMs,
})

/** For the whole attempt. */
const SEND_MS = 30_000
const MAX_REPLY_BYTES = 16 * 1024

/** Slack, Teams and what is like them: one POST of JSON. */
function openHook(name: 'slack' | 'teams', config: NoticeConfig): Channel {
  const url = (name === 'slack' ? config.noticesSlack : config.noticesTeams) ?? ''
  const { hostname: host } = new URL(url)
  const { post, close } = openPost({
    // An address that the setting itself names is intended, as with vendors.
    allowPrivate: config.noticesPrivate === 'on' || isPrivateAddress(host),
    timeoutMs: SEND_MS,
    maxReplyBytes: MAX_REPLY_BYTES,
    maxRetryAfterMs: HOUR_MS,
  })
  const headers = { 'content-type': 'application/json', 'user-agent': `Tabbat/${VERSION}` }
  const toBody = name === 'slack' ? toSlackBody : toTeamsBody
  return {
    name,
    host,
    send: async (message, signal) => {
      try {
        const { status, retryAfterMs } = await post({
          url,
          headers,
          body: JSON.stringify(toBody(message)),
          signal,
        })
        const problem = toHttpProblem(status)
        return problem === undefined ? SENT : toFailure(problem, retryAfterMs)
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        const { problem = 'cut_off' } = error
        return toFailure(problem in NOTICE_PROBLEMS ? (problem as NoticeProblem) : 'cut_off')
      }
    },
    close,
  }
}

function toHttpProblem(status: number): NoticeProblem | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 404 || status === 410) return 'gone'
  if (status === 429) return 'too_many'
  return status >= 500 ? 'failing' : 'refused'
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
const toSlackBody = (message: Message) => ({
  text: escapeSlack(`*${toTitleLine(message)}*\n${toLines(message)}`),
})

/** These three have a meaning in the text of Slack: links, and names that notify everybody. */
const escapeSlack = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const toTitleLine = ({ title }: Message) => `Tabbat: ${title}`

/**
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using. Text runs are shown as they are; a
 * text block would read some of their characters as Markdown.
 */
const toTeamsBody = (message: Message) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.2',
        body: [
          toRichText(toTitleLine(message), { weight: 'bolder', size: 'medium' }),
          ...message.paragraphs.flatMap((lines) =>
            lines.map((line, index) => ({ ...toRichText(line), spacing: index === 0 ? 'medium' : 'none' })),
          ),
        ],
        ...(message.link !== undefined && {
          actions: [{ type: 'Action.OpenUrl', title: 'Open the console', url: message.link }],
        }),
      },
    },
  ],
})

const toRichText = (text: string, look: Readonly<Record<string, string>> = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...look }],
})

function openEmail(config: NoticeConfig): Channel {
  const { noticesSmtp: server, noticesFrom: from = '', noticesTo: to = [] } = config
  if (server === undefined) throw new Error('no mail server is configured')
  return {
    name: 'email',
    host: server.host,
    send: async (message, signal) => {
      try {
        return await withDeadline(
          SEND_MS,
          (deadline) => sendMail(server, { from, to, message }, deadline),
          signal,
        )
      } catch (error) {
        return toFailure(toMailProblem(error))
      }
    },
    close: async () => {},
  }
}

type Mail = { readonly from: string; readonly to: readonly string[]; readonly message: Message }

/** The socket is ours, so that the deadline ends it, whatever the server does. Private addresses are allowed: a relay has one. */
async function sendMail(
  server: SmtpServer,
  { from, to, message }: Mail,
  signal: AbortSignal,
): Promise<SendResult> {
  const { createTransport } = await import('nodemailer')
  const socket = await openSocket(server, signal)
  const end = () => socket.destroy(new TooSlow())
  signal.addEventListener('abort', end, { once: true })
  try {
    const transport = createTransport({ ...toTransport(server), getSocket: giveSocket(socket) })
    const sent = await transport.sendMail({
      from: { name: 'Tabbat', address: from },
      to: [...to],
      subject: toTitleLine(message),
      text: toLines(message),
      messageId: `<${message.id}@${from.split('@')[1]}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    })
    return sent.rejected.length === 0 ? SENT : { ...SENT, problem: 'some_refused' }
  } catch (error) {
    throw signal.aborted ? new TooSlow() : error
  } finally {
    signal.removeEventListener('abort', end)
    socket.destroy()
  }
}

class TooSlow extends Error {}

type GetSocket = NonNullable<SMTPTransportOptions['getSocket']>

const giveSocket =
  (connection: Socket): GetSocket =>
  (_options, done) =>
    done(null, { connection })

const toTransport = ({ host, port, tls, user, password }: SmtpServer): SMTPTransportOptions => ({
  host,
  port,
  name: hostname().replaceAll(/[^A-Za-z0-9.-]/g, '') || 'tabbat',
  secure: tls === 'implicit',
  requireTLS: tls === 'starttls',
  ignoreTLS: tls === 'off',
  // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
  tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', host },
  ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
  // Nothing in a message may name a file or an address to read.
  disableFileAccess: true,
  disableUrlAccess: true,
})

function openSocket({ host, port }: SmtpServer, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host, port, signal })
  socket.once('connect', () => {
    socket.off('error', reject)
    // Errors after this are told by the transport, which listens too.
    socket.on('error', () => {})
    resolve(socket)
  })
  socket.once('error', reject)
  return promise
}

type MailError = Error & { readonly code?: string; readonly responseCode?: number; readonly command?: string }

const NO_HOST = ['ENOTFOUND', 'EAI_AGAIN', 'EDNS']
const UNREACHABLE = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EACCES', 'EPERM']
const CERTIFICATE = /CERT|SELF_SIGNED|ISSUER|ALTNAME|UNABLE_TO_/

function toMailProblem(error: unknown): NoticeProblem {
  const { name, code = '', cause } = error as MailError
  if (error instanceof TooSlow || name === 'AbortError' || code === 'ETIMEDOUT') return 'too_slow'
  const codes = [code, (cause as MailError | undefined)?.code ?? '']
  return toConnectionProblem(codes, error as MailError) ?? toReplyProblem(error as MailError)
}

function toConnectionProblem(codes: readonly string[], error: MailError): NoticeProblem | undefined {
  if (codes.some((each) => NO_HOST.includes(each))) return 'no_such_host'
  if (codes.some((each) => UNREACHABLE.includes(each))) return 'no_connection'
  if (codes.some((each) => CERTIFICATE.test(each)) || isCertificateText(error)) return 'bad_certificate'
  return codes.some((each) => /SSL|TLS/.test(each)) || error.command === 'STARTTLS' ? 'no_tls' : undefined
}

/** By the number of the reply (RFC 5321): 4 may succeed later, 5 will not. */
function toReplyProblem({ code = '', responseCode = 0, command }: MailError): NoticeProblem {
  if (responseCode >= 400 && responseCode < 500) return 'failing'
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'credentials'
  if (code === 'EENVELOPE' && command !== 'DATA') return 'recipient_refused'
  return responseCode >= 500 ? 'refused' : 'cut_off'
}

/** The library replaces the code of errors of TLS by its own. */
const isCertificateText = ({ message }: Error): boolean =>
  /certificate|altnames|self-signed|issuer/i.test(message)
