import { afterEach, expect, it } from 'vitest'
import { createOverload, type Overload } from './overload.ts'
import { createPaused, type Pausable } from './paused.ts'

const opened: Overload[] = []
afterEach(() => {
  for (const overload of opened.splice(0)) overload.close()
})

const create = (all: number, perKey = all) => {
  const overload = createOverload({ all, perKey })
  opened.push(overload)
  return overload
}

/** Tells when it is paused and resumed. */
const connect = (name: string, story: string[] = []): Pausable => {
  const socket = {
    destroyed: false,
    pause: () => story.push(`${name} paused`),
    resume: () => story.push(name),
  }
  return { socket, hasSeat: false } as unknown as Pausable
}

const enterOften = (overload: Overload, count: number, keyId = 'key') =>
  Array.from({ length: count }, () => overload.enter(keyId))

it('lets a short line wait, and refuses at once when it is full', async () => {
  const overload = create(1)
  const [first, ...others] = enterOften(overload, 66)
  expect([first, others.at(-1)]).toEqual([undefined, false])
  expect(others.slice(0, -1).every((each) => each instanceof Promise)).toBe(true)
  overload.leave('key')
  expect(await others[0]).toBe(true)
  expect(await others[1]).toBe(false)
})

it('gives the next place to a connection that was refused before', async () => {
  const overload = create(20)
  enterOften(overload, 20)
  const [story, refused] = [[] as string[], connect('refused')]
  overload.pause('key', Object.assign(refused, connect('refused', story)))
  overload.leave('key')
  expect(story).toEqual(['refused paused', 'refused'])
  expect(overload.enter('key', refused)).toBeUndefined()
})

it('refuses others of the key while connections of it are paused, and not of another key', () => {
  const overload = create(100)
  enterOften(overload, 20)
  for (let index = 0; index < 65; index++) overload.pause('key', connect(String(index)))
  expect(overload.enter('key', connect('new'))).toBe(false)
  expect(overload.enter('other', connect('new'))).toBeUndefined()
})

it('refuses nothing where few are under way', () => {
  const overload = create(100)
  for (let index = 0; index < 65; index++) overload.pause('key', connect(String(index)))
  expect(overload.enter('key', connect('new'))).toBeUndefined()
})

it('reads all connections again when the server stops', () => {
  const overload = create(1)
  const story: string[] = []
  for (const name of ['a', 'b']) overload.pause('key', connect(name, story))
  overload.resumeAll()
  overload.pause('key', connect('c', story))
  expect(story).toEqual(['a paused', 'b paused', 'a', 'b'])
})

it('lets keys take turns, the longest paused connection of each first', () => {
  const [paused, story] = [createPaused(), [] as string[]]
  for (const name of ['a1', 'a2', 'a3', 'b1']) paused.add(name.slice(0, 1), connect(name, story), 0)
  story.length = 0
  for (let turn = 0; turn < 5; turn++) paused.resume()
  expect(story).toEqual(['a1', 'b1', 'a2', 'a3'])
  expect([paused.size(), paused.has('a')]).toEqual([0, false])
})
