import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import type { Settings } from '../process/tabbat.ts'
import type { Arming, VendorCall, VendorName } from './vendor-conduct.ts'

/** The price of a call, in naira. */
export const PRICES: Readonly<Record<VendorName, number>> = { dojah: 50, blusalt: 70 }
export const VENDORS = Object.keys(PRICES) as VendorName[]

/** Two vendors in a process of their own, with a ledger of every request that they received. */
export type LedgerVendor = {
  /** The ledger: a line of JSON for each request. */
  readonly file: string
  /** Point Tabbat at the vendors. */
  readonly settings: Settings
  /** The ledger so far. */
  readonly calls: () => Promise<VendorCall[]>
  /** Resolves when the vendor has struck. */
  readonly strike: (arming: Arming) => Promise<void>
  readonly disarm: () => void
  readonly close: () => Promise<void>
}

const MAX_WAIT_MS = 60_000
const NEVER: Arming = { moment: 'received', after: Number.MAX_SAFE_INTEGER, pids: [] }

type Message = { readonly ports?: [number, number]; readonly flushed?: true; readonly fired?: true }

export async function startLedgerVendor(): Promise<LedgerVendor> {
  const file = join(tmpdir(), `tabbat-vendor-${randomUUID()}.ndjson`)
  const child = fork(join(import.meta.dirname, 'vendor-process.ts'), [file], { execArgv: [] })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let timer: NodeJS.Timeout | undefined
  const waiting = new Map<string, (value: unknown) => void>()
  child.on('message', (message: Message) => {
    for (const [name, value] of Object.entries(message)) waiting.get(name)?.(value)
  })
  /** One waits for a message at a time. A strike that was disarmed is never told. */
  const next = <Name extends keyof Message>(name: Name) =>
    new Promise<Message[Name]>((resolve) => {
      waiting.set(name, resolve as (value: unknown) => void)
    })
  const [first, second] = (await next('ports')) ?? []
  return {
    file,
    settings: {
      ...dojah.settings(`http://127.0.0.1:${first}`),
      ...blusalt.settings(`http://127.0.0.1:${second}`),
      TABBAT_DOJAH_PRICE: String(PRICES.dojah),
      TABBAT_BLUSALT_PRICE: String(PRICES.blusalt),
    },
    calls: async () => {
      const flushed = next('flushed')
      child.send({ flush: true })
      await flushed
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line) as VendorCall)
    },
    strike: (arm) => {
      clearTimeout(timer)
      const { promise, reject } = Promise.withResolvers<never>()
      const giveUp = () =>
        reject(new Error(`the vendors did not get ${arm.after} calls within ${MAX_WAIT_MS} ms`))
      timer = setTimeout(giveUp, MAX_WAIT_MS)
      const fired = next('fired').then(() => clearTimeout(timer))
      child.send({ arm })
      return Promise.race([fired, promise])
    },
    disarm: () => {
      clearTimeout(timer)
      child.send({ arm: NEVER })
    },
    close: async () => {
      clearTimeout(timer)
      process.off('exit', kill)
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
