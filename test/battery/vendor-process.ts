import { open } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { type Arming, type Conduct, toConduct, type VendorCall, type VendorName } from './vendor-conduct.ts'

/**
 * Two vendors, in the shape of Dojah and of Blusalt, that keep a ledger of their own: every request is on the disk before it is
 * answered. They outlive the servers that the battery kills, and kill them at the worst moments.
 * node test/battery/vendor-process.ts <file of the ledger>, with a channel to its parent.
 */
const [file = ''] = process.argv.slice(2)
const SCRIPTS = { dojah, blusalt }
const ledger = await openLedger(file)
const times = new Map<string, number>()
let armed: (Arming & { left: number }) | undefined

const ports = await Promise.all([listen('dojah'), listen('blusalt')])
process.on('message', async (message: { readonly arm?: Arming; readonly flush?: true }) => {
  if (message.arm) armed = { ...message.arm, left: message.arm.after }
  if (!message.flush) return
  await ledger.flush()
  process.send?.({ flushed: true })
})
process.on('disconnect', () => process.exit())
process.send?.({ ports })

async function listen(vendor: VendorName): Promise<number> {
  const server = createServer((request, response) => {
    // A killed server closes its connections, also while it sends a request.
    response.on('error', () => {})
    answer(vendor, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function answer(vendor: VendorName, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://vendor')
  const body = await text(request)
  const received = {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: body === '' ? undefined : JSON.parse(body),
  }
  const number = searchParams.get('nin') ?? String(received.body?.nin_number)
  const count = (times.get(vendor + number) ?? 0) + 1
  times.set(vendor + number, count)
  const conduct = toConduct(vendor, number, count)
  strikeAt('received', vendor)
  await ledger.append({ at: Date.now(), vendor, number, billed: conduct.isBilled, conduct: conduct.name })
  response.on('finish', () => setTimeout(strikeAt, Math.random() * MAX_STRIKE_MS, 'answered', vendor))
  act(conduct, response, () => SCRIPTS[vendor].answer(received, undefined))
}

/** Long enough to meet every commit that follows an answer. */
const MAX_STRIKE_MS = 40

/** Kills the armed processes at once: what was not durable before this moment is lost. */
function strikeAt(moment: Arming['moment'], vendor: VendorName): void {
  if (!armed || armed.moment !== moment || (armed.vendor ?? vendor) !== vendor) return
  armed.left -= 1
  if (armed.left > 0) return
  for (const pid of armed.pids) process.kill(pid, 'SIGKILL')
  armed = undefined
  process.send?.({ fired: true })
}

function act(
  conduct: Conduct,
  response: ServerResponse,
  toReply: () => { readonly status: number; readonly body: unknown },
): void {
  const send = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const reply = () => {
    const { status, body } = toReply()
    send(status, body)
  }
  if (conduct.name === 'closes') response.destroy()
  else if (conduct.name === 'refuses') send(conduct.status, { error: conduct.text, message: conduct.text })
  else if (conduct.name === 'answers') reply()
  else if (conduct.name === 'answers_late') setTimeout(reply, conduct.ms)
}

/** Lines that arrive together share an fsync. */
async function openLedger(path: string) {
  const handle = await open(path, 'a')
  let lines: string[] = []
  let group = Promise.withResolvers<void>()
  let isWriting = false
  const write = async () => {
    isWriting = true
    while (lines.length > 0) {
      const [text, written] = [lines.join(''), group]
      lines = []
      group = Promise.withResolvers()
      await handle.appendFile(text)
      await handle.datasync()
      written.resolve()
    }
    isWriting = false
  }
  const append = (line: string): Promise<void> => {
    lines.push(line)
    const { promise } = group
    if (!isWriting) void write()
    return promise
  }
  return {
    append: (call: VendorCall) => append(`${JSON.stringify(call)}\n`),
    /** Resolves when all lines so far are on the disk. */
    flush: () => append(''),
  }
}
