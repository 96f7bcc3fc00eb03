// verify-nin as someone would write it in an afternoon: Express, a table of people, one INSERT for each request.
// node express-verify.mjs <port> <database> <people.ndjson> <count> [wal]
//
// SQLite is left as it comes (a rollback journal, synced at each commit). With `wal` it is tuned as most guides advise,
// journal_mode=WAL and synchronous=NORMAL: faster, and the last rows of the audit may be lost with the power.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import express from 'express'

const [port, file, people, count, tuning] = process.argv.slice(2)
const KEY = process.env.API_KEY
const REFUSED = { success: false, message: 'The NIN could not be verified.' }
const MASKED = {
  firstname: '****',
  surname: '****',
  address: '****',
  lga: '****',
  town: '****',
  state: '****',
}

const database = new DatabaseSync(file)
if (tuning === 'wal') database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
database.exec(`
  CREATE TABLE IF NOT EXISTS people (nin TEXT PRIMARY KEY, phone TEXT NOT NULL, record TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY, at TEXT, reference TEXT, nin TEXT, outcome TEXT)`)
await fill()

const find = database.prepare('SELECT phone, record FROM people WHERE nin = ?')
const audit = database.prepare('INSERT INTO audit (at, reference, nin, outcome) VALUES (?, ?, ?, ?)')

const app = express()
app.use(express.json())
app.post('/api/v2/kyc/verify-nin', (request, response) => {
  if (request.get('authorization') !== `Bearer ${KEY}`)
    return response.status(401).json({ success: false, message: 'Unauthorized' })
  const { nin, phone } = request.body ?? {}
  if (!/^\d{11}$/.test(nin) || !/^0\d{10}$/.test(phone))
    return response.status(422).json({ success: false, message: 'nin and phone are required' })
  const reference = randomUUID()
  const row = find.get(nin)
  const isVerified = row?.phone === phone
  audit.run(new Date().toISOString(), reference, nin, isVerified ? 'verified' : 'not_verified')
  if (!isVerified) return response.status(422).json(REFUSED)
  response.json(toBody(JSON.parse(row.record), reference))
})
app.listen(Number(port), '127.0.0.1')

function toBody({ nin_number, document_no, ...record }, reference) {
  return {
    success: true,
    message: 'NIN verification completed successfully',
    data: {
      request_reference: reference,
      nin_number,
      document_no,
      verification_status: 'VERIFIED',
      service_type: 'NIN',
      ...record,
      next_of_kin: MASKED,
    },
  }
}

async function fill() {
  const insert = database.prepare('INSERT INTO people (nin, phone, record) VALUES (?, ?, ?)')
  let filled = 0
  database.exec('BEGIN')
  for await (const line of createInterface({ input: createReadStream(people) })) {
    const record = JSON.parse(line)
    insert.run(record.nin_number, record.personal_info.phone_number, line)
    if (++filled === Number(count)) break
  }
  database.exec('COMMIT')
}
