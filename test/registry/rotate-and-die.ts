import { loadConfig } from '../../src/config/config.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { openSealedStore } from '../../src/store/sealed-store.ts'

/** Rotates the root key, and dies on the spot when it comes to a step for the n-th time. */
const [step, times] = process.argv.slice(2)
let left = Number(times)
const config = loadConfig()
const { store } = await openSealedStore(config)
await rotateRoot(
  config,
  { store },
  {
    rowsAtOnce: { registry: 10, media: 2 },
    onStep: ({ at }) => {
      if (at === step && --left === 0) process.kill(process.pid, 'SIGKILL')
    },
  },
)
