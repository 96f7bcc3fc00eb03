import { describe, expect, it, onTestFinished } from 'vitest'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { describeEngines, ENGINES, POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'

describe.skipIf(!hasPostgres() || process.env.TABBAT_TEST_DATABASE_URL !== undefined)(
  'PostgreSQL of the tests',
  () => {
    it('sorts texts by a language, so that a query that relies on the order of bytes fails', async () => {
      const store = await (await POSTGRES.createPlace()).open()
      onTestFinished(() => store.close())
      const row = await store.database.prepare(`SELECT 'a' < 'B' AS is_mixed, '~' < '0' AS is_first`).get()
      expect(row).toEqual({ is_mixed: true, is_first: true })
    })
  },
)

describeEngines(ENGINES, (engine) => {
  it('the rows of a reference come in pages in the order of JavaScript, like those of archives', async () => {
    const store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
    const chains = ['a-2', 'B-1', 'a-10', 'a1-1', 'A-1']
    for (const chain of chains) {
      await store.audit.claim(chain, null, 'test', Date.now())
      const rows = linkEntries(chain, EMPTY_HEAD, [{ phase: 'replay', request_reference: 'ver_1' }])
      await store.audit.append({ rows: store.audit.packRows(rows) })
    }
    const found: string[] = []
    for (let after = { chain: '', sequence: 0 }; ; ) {
      const [row] = await store.audit.pageOfReference('ver_1', after, 1)
      if (!row) break
      found.push(row.chain)
      after = row
    }
    expect(found).toEqual(chains.toSorted())
  })
})
