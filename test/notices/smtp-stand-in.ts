import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, createServer as createTlsServer, TLSSocket } from 'node:tls'
import { createCertificate, type TestCertificate } from '../certificate.ts'

type ReceivedMail = {
  readonly from: string
  readonly to: readonly string[]
  readonly data: string
  readonly isEncrypted: boolean
  readonly user: string | undefined
}

/** A reply instead of the usual one. `hang`: none. `drop`: the connection is closed. `drip`: a line that never ends. */
type Fault = { readonly at: Step; readonly reply: string | 'hang' | 'drop' | 'drip' }
type Step = 'connect' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'body' | 'end'

export type SmtpStandIn = {
  readonly port: number
  readonly received: ReceivedMail[]
  /** Replaceable. */
  fault: Fault | undefined
  /** Recipients that are refused with 550. */
  refused: readonly string[]
  offersTls: boolean
  /** Commands that arrived before the connection was encrypted. */
  readonly plainCommands: string[]
  readonly close: () => Promise<void>
}

type Options = { readonly certificate?: TestCertificate; readonly isImplicit?: boolean }

/** A mail server (RFC 5321, 3207, 4954) on a real socket. It takes every user with the password `secret word`. */
export async function startSmtp({ certificate = createCertificate(), isImplicit = false }: Options = {}) {
  const sockets = new Set<Socket>()
  const onConnection = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    void talk(standIn, socket, certificate, isImplicit).catch(() => socket.destroy())
  }
  const server: Server = isImplicit
    ? createTlsServer({ cert: certificate.cert, key: certificate.key }, onConnection)
    : createServer(onConnection)
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const standIn: SmtpStandIn = {
    port: (server.address() as AddressInfo).port,
    received: [],
    fault: undefined,
    refused: [],
    offersTls: true,
    plainCommands: [],
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return standIn
}

async function talk(standIn: SmtpStandIn, plain: Socket, certificate: TestCertificate, isImplicit: boolean) {
  let socket = plain
  let isEncrypted = isImplicit
  let lines = readLines(socket)
  const mail = { from: '', to: [] as string[], user: undefined as string | undefined }
  const say = async (step: Step, usual: string) => {
    const fault = standIn.fault?.at === step ? standIn.fault.reply : usual
    if (fault === 'hang') await once(socket, 'close')
    else if (fault === 'drop') socket.destroy()
    else if (fault === 'drip') while (socket.writable) await drip(socket)
    else socket.write(`${fault}\r\n`)
  }
  const commands: Readonly<Record<string, (rest: string) => unknown>> = {
    EHLO: () => say('ehlo', toAbilities(standIn.offersTls && !isEncrypted)),
    STARTTLS: async () => {
      await say('starttls', '220 go ahead')
      socket = toTls(socket, certificate)
      isEncrypted = true
      lines = readLines(socket)
    },
    AUTH: (rest) => {
      mail.user = readUser(rest)
      return say('auth', mail.user === undefined ? '535 wrong' : '235 welcome')
    },
    MAIL: (rest) => {
      mail.from = rest
      return say('mail', '250 ok')
    },
    RCPT: (rest) => {
      const isRefused = standIn.refused.some((address) => rest.includes(address))
      if (!isRefused) mail.to.push(rest)
      return say('rcpt', isRefused ? '550 no such user' : '250 ok')
    },
    DATA: async () => {
      await say('data', '354 go on')
      await readBody(standIn, lines, mail, isEncrypted, say)
    },
    QUIT: () => socket.end('221 bye\r\n'),
  }
  await say('connect', '220 stand-in ESMTP')
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const [command = '', rest = ''] = next.value.split(/ (.*)/s)
    if (!isEncrypted) standIn.plainCommands.push(command.toUpperCase())
    await commands[command.toUpperCase()]?.(rest)
  }
}

type Mail = { from: string; to: string[]; user: string | undefined }

async function readBody(
  standIn: SmtpStandIn,
  lines: AsyncGenerator<string, void>,
  mail: Mail,
  isEncrypted: boolean,
  say: (step: Step, usual: string) => Promise<void>,
): Promise<void> {
  const body: string[] = []
  for await (const line of { [Symbol.asyncIterator]: () => ({ next: () => lines.next() }) }) {
    if (line === '.') break
    body.push(line.replace(/^\./, ''))
    if (standIn.fault?.at === 'body') return say('body', '')
  }
  if (standIn.fault?.at !== 'end') standIn.received.push({ ...mail, data: body.join('\n'), isEncrypted })
  await say('end', '250 taken')
}

const toAbilities = (offersTls: boolean) =>
  ['250-stand-in', ...(offersTls ? ['250-STARTTLS'] : []), '250-AUTH PLAIN LOGIN', '250 8BITMIME'].join(
    '\r\n',
  )

function readUser(rest: string): string | undefined {
  const [, credentials = ''] = rest.split(' ')
  const [, user, password] = Buffer.from(credentials, 'base64').toString().split('\0')
  return password === 'secret word' ? user : undefined
}

function toTls(socket: Socket, { cert, key }: TestCertificate): Socket {
  const secured = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ cert, key }) })
  return secured.on('error', () => {})
}

/** A byte at a time, as fast as the other side reads. */
async function drip(socket: Socket): Promise<void> {
  socket.write('2')
  await new Promise((resolve) => setTimeout(resolve, 20))
}

async function* readLines(socket: Socket): AsyncGenerator<string, void> {
  let rest = ''
  while (!socket.destroyed && !socket.readableEnded) {
    const end = rest.indexOf('\r\n')
    if (end >= 0) {
      yield rest.slice(0, end)
      rest = rest.slice(end + 2)
      continue
    }
    const piece = await new Promise<Buffer | undefined>((resolve) => {
      const finish = (data?: Buffer) => {
        socket.off('data', finish).off('end', finish).off('close', finish).pause()
        resolve(data)
      }
      socket.once('data', finish).once('end', finish).once('close', finish).resume()
    })
    if (piece === undefined) return
    rest += piece.toString()
  }
}
