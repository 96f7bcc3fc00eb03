/** Archives the log of a store, and ends itself by SIGKILL at a step: node archive-child.ts OPTIONS STEP COUNT. */

import { join } from 'node:path'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { openStore } from '../../src/context/store.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { openLog, signer } from './old-log.ts'

const [options = '', step = '', count = '1'] = process.argv.slice(2)
const { folder, ...storeOptions } = JSON.parse(options) as DatabaseOptions & { folder: string }
let left = Number(count)
const store = await openStore(storeOptions)
const audit = await openLog(store, folder)
await archiveLog(Date.UTC(2020, 2), join(folder, `${step}-${count}.audit.zst`), {
  store,
  signer,
  audit,
  by: 'test',
  onStep: (reached) => {
    if (reached === step && --left === 0) process.kill(process.pid, 'SIGKILL')
  },
})
await audit.close()
await store.close()
