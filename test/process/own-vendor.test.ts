import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

/** A vendor that is nowhere else in this repository: its file was written by following docs/vendors.md. */
const FILE = `{
  "title": "Baobab Checks",
  "documentation": { "url": "https://baobab.example/docs", "read": "2026-11-17" },
  "settings": {
    "client": { "required": true, "help": "Client id of the account." },
    "secret": { "required": true, "secret": true, "help": "Secret of the account." }
  },
  "authentication": {
    "token": {
      "request": {
        "method": "POST",
        "path": "/session",
        "body": {
          "id": "{client}",
          "pass": "{secret}"
        }
      },
      "token_at": "session.key",
      "header": "X-Session",
      "prefix": ""
    }
  },
  "error_text": "problem.words",
  "operations": {
    "nin": {
      "request": {
        "method": "GET",
        "path": "/people/{number}",
        "query": {
          "ref": "{reference}"
        }
      }
    },
    "bvn": {
      "request": {
        "method": "POST",
        "path": "/bank",
        "body": {
          "who": {
            "bvn": "{number}"
          }
        }
      }
    }
  },
  "answers": {
    "nin": {
      "rules": "people",
      "record": ["result.0"],
      "number": {
        "at": ["id"]
      },
      "phones": ["tel1", "tel2"],
      "reference": "$.call",
      "fields": {
        "personal_info": { "first_name": "names.first", "last_name": "names.last", "date_of_birth": "born" }
      }
    },
    "bvn": {
      "rules": "bank",
      "record": ["$"],
      "number": {
        "at": ["bvn"]
      },
      "phones": ["phone"],
      "fields": {
        "personal_info": {
          "full_name": {
            "join": ["n1", "n2"]
          }
        }
      }
    }
  },
  "rules": {
    "people": [
      {
        "name": "nobody",
        "if": {
          "status": [200],
          "values": [
            {
              "at": "hits",
              "is": [0]
            }
          ]
        },
        "then": "not_found"
      },
      {
        "name": "one",
        "if": {
          "status": [200],
          "values": [
            {
              "at": "hits",
              "is": [1]
            }
          ],
          "present": ["result.0"]
        },
        "then": "found"
      },
      {
        "name": "closed",
        "if": {
          "status": [418]
        },
        "then": "failure"
      }
    ],
    "bank": [
      {
        "name": "account",
        "if": {
          "status": [200],
          "present": ["bvn"]
        },
        "then": "found"
      }
    ]
  }
}`

const NIN = '12345678901'
const NOBODY = '10000000001'
const CLOSED = '10000000002'

/** The vendor itself, written without its file. */
async function answer(path: string, session: unknown, body: unknown): Promise<[number, unknown]> {
  if (path === '/session') {
    const { id, pass } = body as { id: string; pass: string }
    return id === 'me' && pass === 'pw' ? [201, { session: { key: 'open-sesame' } }] : [403, {}]
  }
  if (session !== 'open-sesame') return [401, { problem: { words: 'no session' } }]
  if (path === '/bank') {
    const { who } = body as { who: { bvn: string } }
    return [200, { bvn: Number(who.bvn), phone: ['0805 111 2222'], n1: 'Uche', n2: 'Eze' }]
  }
  if (path.startsWith(`/people/${NOBODY}?`)) return [200, { hits: 0, result: [] }]
  if (path.startsWith(`/people/${CLOSED}?`)) return [418, { problem: { words: 'tea time' } }]
  const person = {
    id: NIN,
    tel1: '',
    tel2: '+234 803 123 4567',
    names: { first: 'ADA', last: 'OBI' },
    born: '5 Jan 1990',
  }
  return [200, { hits: 1, call: 'bb-7', result: [person] }]
}

describe('a vendor of the operator', () => {
  let vendor: Server
  let server: RunningServer
  let settings: Record<string, string>
  let key: string
  const paths: string[] = []
  beforeAll(async () => {
    vendor = createServer(async (request, response) => {
      const path = request.url ?? ''
      paths.push(path.replace(/ver_\w+/, 'ver_'))
      const body = request.method === 'POST' ? await json(request) : undefined
      const [status, reply] = await answer(path, request.headers['x-session'], body)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    }).listen(0, '127.0.0.1')
    await once(vendor, 'listening')
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-own-'))
    writeFileSync(join(folder, 'baobab.json'), FILE)
    settings = {
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_VENDORS_DIR: folder,
      TABBAT_NIN_SOURCES: 'baobab',
      TABBAT_BVN_SOURCES: 'baobab',
      TABBAT_BAOBAB_URL: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`,
      TABBAT_BAOBAB_CLIENT: 'me',
      TABBAT_BAOBAB_SECRET: 'pw',
      TABBAT_BAOBAB_PRICE: '40',
    }
    const created = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')
    key = JSON.parse(created.stdout).key
    server = await startServer(settings)
  })
  afterAll(async () => {
    await server.stop()
    vendor.close()
  })

  const verify = async (kind: 'nin' | 'bvn', number: string, phone: string) => {
    const response = await fetch(`${server.url}/api/v2/kyc/verify-${kind}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ [kind]: number, phone, ...(kind === 'bvn' && { amount: '100.00' }) }),
    })
    const body = (await response.json()) as { code?: string; data?: Record<string, unknown> }
    return { status: response.status, code: body.code, text: JSON.stringify(body) }
  }

  it('verifies a NIN and a BVN', async () => {
    const nin = await verify('nin', NIN, '08031234567')
    expect(nin.status).toBe(200)
    for (const text of ['"VERIFIED"', '"OBI"', '"05-01-1990"', '"08031234567"'])
      expect(nin.text).toContain(text)
    const bvn = await verify('bvn', '22345678901', '08051112222')
    expect([bvn.status, bvn.text]).toEqual([200, expect.stringContaining('Uche Eze')])
    expect(paths).toEqual(['/session', `/people/${NIN}?ref=ver_`, '/bank'])
  })

  it('gives the same answer to a wrong phone and to a number that does not exist', async () => {
    const wrong = await verify('nin', NIN, '08031234568')
    const nobody = await verify('nin', NOBODY, '08031234567')
    expect([wrong.status, wrong.code]).toEqual([422, 'not_verified'])
    expect([nobody.status, nobody.code]).toEqual([422, 'not_verified'])
  })

  it('is a failure when it says so, and nothing else', async () => {
    const closed = await verify('nin', CLOSED, '08031234567')
    expect([closed.status, closed.code]).toEqual([503, 'source_unavailable'])
  })

  it('has its spend counted, and is listed with its file', async () => {
    const { stdout } = await tabbat(settings, 'sources', 'status')
    expect(stdout).toMatch(/baobab +5 calls, ₦200\.00/)
    const list = await tabbat(settings, 'vendors', 'list')
    expect(list.stdout).toMatch(/^baobab +Baobab Checks +nin, bvn +\S+baobab\.json +2026-11-17 +nin, bvn$/m)
    const check = await tabbat(settings, 'sources', 'check', 'baobab')
    expect(check.stdout).toContain('baobab was called')
  })
})
