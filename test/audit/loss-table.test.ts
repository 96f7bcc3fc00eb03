import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const LOSS = { chain: 'a1b2c3d4-1', kept: 7, acknowledged: 10, references: ['ver_8'] }

describeEngines(ENGINES, (engine) => {
  let losses: Store['losses']
  beforeEach(async () => {
    const store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
    losses = store.losses
  })
  const list = async () => ({ open: await losses.list('open'), accepted: await losses.list('accepted') })

  it('keeps what more becomes known of an open loss, and nothing less', async () => {
    await losses.insert(LOSS, 1)
    const more = { ...LOSS, acknowledged: 12, references: ['ver_8', 'ver_9'] }
    await losses.insert(more, 2)
    expect(await list()).toEqual({ open: [more], accepted: [] })
    await losses.insert(LOSS, 3)
    expect(await list()).toEqual({ open: [more], accepted: [] })
  })

  it('keeps an accepted loss accepted, until it grows', async () => {
    await losses.insert(LOSS, 1)
    await losses.accept(LOSS, 2)
    await losses.insert(LOSS, 3)
    expect(await list()).toEqual({ open: [], accepted: [LOSS] })
    expect(await losses.isAccepted(LOSS)).toBe(true)
    expect(await losses.isAccepted({ ...LOSS, acknowledged: 9 })).toBe(true)

    const grown = { ...LOSS, acknowledged: 11 }
    expect(await losses.isAccepted(grown)).toBe(false)
    await losses.insert(grown, 4)
    expect(await list()).toEqual({ open: [grown], accepted: [] })
  })

  it('does not accept a loss that has grown meanwhile', async () => {
    await losses.insert({ ...LOSS, acknowledged: 11 }, 1)
    await losses.accept(LOSS, 2)
    expect(await list()).toEqual({ open: [{ ...LOSS, acknowledged: 11 }], accepted: [] })
  })
})
