/** Writes rows and their blocks from memory, and ends itself by SIGKILL at a step: node index-child.ts OPTIONS STEP. */

import { indexRecent } from '../../src/audit/index-subjects.ts'
import { createRecentRows } from '../../src/audit/recent-rows.ts'
import type { SubjectTable } from '../../src/audit/subject-table.ts'
import { openStore } from '../../src/context/store.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { openLog } from './old-log.ts'
import { BLOCK, recordPeople } from './people-rows.ts'

const [options = '', step = ''] = process.argv.slice(2)
const { folder, ...storeOptions } = JSON.parse(options) as DatabaseOptions & { folder: string }
const end = (reached: string) => {
  if (reached === step) process.kill(process.pid, 'SIGKILL')
}
const store = await openStore(storeOptions)
const recent = createRecentRows(BLOCK)
const audit = await openLog(store, folder, recent)
const ending = (table: SubjectTable): SubjectTable => ({
  ...table,
  insertBlock: async (block) => {
    end('before')
    const writing = table.insertBlock(block)
    // The writer thread, or the server, has the block by now or gets it while this process ends.
    await new Promise((done) => setImmediate(done))
    end('during')
    const isMine = await writing
    end('after')
    return isMine
  },
})
await recordPeople(audit, 2 * BLOCK + 7)
await indexRecent([store.subjects], recent, { blockRows: BLOCK })
await recordPeople(audit, 2 * BLOCK)
await indexRecent([ending(store.consents), store.subjects], recent, { blockRows: BLOCK })
await audit.close()
await store.close()
