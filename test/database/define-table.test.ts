import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  flag,
  json,
  list,
  named,
  number,
  optional,
  text,
} from '../../src/database/define-table.ts'

const COLUMNS = defineColumns({
  id: text(),
  madeAt: number(),
  isOpen: flag(),
  secret: bytes(),
  allowedIps: optional(list()),
  doubts: json<readonly string[]>(),
  attempt: named('attempts', number()),
})

describe('the columns of a row', () => {
  it('have names in snake case, and places for their values', () => {
    expect(COLUMNS.names).toBe('id, made_at, is_open, secret, allowed_ips, doubts, attempts')
    expect(COLUMNS.places).toBe('$1, $2, $3, $4, $5, $6, $7')
  })

  it.each([undefined, ['10.0.0.1', '::1']])(
    'are read as they were written, with the addresses %j',
    (allowedIps) => {
      const row = {
        id: 'a',
        madeAt: 5,
        isOpen: true,
        secret: Buffer.from('s'),
        doubts: ['x'],
        attempt: 2,
        allowedIps,
      }
      const values = COLUMNS.encode(row)
      const names = COLUMNS.names.split(', ')
      expect(COLUMNS.decode(Object.fromEntries(names.map((name, index) => [name, values[index]])))).toEqual(
        row,
      )
    },
  )

  it('are undefined where there is no row', () => {
    expect(COLUMNS.decode(undefined)).toBeUndefined()
  })

  it('hold numbers that PostgreSQL gives as text', () => {
    const stored = {
      id: 'a',
      made_at: '5',
      is_open: '1',
      secret: null,
      allowed_ips: null,
      doubts: '[]',
      attempts: '2',
    }
    expect(COLUMNS.decode(stored)).toMatchObject({ madeAt: 5, isOpen: true, attempt: 2 })
  })
})

describe('a table', () => {
  const table = defineTable({
    reads: (database) => ({ find: async () => database.dialect }),
    writes: (database) => ({ insert: async (name: string) => `${name} in ${database.dialect}` }),
  })
  const database = { dialect: 'sqlite' } as Database

  it('reads and writes by its connection', async () => {
    const { find, insert } = table.create(database)
    expect([await find(), await insert('a')]).toEqual(['sqlite', 'a in sqlite'])
  })

  it('sends what it writes elsewhere, and reads by its connection', async () => {
    const sent: unknown[] = []
    const { find, insert } = table.createReader(database, async (...job) => void sent.push(job))
    await find()
    await insert('a')
    expect(sent).toEqual([['insert', ['a']]])
  })
})
