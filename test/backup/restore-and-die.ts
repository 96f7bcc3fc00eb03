import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { loadConfig } from '../../src/context/config.ts'
import { openStore } from '../../src/context/store.ts'

/** Restores with force, and kills itself when some rows of the registry are restored. */
const config = loadConfig()
const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl })
await restoreBackup(config, store, process.argv[2] ?? '', {
  force: true,
  onProgress: (done, total, rows) => {
    if (done > total / 2 && rows > 200) process.kill(process.pid, 'SIGKILL')
  },
})
