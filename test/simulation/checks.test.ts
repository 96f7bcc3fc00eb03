import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { HOLDS_PEOPLE, KEEPS_HASHES } from './checks.ts'

it.each(['sqlite', 'postgres'])('knows every table of %s that names a person', (dialect) => {
  const schema = readFileSync(`src/database/schema/${dialect}.sql`, 'utf8')
  const tables = schema.matchAll(/^CREATE TABLE (\w+) \(\n([^;]*?)\n\)/gm)
  const named = [...tables].flatMap(([, name = '', columns = '']) =>
    /^ {2}subject /m.test(columns) ? [name] : [],
  )
  expect(named.sort()).toEqual([...Object.keys(HOLDS_PEOPLE), ...KEEPS_HASHES].sort())
})
