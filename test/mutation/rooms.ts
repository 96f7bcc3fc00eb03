import { globSync } from 'node:fs'
import { CALLERS } from './sql-mutants.ts'

/** A part of the product whose tests are tested. A file belongs to the first room that names it. */
type Room = {
  readonly name: string
  readonly files: readonly string[]
  /** The folders of its tests. Tests that start servers and browsers would take minutes for each mutant. */
  readonly tests: string
}

const ROOMS: readonly Room[] = [
  {
    name: 'spend',
    files: [
      'src/ledger/{paid-calls,tally}.ts',
      'src/sources/{spend-leases,spend-table,price-list,vendor-settings}.ts',
    ],
    tests: 'test/{ledger,sources,verification,operations}',
  },
  {
    name: 'limits',
    files: [
      'src/ledger/{guess-rule,guess-table,known-people}.ts',
      'src/verification/guess-limit.ts',
      'src/keys/rate-*.ts',
    ],
    tests: 'test/{ledger,verification,keys,operations,context}',
  },
  {
    name: 'failover',
    files: [
      'src/sources/{failover,slow-calls,single-flight,source-chain,source-order,source-control}.ts',
      'src/sources/guard/**/*.ts',
    ],
    tests: 'test/sources',
  },
  {
    name: 'masking',
    files: ['src/keys/field-policy.ts', 'src/contract/record.ts'],
    tests: 'test/{keys,contract,operations}',
  },
  { name: 'verification', files: ['src/verification/**/*.ts'], tests: 'test/{verification,operations}' },
  { name: 'ledger', files: ['src/ledger/**/*.ts'], tests: 'test/{ledger,verification,operations}' },
  { name: 'ledger-sql', files: Object.keys(CALLERS), tests: 'test/{ledger,verification,operations}' },
  { name: 'audit', files: ['src/audit/**/*.ts'], tests: 'test/audit' },
  { name: 'keys', files: ['src/keys/**/*.ts'], tests: 'test/{keys,operations,http,admin}' },
  { name: 'crypto', files: ['src/crypto/**/*.ts'], tests: 'test/{crypto,registry}' },
  {
    name: 'webhooks',
    files: ['src/webhooks/{attempt,delivery,webhooks,manage}.ts'],
    tests: 'test/{webhooks,admin}',
  },
  {
    name: 'vendor-file',
    files: ['src/sources/vendor-file/**/*.ts', 'src/sources/{reply,vendor-reader,answer-shape}.ts'],
    tests: 'test/sources',
  },
]

/** Every file of the rooms, with the name of its room. */
export function listFiles(root: string): ReadonlyMap<string, string> {
  const rooms = new Map<string, string>()
  for (const { name, files } of ROOMS)
    for (const file of files.flatMap((glob) => globSync(glob, { cwd: root })).sort())
      if (!rooms.has(file)) rooms.set(file, name)
  return rooms
}

export const listTests = (root: string, room: string) =>
  ROOMS.filter(({ name }) => name === room)
    .flatMap(({ tests }) => globSync(`${tests}/**/*.test.ts`, { cwd: root }))
    .sort()
