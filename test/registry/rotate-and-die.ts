import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'

/** Rotates the root key, and kills itself at the n-th occurrence of a step. */
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
