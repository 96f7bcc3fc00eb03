import { mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openTlsCertificate, type TlsCertificate } from '../../src/http/tls-listener.ts'
import { createCertificate, type TestCertificate, writeCertificate } from '../certificate.ts'

const DAY_MS = 86_400_000
const NEVER_MS = 2_000_000_000
let opened: TlsCertificate | undefined

afterEach(() => opened?.close())

function open(written: TestCertificate, now: () => number = Date.now, paths = writeCertificate(written)) {
  const events: string[] = []
  const taken: string[] = []
  const log = {
    event: (level: string, event: string, figures = {}) =>
      void events.push([level, event, ...Object.values(figures)].join(' ')),
  }
  const config = { tlsCert: paths.TABBAT_TLS_CERT, tlsKey: paths.TABBAT_TLS_KEY }
  const certificate = openTlsCertificate(config, log, { now, checkMs: NEVER_MS })
  if (!certificate) throw new Error('no certificate')
  opened = certificate
  certificate.onChange(({ cert }) => taken.push(cert))
  return { certificate, events, taken, paths }
}

const [one, two] = [createCertificate(), createCertificate()]

describe('files that change', () => {
  it('are used after two checks saw the same', () => {
    const { certificate, events, taken, paths } = open(one)
    writeCertificate(two, join(paths.TABBAT_TLS_CERT, '..'))
    certificate.check()
    expect([certificate.current().cert, taken]).toEqual([one.cert, []])
    certificate.check()
    certificate.check()
    expect([certificate.current().cert, taken]).toEqual([two.cert, [two.cert]])
    expect(events).toEqual([expect.stringMatching(/^info tls_certificate_replaced \d{4}-/)])
  })

  it('are not used while only one of them is written; the log says so once', () => {
    const { certificate, events, taken, paths } = open(one)
    const steps: [string, string][] = [
      [paths.TABBAT_TLS_CERT, two.cert.slice(0, 100)],
      [paths.TABBAT_TLS_CERT, two.cert],
      [paths.TABBAT_TLS_KEY, two.key.slice(0, 100)],
    ]
    for (const [path, content] of steps) {
      writeFileSync(path, content)
      certificate.check()
      certificate.check()
      expect([certificate.current(), taken]).toMatchObject([{ cert: one.cert, key: one.key }, []])
    }
    expect(events).toEqual([
      'warn tls_certificate_refused invalid',
      'warn tls_certificate_refused mismatch',
      'warn tls_certificate_refused invalid',
    ])
    writeFileSync(paths.TABBAT_TLS_KEY, two.key)
    certificate.check()
    certificate.check()
    expect(taken).toEqual([two.cert])
  })

  it('are not used when they keep changing', () => {
    const { certificate, taken, paths } = open(one)
    for (const next of [two, createCertificate(), two, one]) {
      writeCertificate(next, join(paths.TABBAT_TLS_CERT, '..'))
      certificate.check()
    }
    expect(taken).toEqual([])
  })

  it('may be behind a symbolic link that is replaced, as in Kubernetes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-tls-'))
    for (const [name, content] of [['..1', one] as const, ['..2', two] as const]) {
      mkdirSync(join(folder, name))
      writeCertificate(content, join(folder, name))
    }
    symlinkSync('..1', join(folder, '..data'))
    const paths = {
      TABBAT_TLS_CERT: join(folder, '..data', 'tls.crt'),
      TABBAT_TLS_KEY: join(folder, '..data', 'tls.key'),
    }
    const { certificate, taken } = open(one, Date.now, paths)
    symlinkSync('..2', join(folder, '..next'))
    renameSync(join(folder, '..next'), join(folder, '..data'))
    certificate.check()
    certificate.check()
    expect(taken).toEqual([two.cert])
  })
})

describe('the end of a certificate', () => {
  it('is logged once a day in its last 14 days, and after it', () => {
    const until = Date.now() + 60 * DAY_MS
    let now = until - 15 * DAY_MS
    const { certificate, events } = open(createCertificate({ until }), () => now)
    const checkAfter = (ms: number) => {
      now += ms
      certificate.check()
      return events.splice(0).map((event) => event.replace(/ \S+$/, ''))
    }
    expect(checkAfter(0)).toEqual([])
    expect(checkAfter(DAY_MS)).toEqual(['warn tls_certificate_ends_soon'])
    expect(checkAfter(DAY_MS - 1)).toEqual([])
    expect(checkAfter(1)).toEqual(['warn tls_certificate_ends_soon'])
    expect(checkAfter(13 * DAY_MS)).toEqual(['warn tls_certificate_expired'])
  })

  it('of one that is valid for days is logged in its last quarter', () => {
    const from = Date.now()
    const short = createCertificate({ from, until: from + 4 * DAY_MS })
    expect(open(short, () => from + 2.9 * DAY_MS).events).toEqual([])
    expect(open(short, () => from + 3.1 * DAY_MS).events).toHaveLength(1)
  })
})

it('without the settings there is none', () => {
  const log = { event: () => {} }
  expect(openTlsCertificate({ tlsCert: undefined, tlsKey: undefined }, log)).toBeUndefined()
})
