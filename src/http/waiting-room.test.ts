import { expect, it } from 'vitest'
import { createWaitingRoom } from './waiting-room.ts'

const open = (all: number, perKey: number) => {
  const room = createWaitingRoom({ all, perKey }, () => false)
  const story: string[] = []
  const wait = (key: string, name: string, since = 0, isGone = false) =>
    room.wait(key, {
      since,
      isGone: () => isGone,
      settle: (admitted) => story.push(`${name} ${admitted ? 'in' : 'out'}`),
    })
  return { room, story, wait }
}

it('lets keys take turns, the longest waiting of each first', () => {
  const { room, story, wait } = open(1, 1)
  expect(room.take('a')).toBe(true)
  for (const name of ['a1', 'a2', 'a3']) wait('a', name)
  wait('b', 'b1')
  room.leave('a')
  for (let turn = 0; turn < 4; turn++) {
    room.admit()
    room.leave(story.at(-1)?.at(0) ?? '')
  }
  expect(story).toEqual(['a1 in', 'b1 in', 'a2 in', 'a3 in'])
  expect(room.waiting()).toBe(0)
})

it('gives no place to a caller that has left', () => {
  const { room, story, wait } = open(1, 1)
  room.take('a')
  wait('a', 'gone', 0, true)
  wait('a', 'there')
  room.leave('a')
  room.admit()
  expect(story).toEqual(['gone out', 'there in'])
})

it('refuses the newest of those that are due, at most so many', () => {
  const { room, story, wait } = open(1, 1)
  room.take('a')
  for (const since of [10, 20, 30, 40]) wait('a', String(since), since)
  room.refuse(2, (line) => line.takeNewest(0, 30))
  expect(story).toEqual(['30 out', '20 out'])
  room.refuse(5, (line) => line.takeNewest(15, 30))
  expect(story).toHaveLength(2)
  expect(room.waiting()).toBe(2)
})

it('keeps a key below its limit while places are free', () => {
  const { room, story, wait } = open(3, 2)
  expect([room.take('a'), room.take('a'), room.take('a'), room.take('b')]).toEqual([true, true, false, true])
  wait('a', 'a3')
  room.leave('b')
  room.admit()
  expect(story).toEqual([])
  room.leave('a')
  room.admit()
  expect(story).toEqual(['a3 in'])
})
