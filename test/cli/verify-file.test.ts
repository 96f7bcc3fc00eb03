import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkFile, readFileRows, toBatchFormat } from '../../src/cli/verify-file/input-file.ts'
import { openServer } from '../../src/cli/verify-file/open-server.ts'
import { runFile } from '../../src/cli/verify-file/run.ts'
import { loadConfig } from '../../src/context/config.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { openTestApp, PHONE, type TestApp } from '../app.ts'
import { newFolder } from '../engines.ts'

const config = loadConfig({}, '/nowhere/.env')
const WRONG_KEY = `${SANDBOX_KEY.slice(0, -1)}x`

let at: TestApp
let url: string
beforeAll(async () => {
  at = await openTestApp({ TABBAT_BATCH_RATE: '600' })
  url = await at.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => at.close())

const write = (name: string, text: string) => {
  const path = join(newFolder(), name)
  writeFileSync(path, text)
  return path
}

const CSV = `nin,phone\n12345678901,${PHONE}\n00000000422,${PHONE}\n`

/** Verifies the file at the server. */
async function verify(path: string, { base = url, key = SANDBOX_KEY, out = `${path}.results.csv` } = {}) {
  const file = { path, kind: 'nin', format: toBatchFormat(path) } as const
  const server = await openServer(config, { url: base, key })
  const checked = await checkFile(path, file.kind, file.format, key)
  const progress = { show: () => {}, clear: () => {} }
  return runFile({ server, file, checked, out, progress, signal: new AbortController().signal })
}

describe('a file of people', () => {
  const check = (path: string) => checkFile(path, 'nin', toBatchFormat(path), SANDBOX_KEY)

  it.each([
    ['with another name', () => write('people.xlsx', ''), 'is not known by its name. Give --format.'],
    ['that is not there', () => '/nowhere/people.csv', 'There is no file /nowhere/people.csv.'],
    ['without rows', () => write('people.csv', 'nin,phone\n'), 'has no rows.'],
    ['that is no JSON', () => write('people.json', '[{"nin":'), 'people.json: '],
    ['in a file', () => join(write('people.csv', CSV), 'people.csv'), 'cannot be read (ENOTDIR).'],
  ])('%s is refused', async (_what, make, sentence) => {
    const path = make()
    await expect((async () => check(path))()).rejects.toThrow(sentence)
  })

  it('that is a folder is refused', async () => {
    const folder = newFolder()
    await expect(readFileRows(folder, 'nin', 'csv').next()).rejects.toThrow(
      `${folder} is a folder. Give a file.`,
    )
  })
})

describe('the address of a server', () => {
  it.each([
    ['ftp://tabbat.example', 'must be the address of a server'],
    ['tabbat.example', 'must be the address of a server'],
    ['https://tabbat.example/?key=1', 'must be the address of a server'],
    ['https://tabbat.example/api/v2/', 'without /api/v2'],
    ['https://ada:word@tabbat.example', 'must not hold a user name or a password'],
    ['http://tabbat.example', 'Over http:// others on the network can read the key'],
  ])('%s is refused', async (address, sentence) => {
    await expect(openServer(config, { url: address, key: SANDBOX_KEY })).rejects.toThrow(sentence)
  })

  it('without TLS is accepted on this machine, or if that is confirmed', async () => {
    for (const [address, plainHttp] of [
      ['http://[::1]:9', undefined] as const,
      ['http://tabbat.example', true] as const,
    ]) {
      const server = await openServer(config, {
        url: address,
        key: SANDBOX_KEY,
        ...(plainHttp && { plainHttp }),
      })
      expect(server.name).toBe(address)
    }
  })
})

describe('the results', () => {
  it('are written as NDJSON if their name says so', async () => {
    const path = write('people.csv', CSV)
    const out = `${path}.ndjson`
    expect(await verify(path, { out })).toMatchObject({ verified: 1, not_verified: 1 })
    const rows = readFileSync(out, 'utf8').trimEnd().split('\n')
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([
      { line: 2, success: true, status: 200 },
      { line: 3, success: false, status: 422, code: 'not_verified' },
    ])
    expect(existsSync(`${out}.state`)).toBe(false)
  })

  it('are not asked for with a key that the server does not know', async () => {
    const verifying = verify(write('people.csv', CSV), { key: WRONG_KEY })
    await expect(verifying).rejects.toThrow(`${url} does not accept this key.`)
  })

  it('are not expected of another program at the address', async () => {
    const server = createServer((_request, response) =>
      response.writeHead(404).end('<html>No such page</html>'),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(verify(write('people.csv', CSV), { base })).rejects.toThrow(
      `${base} answered 404. Is this the address of Tabbat?`,
    )
    server.close()
  })

  it.each([
    ['is not whole', '{"version":1'],
    ['is of another version', '{"version":2,"parts":[]}'],
    ['is no state', '{"version":1}'],
  ])('are not continued by a state file that %s', async (_what, text) => {
    const path = write('people.csv', CSV)
    const state = `${path}.results.csv.state`
    writeFileSync(state, text)
    await expect(verify(path)).rejects.toThrow(
      `${state} cannot be read. Delete it to start from the beginning.`,
    )
    expect(readFileSync(state, 'utf8')).toBe(text)
  })

  it('are not continued if the server has deleted the batch meanwhile', async () => {
    const path = write('people.csv', CSV)
    const { digest, parts } = await checkFile(path, 'nin', 'csv', SANDBOX_KEY)
    const sent = parts.map((part) => ({ ...part, idempotencyKey: 'x', batch: 'bat_00000000000000000000' }))
    const counts = { verified: 0, not_verified: 0, refused: 0, failed: 0, cancelled: 0 }
    const state = { version: 1, digest, server: url, parts: sent, written: 0, bytes: 0, counts }
    writeFileSync(`${path}.results.csv.state`, JSON.stringify(state))
    await expect(verify(path)).rejects.toThrow(
      /does not have the batch bat_0{20} any more\. Delete the state file/,
    )
  })
})
