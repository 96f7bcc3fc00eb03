import { describe, expect, it } from 'vitest'
import { readCorpus, TARGET_NAMES, TARGETS } from './target.ts'

/** The inputs that npm run fuzz -- --keep has found. Each once reached something that no other did. */
describe.each(TARGET_NAMES)('the inputs of %s', (name) => {
  it('are read or refused as documented', async () => {
    const target = await TARGETS[name]()
    try {
      for (const input of [...target.seeds, ...readCorpus(name)])
        await expect((async () => target.run(input))()).resolves.toBeUndefined()
    } finally {
      await target.close?.()
    }
  })
})
