import { afterEach, expect, it } from 'vitest'
import { type Admission, createAdmission } from '../../src/http/admission.ts'
import type { Connection } from '../../src/http/connections.ts'
import { createPausedConnections, type Pausable } from '../../src/http/overload.ts'

const opened: Admission[] = []
afterEach(() => {
  for (const admission of opened.splice(0)) admission.close()
})

const create = (all: number, perKey = all) => {
  const admission = createAdmission({ all, perKey })
  opened.push(admission)
  return admission
}

/** Records when it is paused and resumed. */
const connect = (name: string, events: string[] = []): Pausable => {
  const socket = {
    destroyed: false,
    pause: () => events.push(`${name} paused`),
    resume: () => events.push(name),
  }
  return { socket, hasReservation: false } as unknown as Pausable
}

const enterTimes = (admission: Admission, count: number, keyId = 'key') =>
  Array.from({ length: count }, () => admission.enter(keyId))

it('queues a few requests, and refuses at once when the queue is full', async () => {
  const admission = create(1)
  const [first, ...others] = enterTimes(admission, 66)
  expect([first, others.at(-1)]).toEqual([undefined, false])
  expect(others.slice(0, -1).every((each) => each instanceof Promise)).toBe(true)
  admission.leave('key')
  expect(await others[0]).toBe(true)
  expect(await others[1]).toBe(false)
})

it('admits a connection that was refused before next', async () => {
  const admission = create(20)
  enterTimes(admission, 20)
  const [events, refused] = [[] as string[], connect('refused')]
  admission.pause('key', Object.assign(refused, connect('refused', events)))
  admission.leave('key')
  expect(events).toEqual(['refused paused', 'refused'])
  expect(admission.enter('key', refused)).toBeUndefined()
})

it('refuses other requests of a key while connections of it are paused, but not of other keys', () => {
  const admission = create(100)
  enterTimes(admission, 20)
  for (let index = 0; index < 65; index++) admission.pause('key', connect(String(index)))
  expect(admission.enter('key', connect('new'))).toBe(false)
  expect(admission.enter('other', connect('new'))).toBeUndefined()
})

it('does not read the next request of a key whose connections wait, but that of another key on the same connection', () => {
  const admission = create(100)
  enterTimes(admission, 20)
  for (let index = 0; index < 65; index++) admission.pause('key', connect(String(index)))
  const events: string[] = []
  const caller = { lineage: 'key', authorization: 'Bearer tbt_test_1' }
  const connection = Object.assign(connect('proxy', events), { caller }) as Connection
  admission.hold(connection, Buffer.from('GET / HTTP/1.1\r\nAuthorization: Bearer tbt_test_2\r\n\r\n'))
  expect(events).toEqual([])
  admission.hold(connection, Buffer.from('GET / HTTP/1.1\r\nAuthorization: Bearer tbt_test_1\r\n\r\n'))
  expect(events).toEqual(['proxy paused'])
  connection.hasTurn = true
  admission.hold(connection, Buffer.from('Authorization: Bearer tbt_test_1'))
  expect(events).toEqual(['proxy paused'])
})

it('refuses nothing while few requests are in flight', () => {
  const admission = create(100)
  for (let index = 0; index < 65; index++) admission.pause('key', connect(String(index)))
  expect(admission.enter('key', connect('new'))).toBeUndefined()
})

it('reads all connections again when the server stops', () => {
  const admission = create(1)
  const events: string[] = []
  for (const name of ['a', 'b']) admission.pause('key', connect(name, events))
  admission.resumeAll()
  admission.pause('key', connect('c', events))
  expect(events).toEqual(['a paused', 'b paused', 'a', 'b'])
})

it('resumes keys in turn, the longest paused connection of each first', () => {
  const [paused, events] = [createPausedConnections(), [] as string[]]
  for (const name of ['a1', 'a2', 'a3', 'b1']) paused.add(name.slice(0, 1), connect(name, events), 0)
  events.length = 0
  for (let turn = 0; turn < 5; turn++) paused.resumeNext()
  expect(events).toEqual(['a1', 'b1', 'a2', 'a3'])
  expect([paused.size(), paused.has('a')]).toEqual([0, false])
})

it('reads few of the connections again that were paused long ago, and keys take turns', () => {
  const [paused, events] = [createPausedConnections(), [] as string[]]
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) paused.add(name.slice(0, 1), connect(name, events), 0)
  paused.add('a', connect('a4', events), 10)
  events.length = 0
  paused.resumeOlder(10, 3)
  expect(events).toEqual(['a1', 'b1', 'a2'])
  paused.resumeOlder(10, 100)
  expect([events.slice(3), paused.size()]).toEqual([['b2', 'a3'], 1])
})
